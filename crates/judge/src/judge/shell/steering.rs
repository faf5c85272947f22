//! The parts of a listed command that its entry does not cover.

use super::{
    super::JudgeContext,
    entries::{Beyond, beyond, entries, longest, words_beyond},
};
use crate::facts::{EnvSet, ShellFacts, SimpleCommand, Steering, SteersPrograms, Word};

/// Why an entry does not cover a listed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A word may make the command run or touch something else.
    Steers(String),
    /// A word may do the same, and the program has no table of options.
    Unlisted(String),
    /// A word is a further goal.
    Adds(String),
    /// A word may expand to an option.
    MaySteer(String),
    /// The command runs outside the project.
    Strays,
    /// Words of the command, not of the entry, make its effect unknown.
    Odd(String),
}

/// Finds the first listed command that its entry does not cover as written.
pub(super) fn first<'a>(
    context: JudgeContext<'_>,
    facts: &'a ShellFacts,
) -> Option<(&'a SimpleCommand, Uncovered)> {
    facts
        .commands
        .iter()
        .enumerate()
        .find_map(|(index, command)| Some((command, uncovered(context, index, command)?)))
}

/// Returns whether `words` name `command`, and no word after them steers it.
pub(in crate::judge) fn names_plainly(words: &[String], command: &SimpleCommand) -> bool {
    words_beyond(words, command).is_some_and(|beyond| steered(command, beyond).is_none())
}

fn uncovered(
    context: JudgeContext<'_>,
    index: usize,
    command: &SimpleCommand,
) -> Option<Uncovered> {
    command.opaque.as_ref()?;
    let (_, nearest) = longest(context, command)?;
    if context.call.facts.strayed.contains(&index) {
        return Some(Uncovered::Strays);
    }
    let covers = entries(context, command).any(|entry| {
        beyond(entry, command)
            .is_some_and(|beyond| entry.opens() || steered(command, beyond).is_none())
    });
    if covers {
        return None;
    }
    steered(command, nearest)
}

/// Returns why the words after an entry change the meaning of a command whose effect is unknown.
fn steered(command: &SimpleCommand, beyond: Beyond<'_>) -> Option<Uncovered> {
    let opaque = command.opaque.as_deref()?;
    let use_of = |at: usize| command.uses.get(at).copied().unwrap_or_default();
    let entry_has_goal = (1..beyond.from).any(|at| use_of(at).is_goal);
    for (at, word) in command.words.iter().enumerate().skip(beyond.from.max(1)) {
        let (Word::Literal(text) | Word::Dynamic(text)) = word;
        let own = use_of(at);
        match own.steers {
            Steering::Plain => {}
            Steering::Goal | Steering::UnknownGoal if entry_has_goal => {
                return Some(Uncovered::Adds(text.clone()));
            }
            Steering::Goal => {}
            Steering::UnknownGoal | Steering::Steers => {
                return Some(Uncovered::Steers(text.clone()));
            }
            Steering::MaySteer => return Some(Uncovered::MaySteer(text.clone())),
            Steering::Odd => return Some(Uncovered::Odd(opaque.to_owned())),
            Steering::Unlisted => return Some(Uncovered::Unlisted(text.clone())),
        }
        if own.opens {
            return None;
        }
    }
    None
}

/// Returns the variables that are set for `command` and may affect what `entry` names.
///
/// A variable that the entry itself sets (`env NAME=value …`) does not count.
pub(in crate::judge) fn steering_variables<'a>(
    facts: &'a ShellFacts,
    command: &'a SimpleCommand,
    entry: &[String],
) -> Vec<&'a str> {
    let is_of_entry = |program: &String| {
        let mut words = entry.iter();
        words.any(|word| word.rsplit('/').next().unwrap_or(word) == program)
    };
    let steers = |set: &EnvSet| match &set.steers {
        SteersPrograms::None => false,
        SteersPrograms::AllBut(programs) => !programs.iter().any(is_of_entry),
    };
    let is_harmless = |name: &str| {
        let mut set = facts.env.set.iter();
        set.find(|set| set.name == name)
            .is_some_and(|set| !steers(set))
    };
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
        .filter(|name| !in_entry(name) && !is_harmless(name))
        .collect()
}
