//! How a command stands to an entry of evidence.

use super::shell::{steering_variables, words_beyond};
use crate::facts::{EnvUse, Selection, ShellFacts, SimpleCommand};

/// How a command stands to an entry of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is another command.
    Other,
    /// It begins as the entry does, and may test less.
    Narrowed,
    /// It is the check that the entry names.
    Whole,
}

/// Tells how `command` stands to the entry `wanted`.
///
/// Between the words of the entry may stand words that choose nothing (`go test -v ./...`),
/// and its program may be the one of an environment of the project (`venv/bin/pytest`).
pub(super) fn standing(wanted: &[String], command: &SimpleCommand) -> Standing {
    let from = words_beyond(wanted, command)
        .map(|beyond| beyond.from)
        .or_else(|| beyond_loosely(wanted, command));
    match from {
        None => Standing::Other,
        Some(from) if keep_behind(command, from) => Standing::Whole,
        Some(_) => Standing::Narrowed,
    }
}

/// Tells whether `command` is the check that `wanted` names, in other words than the entry's.
pub(super) fn is_named_loosely(wanted: &[String], command: &SimpleCommand) -> bool {
    beyond_loosely(wanted, command).is_some_and(|from| keep_behind(command, from))
}

/// Tells whether a variable that is set for `command` may steer the check that `wanted` names.
///
/// Names that change what programs do are judged by their values, for the whole line.
pub(super) fn is_steered(line: &ShellFacts, command: &SimpleCommand, wanted: &[String]) -> bool {
    let changes = |name: &str| {
        let mut set = line.env.set.iter().filter(|set| set.name == name);
        set.any(|set| set.changes_programs)
    };
    steering_variables(line, command, wanted)
        .into_iter()
        .any(|name| !changes(name))
}

/// Tells whether variables that the line sets choose what is tested.
pub(super) fn chooses(env: &EnvUse) -> bool {
    env.set
        .iter()
        .any(|set| set.voids_checks || !set.changes_programs && set.chooses_tests)
}

/// Returns the index of the first word after those of `wanted`, where words that choose nothing
/// stand between them.
fn beyond_loosely(wanted: &[String], command: &SimpleCommand) -> Option<usize> {
    let (program, operands) = wanted.split_first()?;
    let name = command.words.first()?.literal()?;
    if name != program && command.of_environment.as_deref() != Some(program.as_str()) {
        return None;
    }
    let mut from = 1;
    for operand in operands {
        let mut words = command.words.iter().skip(from);
        let at = from + words.position(|word| word.literal() == Some(operand))?;
        if !keep(uses(command, from, at), false) {
            return None;
        }
        from = at + 1;
    }
    Some(from)
}

/// Returns what the words of a command from one index to another are for.
fn uses(command: &SimpleCommand, from: usize, to: usize) -> impl Iterator<Item = Selection> + '_ {
    (from..to).map(|at| command.uses.get(at).copied().unwrap_or_default().selects)
}

/// Tells whether a command still is the check with its words from `from` on.
fn keep_behind(command: &SimpleCommand, from: usize) -> bool {
    let beyond = || uses(command, from, command.words.len());
    !beyond().eq([Selection::Asks]) && keep(beyond(), true)
}

/// Tells whether none of these words selects; `behind`: they stand behind an entry, not within one.
fn keep(uses: impl Iterator<Item = Selection>, behind: bool) -> bool {
    let mut takes_next = false;
    for selection in uses {
        let is_value = std::mem::take(&mut takes_next);
        match selection {
            Selection::Keeps => {}
            Selection::KeepsWithNext => takes_next = true,
            Selection::Value if is_value => {}
            Selection::Passes | Selection::Asks if behind => {}
            _ => return false,
        }
    }
    !takes_next
}
