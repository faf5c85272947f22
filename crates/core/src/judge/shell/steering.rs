//! What an entry of `allowed_commands` allows behind its own words.
//!
//! An entry covers its program, not what further words make of it. Behind an entry pass plain
//! operands and the options that the table of its program calls harmless. Every other option has
//! to stand in the entry itself, or the entry ends with ` *` and opens them all.

mod rows;
mod variables;
mod words;

use super::{
    super::Bench,
    entries::{Beyond, beyond, entries, longest, words_beyond},
};
use crate::facts::{CommandClass, ShellFacts, SimpleCommand};

use variables::is_harmless;
use words::Reading;

/// Why a listed command is not covered by its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A word may make it run or touch something else.
    Steers(String),
    /// The same of a program that has no table of options.
    Unlisted(String),
    /// A word is one more thing to do.
    Adds(String),
    /// A word may turn out to be an option.
    MaySteer(String),
    /// It runs outside the project.
    Strays,
    /// What makes it unknown stands in its words, not in the entry.
    Odd(String),
}

/// Finds the first listed command that its entry does not cover as it stands.
pub(super) fn first<'a>(
    bench: Bench<'_>,
    facts: &'a ShellFacts,
) -> Option<(&'a SimpleCommand, Uncovered)> {
    facts
        .commands
        .iter()
        .enumerate()
        .find_map(|(index, command)| Some((command, uncovered(bench, facts, index, command)?)))
}

/// Tells whether `words` name `command`, and nothing behind them steers it.
pub(in crate::judge) fn names_plainly(
    words: &[String],
    facts: &ShellFacts,
    command: &SimpleCommand,
) -> bool {
    words_beyond(words, command).is_some_and(|beyond| steered(facts, command, beyond).is_none())
}

fn uncovered(
    bench: Bench<'_>,
    facts: &ShellFacts,
    index: usize,
    command: &SimpleCommand,
) -> Option<Uncovered> {
    command.opaque.as_ref()?;
    let (_, nearest) = longest(bench, command)?;
    if bench.call.facts.strayed.contains(&index) {
        return Some(Uncovered::Strays);
    }
    let covers = entries(bench, command).any(|entry| {
        beyond(entry, command)
            .is_some_and(|beyond| entry.opens() || steered(facts, command, beyond).is_none())
    });
    if covers {
        return None;
    }
    steered(facts, command, nearest)
}

/// Returns what behind an entry makes something else of a command whose effect is not known.
fn steered(facts: &ShellFacts, command: &SimpleCommand, beyond: Beyond<'_>) -> Option<Uncovered> {
    let opaque = command.opaque.as_deref()?;
    let name = command.words.first().and_then(|name| name.literal());
    let is_reader = matches!(
        command.class,
        CommandClass::Nothing | CommandClass::Reader | CommandClass::Writer | CommandClass::Remover
    ) || name.is_some_and(|name| FETCHING.contains(&name));
    if is_reader {
        // Such a program is known; only its words can have made it anything else.
        return (!beyond.words.is_empty()).then(|| Uncovered::Odd(opaque.to_owned()));
    }
    Reading::new(facts, command, beyond.from).uncovered()
}

/// Programs of the network whose options the shell reader knows.
const FETCHING: [&str; 2] = ["curl", "wget"];

/// Returns the variables that are set for `command` and may steer what `entry` names.
///
/// A name that the entry sets itself (`env NAME=value …`) is what it asks for.
pub(in crate::judge) fn steering_variables<'a>(
    facts: &'a ShellFacts,
    command: &'a SimpleCommand,
    entry: &[String],
) -> Vec<&'a str> {
    let programs: Vec<&str> = entry
        .iter()
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let in_entry = |name: &str| {
        let mut sets = entry.iter().filter_map(|word| word.split_once('='));
        sets.any(|(set, _)| set == name)
    };
    let exported = facts.env.set.iter().filter(|set| set.exported);
    command
        .assignments
        .iter()
        .chain(exported.map(|set| &set.name))
        .map(String::as_str)
        .filter(|name| !in_entry(name) && !is_harmless(name, &programs))
        .collect()
}
