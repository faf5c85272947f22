//! How a command compares with an entry of evidence.

use super::shell::{steering_variables, words_beyond};
use crate::facts::{EnvUse, Selection, ShellFacts, SimpleCommand};

/// How a command compares with an entry of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is another command.
    Other,
    /// It begins like the entry, but may test less.
    Narrowed,
    /// It is the check that the entry names.
    Whole,
}

/// Compares `command` with the entry `wanted`.
///
/// The words of the entry may be separated by words that choose nothing (`go test -v ./...`), and the program may be
/// the one from an environment of the project (`venv/bin/pytest`).
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

/// Returns whether `command` is the check that `wanted` names, though written in other words.
pub(super) fn is_named_loosely(wanted: &[String], command: &SimpleCommand) -> bool {
    beyond_loosely(wanted, command).is_some_and(|from| keep_behind(command, from))
}

/// Returns whether a variable that is set for `command` may affect the check that `wanted` names.
///
/// Variables that change what programs do are judged by their values, for the whole line.
pub(super) fn is_steered(line: &ShellFacts, command: &SimpleCommand, wanted: &[String]) -> bool {
    let changes = |name: &str| {
        let mut set = line.env.set.iter().filter(|set| set.name == name);
        set.any(|set| set.changes_programs)
    };
    steering_variables(line, command, wanted)
        .into_iter()
        .any(|name| !changes(name))
}

/// Returns whether variables that the line sets choose which tests run.
pub(super) fn chooses(env: &EnvUse) -> bool {
    env.set
        .iter()
        .any(|set| set.voids_checks || !set.changes_programs && set.chooses_tests)
}

/// Returns the index of the first word after those of `wanted`; words that choose nothing may separate them.
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

/// Returns the purposes of the words of a command from one index to another.
fn uses(command: &SimpleCommand, from: usize, to: usize) -> impl Iterator<Item = Selection> + '_ {
    (from..to).map(|at| command.uses.get(at).copied().unwrap_or_default().selects)
}

/// Returns whether a command with its words from `from` on is still the check.
fn keep_behind(command: &SimpleCommand, from: usize) -> bool {
    let beyond = || uses(command, from, command.words.len());
    !beyond().eq([Selection::Asks]) && keep(beyond(), true)
}

/// Returns whether none of these words selects; `behind`: the words follow an entry rather than stand within it.
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
