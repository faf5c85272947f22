//! Version control: its configuration, and files that it restores or removes.

use interlock_core::facts::{SimpleCommand, Word};

use super::{
    Deed, Guarded,
    commands::literals,
    index, named,
    table::{CONFIG_KEYS, GIT_REPORTS, RESTORE_ALL, RESTORERS},
};
use crate::{path::is_within, touched::program};

impl Guarded<'_> {
    pub(super) fn in_git(&self, command: &SimpleCommand) -> Option<String> {
        if program(command) != Some("git") {
            return None;
        }
        let (subcommand, operands) = git_subcommand(command)?;
        if subcommand == "config" {
            return git_config(operands);
        }
        let template = |word: &&str| word.len() > 2 && "--template".starts_with(option_name(word));
        let words = || operands.iter().filter_map(Word::literal);
        if matches!(subcommand, "init" | "clone") && words().any(|word| template(&word)) {
            return Some("the hooks of a repository, by `--template`,".to_owned());
        }
        let reports = words()
            .next()
            .is_some_and(|word| GIT_REPORTS.contains(&word));
        if !RESTORERS.contains(&subcommand) || reports {
            return None;
        }
        let within = self.git_directory(command);
        let inner = SimpleCommand {
            directory: within.clone(),
            ..command.clone()
        };
        let named = literals(command)
            .into_iter()
            .filter(|word| *word != subcommand);
        named
            .into_iter()
            .find_map(|word| {
                self.word_touched(&inner, word.trim_start_matches(':'), Deed::Write)
                    .or_else(|| self.word_touched(&inner, word, Deed::Remove))
            })
            .or_else(|| self.covered(&inner, subcommand, operands))
    }

    /// Returns the directory in which git runs, including `-C`.
    fn git_directory(&self, command: &SimpleCommand) -> Option<String> {
        let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
        let at = words.iter().position(|word| *word == "-C");
        match at.and_then(|at| words.get(at + 1)) {
            Some(directory) => self.whole(command, directory),
            None => command.directory.clone(),
        }
    }

    /// Checks what a command does to every file below a directory.
    fn covered(
        &self,
        command: &SimpleCommand,
        subcommand: &str,
        operands: &[Word],
    ) -> Option<String> {
        let words: Vec<&str> = operands.iter().filter_map(Word::literal).collect();
        let removes = subcommand == "clean" && cleans(&words);
        let restores = RESTORE_ALL.contains(&subcommand) && restores_all(subcommand, &words);
        if !removes && !restores {
            return None;
        }
        let places: Vec<String> = words
            .iter()
            .filter(|word| !word.starts_with('-'))
            .filter_map(|word| self.whole(command, word))
            .filter(|path| self.disk.look(path).is_some())
            .collect();
        let root = self.context.project_root.clone();
        let places = match places.as_slice() {
            [] => vec![command.directory.clone().unwrap_or(root)],
            _ => places,
        };
        let tracked = index::read(&self.context.project_root, self.disk);
        let things = super::places(self.context, self.disk);
        let own = things.iter().filter(|thing| !thing.path.contains("/.git/"));
        own.filter(|thing| {
            places
                .iter()
                .any(|place| is_within(&thing.path, &crate::path::plain(place)))
        })
        .find(|thing| {
            self.disk.look(&thing.path).is_some()
                && match removes {
                    true => tracked.holds_none_below(&thing.path),
                    false => tracked.differs_below(&thing.path, self.disk),
                }
        })
        .map(|thing| format!("{}, by `git {subcommand}`,", named(thing.what, &thing.path)))
    }
}

/// Returns whether `git clean` removes anything.
fn cleans(words: &[&str]) -> bool {
    let letter = |wanted: char| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
        words.iter().filter(short).any(|word| word.contains(wanted))
    };
    let dry = letter('n') || words.contains(&"--dry-run");
    !dry && (letter('f') || words.contains(&"--force"))
}

/// Returns whether a command restores entire directories.
fn restores_all(subcommand: &str, words: &[&str]) -> bool {
    let options = || words.iter().filter(|word| word.starts_with('-'));
    let short =
        |letter: char| options().any(|word| !word.starts_with("--") && word.contains(letter));
    // Git accepts every unambiguous prefix of a long option.
    let long =
        |name: &str| options().any(|word| word.len() > 2 && name.starts_with(option_name(word)));
    let forced = short('f') || long("--force");
    match subcommand {
        "stash" => {
            let first = words.iter().find(|word| !word.starts_with('-'));
            matches!(first.copied(), None | Some("push" | "save"))
        }
        "reset" => long("--hard") || long("--merge"),
        "switch" => forced || long("--discard-changes"),
        // A new branch keeps the files unchanged.
        "checkout" if short('b') || short('B') || long("--orphan") => forced,
        // A branch is not a directory; a path is.
        _ => forced || words.iter().any(|word| !word.starts_with('-')),
    }
}

/// Returns the subcommand of `git` and the words after it.
fn git_subcommand(command: &SimpleCommand) -> Option<(&str, &[Word])> {
    let mut rest = command.words.get(1..)?;
    loop {
        let (word, after) = rest.split_first()?;
        let word = word.literal()?;
        rest = match word {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
            | "--config-env" => after.get(1..)?,
            option if option.starts_with('-') => after,
            subcommand => return Some((subcommand, after)),
        };
    }
}

/// Checks `git config`, which may write only certain keys.
fn git_config(operands: &[Word]) -> Option<String> {
    const READS: [&str; 9] = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--list",
        "-l",
        "get",
        "list",
    ];
    const WRITES: [&str; 11] = [
        "--add",
        "--unset",
        "--unset-all",
        "--replace-all",
        "--edit",
        "-e",
        "--remove-section",
        "--rename-section",
        "set",
        "unset",
        "edit",
    ];
    let literals: Vec<&str> = operands.iter().filter_map(Word::literal).collect();
    // Options end at the key: what follows it is a value, whatever it looks like.
    let key = literals.iter().position(|word| !word.starts_with('-'));
    let (before, behind) = literals.split_at(key.map_or(literals.len(), |at| at + 1));
    let valued = behind.iter().any(|word| word.starts_with('-'));
    if !valued && before.iter().any(|word| READS.contains(word)) {
        return None;
    }
    let elsewhere = literals.iter().any(|word| {
        let option = word.split('=').next().unwrap_or_default();
        matches!(option, "--global" | "--system" | "--file" | "-f")
    });
    let named_verb = literals.iter().any(|word| WRITES.contains(word));
    let plain: Vec<&&str> = literals
        .iter()
        .filter(|word| !word.starts_with('-') && !WRITES.contains(word))
        .collect();
    let dynamic = literals.len() < operands.len();
    if !named_verb && plain.len() < 2 && !dynamic && !valued {
        return None;
    }
    let harmless = plain.first().is_some_and(|key| is_harmless_key(key)) && !elsewhere;
    (!harmless).then(|| {
        let key = plain.first().map_or("", |key| **key);
        named("the configuration of version control", key)
    })
}

/// Returns whether a configuration key of git cannot run anything.
pub(crate) fn is_harmless_key(key: &str) -> bool {
    let lower = key.to_lowercase();
    // The part between the first and the last dot is one name, including dots.
    let Some((section, rest)) = lower.split_once('.') else {
        return false;
    };
    let (subsection, name) = match rest.rsplit_once('.') {
        Some((subsection, name)) => (Some(subsection), name),
        None => (None, rest),
    };
    CONFIG_KEYS.iter().any(|pattern| {
        let parts: Vec<&str> = pattern.split('.').collect();
        let fits = |wanted: &str, is: &str| wanted == "*" || wanted == is;
        match (parts.as_slice(), subsection) {
            ([wanted, last], None) => *wanted == section && fits(last, name),
            ([wanted, _, last], Some(_)) => *wanted == section && fits(last, name),
            _ => false,
        }
    })
}

/// Returns an option without its value.
fn option_name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}
