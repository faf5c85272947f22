//! Protected things that a command of a shell line reaches.

use interlock_core::facts::{CommandClass, SimpleCommand, Word};

use super::{
    Deed, Guarded, named,
    table::{
        CLIENT_OPTIONS, CLIENT_SETTINGS, CLIENTS, CONFIG_KEYS, PROGRAM, REPORTS, RESTORERS,
        SIGNALLERS,
    },
};
use crate::{
    path::{absolute, plain},
    shell::program,
    summary::one_line,
};

impl Guarded<'_> {
    pub(super) fn in_command(&self, command: &SimpleCommand) -> Option<String> {
        self.own_program(command)
            .or_else(|| self.in_git(command))
            .or_else(|| self.in_signals(command))
            .or_else(|| in_client(command))
            .or_else(|| {
                command.opaque.as_ref()?;
                self.in_text(&joined(command))
            })
    }

    /// Looks for Interlock's own program, whatever it is called.
    fn own_program(&self, command: &SimpleCommand) -> Option<String> {
        let name = command.words.first()?.literal()?;
        let last = program(command)?.to_lowercase();
        let is_own = last == PROGRAM
            || last.strip_suffix(".exe") == Some(PROGRAM)
            || self.leads_to_program(command, name);
        if !is_own {
            return None;
        }
        let word = match command.words.get(1)? {
            Word::Literal(word) if word == "graph" && writes_a_file(command) => word,
            Word::Literal(word) if REPORTS.contains(&word.as_str()) => return None,
            Word::Literal(word) | Word::Dynamic(word) => word,
        };
        Some(format!("the command `{PROGRAM} {}`", one_line(word, 40)))
    }

    fn leads_to_program(&self, command: &SimpleCommand, name: &str) -> bool {
        let surroundings = self.surroundings;
        if surroundings.programs.is_empty() {
            return false;
        }
        if name.contains('/') {
            let whole = self.whole(command, name);
            return whole.is_some_and(|whole| self.is_program(&whole));
        }
        // What the tables know is what it is called.
        if command.class != CommandClass::Unknown {
            return false;
        }
        surroundings
            .search_path
            .iter()
            .map(|directory| format!("{directory}/{name}"))
            .find(|path| self.disk.look(path).is_some())
            .is_some_and(|path| self.is_program(&path))
    }

    fn is_program(&self, path: &str) -> bool {
        let real = self.disk.real(path).unwrap_or_else(|_| plain(path));
        let id = |path: &str| self.disk.look(path).and_then(|seen| seen.id);
        let own = id(&real);
        self.surroundings
            .programs
            .iter()
            .any(|program| *program == real || own.is_some() && id(program) == own)
    }

    fn whole(&self, command: &SimpleCommand, word: &str) -> Option<String> {
        let directory = command.directory.as_deref()?;
        absolute(word, directory, self.surroundings.home.as_deref()).ok()
    }

    fn in_git(&self, command: &SimpleCommand) -> Option<String> {
        if program(command) != Some("git") {
            return None;
        }
        let (subcommand, operands) = git_subcommand(command)?;
        if subcommand == "config" {
            return git_config(operands);
        }
        let template = |word: &&str| word.len() > 2 && "--template".starts_with(option_name(word));
        let literals = || operands.iter().filter_map(Word::literal);
        if matches!(subcommand, "init" | "clone") && literals().any(|word| template(&word)) {
            return Some("the hooks of a repository, by `--template`,".to_owned());
        }
        if !RESTORERS.contains(&subcommand) {
            return None;
        }
        operands.iter().filter_map(Word::literal).find_map(|word| {
            let whole = self.whole(command, word)?;
            self.touched(&plain(&whole), Deed::Write)
        })
    }

    fn in_signals(&self, command: &SimpleCommand) -> Option<String> {
        let name = program(command)?;
        let targets: Vec<&Word> = match name {
            "kill" => signal_targets(command),
            name if SIGNALLERS.contains(&name) => command.words.iter().skip(1).collect(),
            _ => return None,
        };
        let client = self.surroundings.client_process.map(|id| id.to_string());
        targets.into_iter().find_map(|target| {
            let (Word::Literal(text) | Word::Dynamic(text)) = target;
            let dynamic = matches!(target, Word::Dynamic(_));
            let by_name = (name != "kill" || dynamic) && names_a_guard(text);
            let by_number = name == "kill"
                && (matches!(text.as_str(), "1" | "-1" | "0" | "-0")
                    || client.as_deref() == Some(text.trim_start_matches('-')));
            (by_name || by_number || dynamic && text.contains("PPID"))
                .then(|| format!("the process `{}`", one_line(text, 60)))
        })
    }
}

/// Returns the words of `kill` that name processes.
fn signal_targets(command: &SimpleCommand) -> Vec<&Word> {
    let mut words = command.words.iter().skip(1).peekable();
    match words.peek().and_then(|word| word.literal()) {
        Some("-s" | "-n" | "--signal") => {
            words.next();
            words.next();
        }
        Some(option) if option.starts_with('-') => {
            words.next();
        }
        _ => {}
    }
    words.filter(|word| word.literal() != Some("--")).collect()
}

fn names_a_guard(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains(PROGRAM) || CLIENTS.iter().any(|client| lower.contains(client))
}

/// Looks for a client's own program that changes what guards it.
fn in_client(command: &SimpleCommand) -> Option<String> {
    let name = program(command)?;
    if !CLIENTS.contains(&name) {
        return None;
    }
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    let first = words.clone().find(|word| !word.starts_with('-'));
    let settings = first.filter(|word| CLIENT_SETTINGS.contains(word));
    let option = words.find(|word| {
        let option = word.split('=').next().unwrap_or_default();
        CLIENT_OPTIONS.contains(&option)
    });
    settings
        .or(option)
        .map(|word| format!("the command `{name} {}`", one_line(word, 40)))
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

/// Looks at `git config`: a key that it may write, or none at all.
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
    // Options end at the key: what stands behind it is a value, whatever it looks like.
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

fn is_harmless_key(key: &str) -> bool {
    let lower = key.to_lowercase();
    let parts: Vec<&str> = lower.split('.').collect();
    CONFIG_KEYS.iter().any(|pattern| {
        let wanted: Vec<&str> = pattern.split('.').collect();
        wanted.len() == parts.len()
            && wanted
                .iter()
                .zip(&parts)
                .all(|(wanted, part)| *wanted == "*" || wanted == part)
    })
}

fn joined(command: &SimpleCommand) -> String {
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| match word {
            Word::Literal(text) | Word::Dynamic(text) => text.as_str(),
        })
        .collect();
    words.join(" ")
}

/// Tells whether a drawing is written to a file.
fn writes_a_file(command: &SimpleCommand) -> bool {
    command.words.iter().skip(2).any(|word| match word {
        Word::Literal(text) => text.starts_with("-o") || text.starts_with("--o"),
        Word::Dynamic(_) => true,
    })
}

/// Returns an option without its value.
fn option_name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}
