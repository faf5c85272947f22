//! Secrets: the files, variables and stores that a call may not read in a state with `secrets: deny`.
//!
//! The lists hold the names that tools, shells and services use for files with keys, passwords and tokens. The
//! contents of a file are never examined.

use super::{Check, JudgeContext, refuse};
use crate::{
    facts::{HandsOut, PathText, ShellFacts, SimpleCommand, Word},
    policy::wildcard_matches,
    refusal::Code,
};

/// Names of files, in lower case; `*` stands for any beginning or ending.
const FILES: &[&str] = &[
    ".env",
    ".env.*",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".htpasswd",
    ".vault-token",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.asc",
    "*.tfvars",
    "*.tfstate",
    "*.tfstate.backup",
    "*.ovpn",
    "credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "master.key",
    "kubeconfig",
    "shadow",
    "gshadow",
    "environ",
];

/// Names of sample files and of public keys, which hold no secret.
const SAMPLES: &[&str] = &[
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    "*.defaults",
    "*.pub",
    "known_hosts",
];

/// Endings of paths that hold secrets, as consecutive segments.
const PLACES: &[&str] = &[
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".config/op",
    ".config/sops",
    ".docker/config.json",
    ".kube/config",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".gnupg",
    ".password-store",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".local/share/keyrings",
    "library/keychains",
    ".mozilla/firefox",
];

/// Parts of names of variables that hold a secret.
const PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
];
/// Endings of such names.
const ENDS: &[&str] = &[
    "API_KEY",
    "PRIVATE_KEY",
    "ACCESS_KEY",
    "SIGNING_KEY",
    "ENCRYPTION_KEY",
];

/// Refuses a call that reads a secret, if the state says so.
pub(super) fn check(context: JudgeContext<'_>) -> Check {
    if context.state.policy.secrets.are_allowed() {
        return Ok(());
    }
    let facts = &context.call.facts;
    let read = facts.reads.iter().find(|path| is_secret_path(path));
    let found = read
        .map(|path| format!("`{path}`"))
        .or_else(|| in_line(facts.shell.as_ref()?));
    match found {
        None => Ok(()),
        Some(what) => refuse(
            Code::SecretRead,
            format!(
                "{what} holds secrets, and `{}` does not let them be read: ask a person for what you need to know",
                context.frame.at
            ),
        ),
    }
}

/// Returns the first secret that a line reads.
fn in_line(line: &ShellFacts) -> Option<String> {
    let path = line.reads.iter().find_map(|used| match &used.path {
        PathText::Whole(path) => is_secret_path(path).then_some(path),
        PathText::Below(path) => is_secret_path(path.trim_end_matches('/')).then_some(path),
        PathText::Unknown => None,
    });
    if let Some(path) = path {
        return Some(format!("`{path}`"));
    }
    if line.env.dump {
        return Some("the environment".to_owned());
    }
    if line.env.other_process {
        return Some("the environment of another process".to_owned());
    }
    if let Some(name) = line.env.used.iter().find(|name| is_secret_name(name)) {
        return Some(format!("the variable `{name}`"));
    }
    line.commands.iter().find_map(in_command)
}

fn in_command(command: &SimpleCommand) -> Option<String> {
    let shown = super::shell::show(command);
    let words = |from: usize| command.words.iter().skip(from).filter_map(Word::literal);
    // Of another commit, and in code, a file stands in the middle of a word.
    let holds_one = |word: &str| {
        word.split(|c: char| c.is_whitespace() || "'\"():,;=`<>|&[]{}".contains(c))
            .any(is_secret_path)
    };
    let is_one = |word: &str| {
        let value = word.rsplit('=').next().unwrap_or(word);
        is_secret_path(value.trim_start_matches('@'))
    };
    let found = match command.hands_out {
        HandsOut::Secret => return Some(format!("what `{shown}` prints")),
        HandsOut::Nothing => false,
        HandsOut::InWords(from) => words(from).any(holds_one),
        HandsOut::Files => words(1).any(is_one),
    };
    found.then(|| format!("what `{shown}` reads"))
}

/// Returns whether a path is a file on the lists, or lies in a directory on them.
fn is_secret_path(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let fits = |patterns: &[&str]| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| wildcard_matches(pattern, name))
    };
    if fits(SAMPLES) {
        return false;
    }
    let whole = format!("/{}/", lower.trim_matches('/'));
    let in_place = PLACES
        .iter()
        .any(|place| whole.contains(&format!("/{place}/")));
    let only_below = match name {
        "shadow" | "gshadow" => !whole.starts_with("/etc/"),
        "environ" => !whole.starts_with("/proc/"),
        _ => false,
    };
    in_place || fits(FILES) && !only_below
}

/// Returns whether a variable holds a secret, judging by its name.
fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    upper.split('_').any(|part| PARTS.contains(&part))
        || ENDS.iter().any(|end| upper.ends_with(end))
}
