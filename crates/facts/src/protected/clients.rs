//! Commands of a client's own program that change what guards it.

use interlock_core::facts::SimpleCommand;

use super::{
    LineView,
    commands::shown,
    table::{
        CLIENT_OPTIONS, CLIENT_PACKAGES, CLIENT_REPORTS, CLIENT_SETTINGS, CLIENT_SHORT_OPTIONS,
        CLIENT_VALUES, CLIENT_VARIABLES, CLIENTS,
    },
};
use crate::{summary::one_line, touched::program};

/// Searches for a client that is started or configured with different guards.
pub(super) fn in_client(command: &SimpleCommand, view: &LineView<'_>) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(shown).collect();
    let (at, client) = match program(command) {
        Some(name) if CLIENTS.contains(&name) => (0, name),
        _ => {
            command.opaque.as_ref()?;
            let at = words.iter().position(|word| starts_a_client(word))?;
            (at, *words.get(at)?)
        }
    };
    let behind = words.get(at + 1..).unwrap_or_default();
    told(client, behind)
        .or_else(|| elsewhere(behind, view))
        .map(|word| format!("the command `{client} {}`", one_line(word, 40)))
}

/// Returns whether a word is the program of a client, or its package.
pub(super) fn starts_a_client(word: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or(word);
    CLIENTS.contains(&last) || CLIENT_PACKAGES.iter().any(|package| word.contains(package))
}

/// Returns the word that changes settings or disables a guard.
fn told<'w>(client: &str, behind: &[&'w str]) -> Option<&'w str> {
    let mut plain = behind.iter().filter(|word| !word.starts_with('-'));
    let first = plain.next().filter(|word| CLIENT_SETTINGS.contains(*word));
    let second = plain.next().copied().unwrap_or_default();
    let asks_help = behind.iter().any(|word| matches!(*word, "--help" | "-h"));
    let settings = first.filter(|_| !CLIENT_REPORTS.contains(&second) && !asks_help);
    let short = CLIENT_SHORT_OPTIONS
        .iter()
        .find(|(name, _)| client.contains(name));
    let short = short.map_or(&[][..], |(_, options)| *options);
    let option = behind.iter().find(|word| {
        let option = word.split('=').next().unwrap_or_default();
        CLIENT_OPTIONS.contains(&option) || short.contains(&option)
    });
    // `-c KEY=VALUE` has the effect of a file.
    let mut pairs = behind.windows(2);
    let set = pairs.find_map(|pair| match pair {
        ["-c", value] if value.contains('=') => Some(value),
        _ => None,
    });
    let mut pairs = behind.windows(2);
    let value = pairs.find_map(|pair| match pair {
        [option, value] if option.starts_with('-') && is_value(value) => Some(value),
        _ => None,
    });
    let attached = behind.iter().find(|word| {
        let value = word.split_once('=');
        value.is_some_and(|(option, value)| option.starts_with('-') && is_value(value))
    });
    settings.or(option).or(set).or(value).or(attached).copied()
}

fn is_value(word: &str) -> bool {
    let same = |value: &&str| value.eq_ignore_ascii_case(word);
    CLIENT_VALUES.iter().any(same)
}

/// Returns what makes a client read other settings when it starts.
fn elsewhere<'w>(behind: &[&'w str], view: &'w LineView<'_>) -> Option<&'w str> {
    let asks = matches!(
        behind,
        ["--version" | "-v" | "-V" | "--help" | "-h" | "doctor"]
    );
    let mut set = view.shell.env.set.iter().map(|set| set.name.as_str());
    set.find(|name| !asks && moves_settings(name))
}

fn moves_settings(name: &str) -> bool {
    CLIENT_VARIABLES
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *known,
        })
}

/// Searches unparsed text for a client.
pub(super) fn in_text(lower: &str) -> Option<String> {
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || "_-./@$=".contains(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let at = words.iter().position(|word| starts_a_client(word))?;
    let client = words.get(at)?;
    let behind = words.get(at + 1..).unwrap_or_default();
    told(client, behind).map(|word| {
        format!(
            "the command `{} {}`",
            one_line(client, 40),
            one_line(word, 40)
        )
    })
}
