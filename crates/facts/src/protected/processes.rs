//! Signals to the client, to Interlock, and to all processes.

use interlock_core::facts::{SimpleCommand, Word};

use super::{
    Guarded, LineView,
    commands::{literals, shown},
    table::{CLIENTS, PROCESS_LISTERS, PROGRAM, SIGNALLERS},
};
use crate::{summary::one_line, touched::program};

/// Maximum length of a process's name in bytes.
const NAME_MAX: u64 = 64;

impl Guarded<'_> {
    pub(super) fn in_signals(
        &self,
        command: &SimpleCommand,
        view: &LineView<'_>,
    ) -> Option<String> {
        let said = |text: &str| format!("the process `{}`", one_line(text, 60));
        match program(command)? {
            "kill" => signal_targets(command)
                .into_iter()
                .find(|target| self.is_guard(target, view))
                .map(|target| said(shown(target))),
            name if SIGNALLERS.contains(&name) => {
                let words: Vec<&Word> = command.words.iter().skip(1).collect();
                by_name(name, &words).map(said)
            }
            "systemctl" | "loginctl" => literals(command)
                .into_iter()
                .find(|word| names_a_guard(word))
                .map(said),
            _ => None,
        }
    }

    /// Returns whether a target of `kill` is a guarding process, or all processes.
    fn is_guard(&self, target: &Word, view: &LineView<'_>) -> bool {
        match target {
            Word::Literal(text) => {
                // `-5` is the process group 5.
                let number = text.trim_start_matches('-');
                let everyone = matches!(text.as_str(), "1" | "-1") || number == "0";
                let client = self.context.site.pid.map(|id| id.to_string());
                everyone
                    || client.as_deref() == Some(number)
                    || !number.is_empty()
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                        && self.process_guards(number)
            }
            Word::Dynamic(text) => {
                text.contains("PPID")
                    || names_a_guard(text)
                    || view.shell.env.used.iter().any(|name| name == "PPID")
                    || view.shell.commands.iter().any(finds_a_guard)
            }
        }
    }

    /// Returns whether a process is a client or Interlock, by its name.
    fn process_guards(&self, number: &str) -> bool {
        let name = self.disk.read(&format!("/proc/{number}/comm"), NAME_MAX);
        let name = name.ok().flatten().unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim().to_lowercase();
        name == PROGRAM || CLIENTS.contains(&name.as_str())
    }
}

/// Returns whether a command finds the process of a client or of Interlock.
fn finds_a_guard(command: &SimpleCommand) -> bool {
    let Some(name) = program(command) else {
        return false;
    };
    let texts = || {
        let words = command.words.iter().skip(1);
        words.map(shown)
    };
    let lists = PROCESS_LISTERS.contains(&name);
    lists && texts().any(|text| names_a_guard(text) || text.contains("ppid") || text.contains("PPID"))
        // The pattern that a list of processes is searched for.
        || matches!(name, "grep" | "egrep" | "fgrep" | "awk" | "sed" | "rg")
            && texts().any(names_a_guard)
}

/// Checks the words of a program that sends signals by name.
fn by_name<'w>(name: &'w str, words: &[&'w Word]) -> Option<&'w str> {
    /// Options of `pkill` and similar programs that select processes by something other than a name.
    const CHOOSERS: &[&str] = &[
        "-u",
        "-U",
        "-P",
        "-g",
        "-G",
        "-s",
        "-t",
        "-o",
        "-n",
        "--euid",
        "--uid",
        "--parent",
        "--pgroup",
        "--group",
        "--session",
        "--terminal",
        "--user",
        "--inverse",
        "-v",
        "-r",
        "--regexp",
        "-y",
        "--younger-than",
        "--older-than",
    ];
    if name == "killall5" {
        return Some(name);
    }
    let all: Vec<&str> = words.iter().map(|word| shown(word)).collect();
    let chooser = all.iter().find(|word| {
        let option = word.split('=').next().unwrap_or_default();
        CHOOSERS.contains(&option)
            || option.len() > 2
                && CHOOSERS.contains(&option.get(..2).unwrap_or_default())
                && !option.starts_with("--")
                && !is_signal(option)
    });
    // A part of a name is enough for `pkill`.
    let part = |word: &str| {
        let mut names = CLIENTS.iter().copied().chain([PROGRAM]);
        name == "pkill" && !word.starts_with('-') && names.any(|name| name.contains(word))
    };
    let guard = all.iter().find(|word| names_a_guard(word) || part(word));
    // A pattern may match any name.
    let pattern = all.iter().find(|word| {
        !word.starts_with('-') && word.contains(['.', '*', '[', '?', '+', '|', '\\', '$', '('])
    });
    let dynamic = words.iter().find(|word| matches!(word, Word::Dynamic(_)));
    guard
        .or(chooser)
        .copied()
        .or_else(|| pattern.copied().filter(|word| could_be_a_guard(word)))
        .or_else(|| dynamic.map(|word| shown(word)))
}

/// Returns whether an option is a signal: `-KILL`, `-SIGTERM`, `-USR1`, `-9`.
///
/// One letter and a number, as in `-P4242`, is an option with its value.
fn is_signal(option: &str) -> bool {
    let name = option.trim_start_matches('-').as_bytes();
    let is_named = name.iter().take(2).all(u8::is_ascii_uppercase);
    name.iter()
        .all(|byte| byte.is_ascii_digit() || is_named && byte.is_ascii_uppercase())
}

/// Returns whether a pattern may match the name of a client or of Interlock.
///
/// Only literal letters are examined: a pattern with four consecutive letters that occur in no such name matches something else.
fn could_be_a_guard(pattern: &str) -> bool {
    let lower = pattern.to_lowercase();
    let mut sure = lower.split(|c: char| !(c.is_alphanumeric() || c == ' ' || c == '/'));
    let names: Vec<&str> = CLIENTS.iter().copied().chain([PROGRAM]).collect();
    let foreign = |piece: &str| piece.len() >= 4 && !names.iter().any(|name| name.contains(piece));
    !sure.any(foreign)
}

/// Returns the words of `kill` that name processes.
fn signal_targets(command: &SimpleCommand) -> Vec<&Word> {
    let mut words = command.words.iter().skip(1).peekable();
    match words.peek().and_then(|word| word.literal()) {
        Some("-s" | "-n" | "--signal") => {
            words.next();
            words.next();
        }
        Some("-l" | "-L" | "--list" | "--table") => return Vec::new(),
        Some("-0") => return Vec::new(),
        Some(option) if option.starts_with('-') && option != "--" => {
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
