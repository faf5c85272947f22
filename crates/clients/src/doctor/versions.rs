//! How well the version of a client is supported.

use super::{Check, Health, probe};
use crate::{
    client::ClientId,
    settings::{Site, client_def::ClientDef},
};

/// First version of Claude Code that supports `onFailure`.
const HONOURS_ON_FAILURE: [u64; 3] = [2, 1, 295];

/// First version of Claude Code that calls a hook before it runs a command from the text of a skill.
const ASKS_ABOUT_SKILLS: [u64; 3] = [2, 1, 332];

/// Tested versions of the clients.
const TRIED: [(ClientId, &str); 5] = [
    (ClientId::ClaudeCode, "2.1.332"),
    (ClientId::Codex, "0.171.0"),
    (ClientId::Gemini, "0.61.0"),
    (ClientId::Copilot, "1.0.102"),
    (ClientId::Opencode, "1.18.34"),
];

/// Determines the version of the client's program.
pub(super) fn check(client: &ClientDef, site: &Site) -> (Option<String>, Vec<Check>) {
    let word = client.client.word();
    let check = |health, seen: String, advice: String| {
        vec![Check::new(word, "version", health, seen, advice)]
    };
    let Some(program) = client.program(site) else {
        let seen = format!("`{}` is not on the PATH", client.programs.join("` or `"));
        return (None, check(Health::Warn, seen, String::new()));
    };
    let Some(text) = probe::version(&program) else {
        let seen = format!("`{}` cannot be started", program.display());
        return (None, check(Health::Warn, seen, String::new()));
    };
    let number = number(&text);
    let (health, advice) = meaning(client, &number);
    (Some(number.clone()), check(health, number, advice))
}

/// Extracts the version number from a program's output.
fn number(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['v', ',', '.']));
    let mut numbers =
        words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    let first = text.split_whitespace().next().unwrap_or_default();
    numbers.next().unwrap_or(first).to_owned()
}

fn parts(number: &str) -> Vec<u64> {
    number
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect()
}

fn meaning(client: &ClientDef, number: &str) -> (Health, String) {
    let this = parts(number);
    if client.client == ClientId::ClaudeCode && this.as_slice() < HONOURS_ON_FAILURE.as_slice() {
        return (
            Health::Warn,
            "this version ignores `onFailure`: a tool call RUNS although its hook took longer than its time-out; use 2.1.295 or newer".to_owned(),
        );
    }
    if client.client == ClientId::ClaudeCode && this.as_slice() < ASKS_ABOUT_SKILLS.as_slice() {
        return (
            Health::Warn,
            "this version runs the commands in the text of a skill that you start without asking a hook; use 2.1.332 or newer".to_owned(),
        );
    }
    let tried = TRIED.iter().find(|(tried, _)| *tried == client.client);
    let Some((_, tried)) = tried else {
        let advice = "known from its documentation only; try a refusal yourself".to_owned();
        return (Health::Warn, advice);
    };
    if this < parts(tried) && client.client != ClientId::ClaudeCode {
        let advice = format!("older than {tried}, the version that was tried");
        return (Health::Warn, advice);
    }
    (Health::Ok, String::new())
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn the_number_is_found_wherever_it_stands() {
        let cases = [
            ("2.1.332 (Claude Code)", "2.1.332"),
            ("codex-cli 0.171.0", "0.171.0"),
            ("0.61.0", "0.61.0"),
            ("GitHub Copilot CLI 1.0.102.", "1.0.102"),
            ("v1.2", "1.2"),
            ("unknown", "unknown"),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
