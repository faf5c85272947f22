//! Row 10: what a line writes, measured against the limits of a state.

use super::{Found, Rule, code, entries::is_covered, is_history, refuse, show, use_tool};
use crate::{
    call::{FileWrite, Place},
    facts::{ShellFacts, SimpleCommand, Word},
    judge::Bench,
    policy::Stance,
    refusal::Code,
};

/// Verbs of git that change files of the project beside its history.
const TREE_VERBS: [&str; 20] = [
    "am",
    "apply",
    "bisect",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "clean",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
];

/// Tells whether a version control command changes files of the project, and not its history alone.
pub(super) fn changes_tree(command: &SimpleCommand) -> bool {
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .map(|word| word.literal().unwrap_or_default())
        .collect();
    match words.as_slice() {
        // A new branch where the tree stands.
        ["checkout", "-b", _] | ["switch", "-c" | "--create", _] => false,
        ["reset", rest @ ..] => rest.iter().any(|word| {
            ["--h", "--m", "--k"]
                .iter()
                .any(|mode| word.starts_with(mode))
                && *word != "--mixed"
        }),
        words => words.iter().any(|word| TREE_VERBS.contains(word)),
    }
}

/// Tells whether the operands of a version control command are the files it changes.
pub(super) fn names_files(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().filter_map(|word| word.literal());
    words.any(|word| matches!(word, "restore" | "rm" | "mv" | "clean" | "--"))
}

/// Refuses what passes `max_edit_lines`, or might.
pub(super) fn lines(bench: Bench<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    let Some(limit) = bench.state.policy.edit_lines_max else {
        return Ok(());
    };
    if stance != Stance::Writing {
        return Ok(());
    }
    let mut sum = 0_u64;
    // What a program makes of the project's files is no edit.
    let edits = writes(bench).filter(|write| super::result_of(bench, write).is_none());
    for write in edits {
        let Some(lines) = write.lines else {
            return refuse(
                Rule::Limits,
                Code::ShellWrite,
                format!(
                    "how much `{}` writes cannot be seen, and `{}` limits edits",
                    write.by, bench.frame.at
                ),
                use_tool(bench),
            );
        };
        sum = sum.saturating_add(lines);
        if sum > limit {
            return refuse(
                Rule::Limits,
                Code::EditTooLarge,
                format!(
                    "with `{}` the line writes {sum} lines and `{}` allows {limit}",
                    write.by, bench.frame.at
                ),
                "make it smaller",
            );
        }
    }
    let inline =
        |command: &&SimpleCommand| code::may_be_given(command) && !is_covered(bench, command);
    match facts.commands.iter().find(inline) {
        Some(command) => refuse(
            Rule::Limits,
            Code::ShellWrite,
            format!(
                "what the code of `{}` writes cannot be seen, and `{}` limits edits",
                show(command),
                bench.frame.at
            ),
            use_tool(bench),
        ),
        None => Ok(()),
    }
}

/// Refuses writes of unknown number while `max_files_per_state` counts them.
pub(super) fn files(bench: Bench<'_>, stance: Stance) -> Found {
    let Some(limit) = bench.state.policy.files_max else {
        return Ok(());
    };
    if stance != Stance::Writing {
        return Ok(());
    }
    // The files of the tree may be named beside the history.
    let is_tree = |write: &FileWrite| {
        super::history_of(bench, write).is_some_and(changes_tree)
            && !super::history_of(bench, write).is_some_and(names_files)
    };
    let uncounted = |write: &&FileWrite| {
        write.path.is_none() && matches!(write.place, Place::Project | Place::Unknown)
            || is_tree(write)
    };
    match writes(bench).find(uncounted) {
        Some(write) => refuse(
            Rule::Limits,
            Code::TooManyFiles,
            format!(
                "how many files `{}` writes cannot be seen, and `{}` allows {limit}",
                write.by, bench.frame.at
            ),
            "name each file",
        ),
        None => Ok(()),
    }
}

/// Returns what counts as an edit: all writes but scratch files and version history.
fn writes(bench: Bench<'_>) -> impl Iterator<Item = &FileWrite> {
    bench
        .call
        .facts
        .writes
        .iter()
        .filter(move |write| write.place != Place::Scratch && !is_history(bench, write))
}

/// Says how a command stands in a message, bounded.
pub(super) fn shown(words: &[Word]) -> String {
    let words: Vec<&str> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
        })
        .collect();
    let text = words.join(" ");
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(77).chain("...".chars()).collect()
}
