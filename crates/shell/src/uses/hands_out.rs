//! How a command may hand out what a file holds.

use interlock_core::facts::{CommandClass, HandsOut, SimpleCommand, Word};

use super::base;

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

/// Writers that never read what they are given.
const KEEPS_TEXT: &[&str] = &[
    "touch", "mkdir", "mktemp", "mkfifo", "chmod", "chown", "chgrp", "tee", "truncate", "setfacl",
];

/// Programs that pack files, also onto their standard output.
const PACKS: &[&str] = &[
    "tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zz", "ar", "cpio",
];

/// Tells how a command may hand out what a file holds.
pub(super) fn read(command: &SimpleCommand) -> HandsOut {
    let words: Vec<&str> = command.words.iter().filter_map(Word::literal).collect();
    let name = words.first().map_or("", |name| base(name));
    // `-n x` may stand between the words, and `secret/x` is `secret x`.
    let begins = |known: &&[&str]| {
        let mut rest = words.iter().skip(1);
        let mut wanted = known.iter().skip(1);
        known.first() == Some(&name)
            && wanted.all(|wanted| rest.any(|word| word.split(['/', ',']).next() == Some(*wanted)))
    };
    if COMMANDS.iter().any(begins) {
        return HandsOut::Secret;
    }
    let of_history = command.class == CommandClass::VersionControl
        && words
            .iter()
            .any(|word| matches!(*word, "show" | "cat-file" | "blame"));
    if of_history || command.opaque.is_some() && command.class == CommandClass::Interpreter {
        return HandsOut::InWords;
    }
    // What a program copies, packs or sends it reads, however the file is handed to it.
    let copies = matches!(command.class, CommandClass::Writer | CommandClass::Network)
        && !KEEPS_TEXT.contains(&name);
    if copies || PACKS.contains(&name) {
        return HandsOut::Files;
    }
    HandsOut::Nothing
}
