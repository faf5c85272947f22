//! The role of each word of a command, against which entries of workflows are matched.

mod beside;
mod code;
mod hands_out;
mod history;
mod moves;
mod selects;
mod steers;
mod variables;

use interlock_core::facts::{EnvUse, Relocated, ShellFacts, SimpleCommand, Word, WordUse};

use crate::paths::program_name;

pub(crate) use variables::{chooses_tests, steers as steers_programs};

/// Determines the roles of the words of every command.
pub(crate) fn tell(facts: &mut ShellFacts) {
    for command in &mut facts.commands {
        command.uses = uses(&facts.env, command);
        command.relocated = relocated(&facts.env, command);
        command.system_program = system_program(command.words.first());
        command.system_wrapper = system_program(command.wrapped.first());
        command.of_environment = of_environment(command).map(str::to_owned);
        command.beside = beside::read(command);
        command.inline_code = code::read(command);
        command.hands_out = hands_out::read(command);
        command.changes_unnamed = history::changes_unnamed(command);
    }
}

/// Returns the name of a program that is written as a path into a system directory.
fn system_program(word: Option<&Word>) -> Option<String> {
    let path = word?.literal()?;
    let name = path.contains('/').then(|| program_name(path)).flatten();
    name.map(str::to_owned)
}

fn of_environment(command: &SimpleCommand) -> Option<&str> {
    let name = command.words.first()?.literal()?;
    selects::in_environment(name, command.directory.as_deref())
}

fn uses(env: &EnvUse, command: &SimpleCommand) -> Vec<WordUse> {
    let mut uses = steers::read(env, command);
    for (known, selects) in uses.iter_mut().zip(selects::read(command)) {
        known.selects = selects;
    }
    uses
}

/// Returns a command without the options that select its directory.
fn relocated(env: &EnvUse, command: &SimpleCommand) -> Option<Relocated> {
    let moves = moves::read(&command.words)?;
    let kept = |at: &usize| command.words.get(*at).cloned();
    let left = SimpleCommand {
        words: moves.words.iter().filter_map(kept).collect(),
        loose: moves
            .words
            .iter()
            .enumerate()
            .filter(|(_, at)| command.loose.contains(at))
            .map(|(now, _)| now)
            .collect(),
        ..command.clone()
    };
    Some(Relocated {
        uses: uses(env, &left),
        words: moves.words,
        directories: moves.directories,
    })
}

/// Returns the last part of a path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a list of words has `word`.
fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
