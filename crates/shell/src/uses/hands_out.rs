//! How a command may reveal the contents of a file.

use interlock_core::facts::{CommandClass, HandsOut, SimpleCommand, Word};

use super::{base, has};

/// Commands that print a secret, by their first words.
const COMMANDS: &[&[&str]] = &[
    &["gh", "auth", "token"],
    &["gh", "auth", "status", "--show-token"],
    &["gcloud", "auth", "print-access-token"],
    &["gcloud", "auth", "print-identity-token"],
    &["gcloud", "secrets", "versions", "access"],
    &["az", "account", "get-access-token"],
    &["az", "keyvault", "secret", "show"],
    &["aws", "configure", "get"],
    &["aws", "configure", "export-credentials"],
    &["aws", "sts", "get-session-token"],
    &["aws", "secretsmanager", "get-secret-value"],
    &["aws", "ssm", "get-parameter"],
    &["aws", "ssm", "get-parameters"],
    &["aws", "ecr", "get-login-password"],
    &["kubectl", "get", "secret"],
    &["kubectl", "get", "secrets"],
    &["kubectl", "describe", "secret"],
    &["kubectl", "describe", "secrets"],
    &["kubectl", "config", "view", "--raw"],
    &["vault", "kv", "get"],
    &["vault", "read"],
    &["op", "read"],
    &["op", "item", "get"],
    &["bw", "get"],
    &["pass", "show"],
    &["gopass", "show"],
    &["security", "find-generic-password"],
    &["security", "find-internet-password"],
    &["secret-tool", "lookup"],
    &["gpg", "--export-secret-keys"],
    &["git", "credential", "fill"],
    &["npm", "token"],
    &["heroku", "config"],
    &["doppler", "secrets"],
    &["sops", "-d"],
    &["sops", "--decrypt"],
];

/// Writers that never read their operands.
const KEEPS_TEXT: &[&str] = &[
    "touch", "mkdir", "mktemp", "mkfifo", "chmod", "chown", "chgrp", "tee", "truncate", "setfacl",
];

/// Git verbs that print the contents of files.
const SHOWS: &str = "show cat-file cat blame annotate diff difftool diff-tree diff-index diff-files archive whatchanged \
    range-diff format-patch checkout-index";

/// Prefixes of options with which a history includes changes.
const WITH_CHANGES: [&str; 9] = [
    "-p",
    "-u",
    "-U",
    "-L",
    "-c",
    "--patch",
    "--unified",
    "--word-diff",
    "--color-words",
];

/// Programs that pack files, possibly to standard output.
const PACKS: &[&str] = &[
    "tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zz", "ar", "cpio",
];

/// Determines how a command may reveal the contents of a file.
pub(super) fn read(command: &SimpleCommand) -> HandsOut {
    let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
    let name = words.first().map_or("", |name| base(name));
    // `-n x` may be between the words, and `secret/x` is `secret x`.
    let begins = |known: &&[&str]| {
        let mut rest = words.iter().skip(1);
        let mut wanted = known.iter().skip(1);
        known.first() == Some(&name)
            && wanted.all(|wanted| rest.any(|word| word.split(['/', ',']).next() == Some(*wanted)))
    };
    if COMMANDS.iter().any(begins) {
        return HandsOut::Secret;
    }
    if command.class == CommandClass::VersionControl
        && let Some(from) = shown_from(command)
    {
        return HandsOut::InWords(from);
    }
    if command.opaque.is_some() && command.class == CommandClass::Interpreter {
        return HandsOut::InWords(1);
    }
    // A program reads what it copies, packs or sends, however it receives the file.
    let copies = matches!(command.class, CommandClass::Writer | CommandClass::Network)
        && !KEEPS_TEXT.contains(&name);
    if copies || PACKS.contains(&name) {
        return HandsOut::Files;
    }
    HandsOut::Nothing
}

/// Returns the first word of a git command that may name a file whose contents it prints.
fn shown_from(command: &SimpleCommand) -> Option<usize> {
    let mut words = command.words.iter().enumerate().skip(1);
    let (at, verb) = words.find_map(|(at, word)| {
        let text = word.literal()?;
        let is_verb = has(SHOWS, text) || matches!(text, "grep" | "log");
        is_verb.then_some((at, text))
    })?;
    let begins = |known: &[&str]| {
        let mut options = command.words.iter().skip(at + 1).filter_map(Word::literal);
        options.any(|text| known.iter().any(|start| text.starts_with(start)))
    };
    match verb {
        "log" => begins(&WITH_CHANGES).then_some(1),
        // Its pattern is not a file, unless an option says so.
        "grep" if !begins(&["-e", "-f", "--regexp", "--file"]) => {
            let is_operand = |(at, word): (usize, &Word)| {
                let is_option = word.literal().is_some_and(|text| text.starts_with('-'));
                (!is_option).then_some(at + 1)
            };
            let mut behind = command.words.iter().enumerate().skip(at + 1);
            Some(behind.find_map(is_operand).unwrap_or(1))
        }
        _ => Some(1),
    }
}
