//! Git commands that change files of the project, not only its history.

use interlock_core::facts::{CommandClass, SimpleCommand, Word};

use super::has;

/// Verbs of git that change files of the project.
const TREE_VERBS: &str = "am apply bisect checkout checkout-index cherry-pick clean merge mv pull read-tree rebase \
    reset restore revert rm sparse-checkout stash submodule switch";

/// Returns whether a command changes files of the project without naming them.
pub(super) fn changes_unnamed(command: &SimpleCommand) -> bool {
    command.class == CommandClass::VersionControl && changes_tree(command) && !names_files(command)
}

fn changes_tree(command: &SimpleCommand) -> bool {
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .map(|word| word.literal().unwrap_or_default())
        .collect();
    match words.as_slice() {
        // A new branch at the present commit.
        ["checkout", "-b", _] | ["switch", "-c" | "--create", _] => false,
        ["reset", rest @ ..] => rest.iter().any(|word| {
            ["--h", "--m", "--k"]
                .iter()
                .any(|mode| word.starts_with(mode))
                && *word != "--mixed"
        }),
        words => words.iter().any(|word| has(TREE_VERBS, word)),
    }
}

/// Returns whether its operands are the files that it changes.
fn names_files(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().filter_map(Word::literal);
    words.any(|word| matches!(word, "restore" | "rm" | "mv" | "clean" | "--"))
}
