//! What the words of each command are for: all that entries of workflows are matched against.

mod beside;
mod code;
mod hands_out;
mod history;
mod moves;
mod selects;
mod steers;
mod variables;

use interlock_core::facts::{Relocated, ShellFacts, SimpleCommand, Word, WordUse};

pub(crate) use variables::{chooses_tests, steers as steers_programs};

/// Tells of every command of a line what its words are for.
pub(crate) fn tell(facts: &mut ShellFacts) {
    let told: Vec<SimpleCommand> = facts
        .commands
        .iter()
        .map(|command| of_command(facts, command))
        .collect();
    facts.commands = told;
}

fn of_command(facts: &ShellFacts, command: &SimpleCommand) -> SimpleCommand {
    let directory = command.directory.as_deref();
    let name = command.words.first().and_then(Word::literal);
    SimpleCommand {
        uses: uses(facts, command),
        relocated: relocated(facts, command),
        of_environment: name
            .and_then(|name| selects::in_environment(name, directory))
            .map(str::to_owned),
        beside: beside::read(command),
        inline_code: code::read(command),
        hands_out: hands_out::read(command),
        changes_unnamed: history::changes_unnamed(command),
        ..command.clone()
    }
}

fn uses(facts: &ShellFacts, command: &SimpleCommand) -> Vec<WordUse> {
    let steers = steers::read(facts, command);
    let selects = selects::read(command);
    steers
        .into_iter()
        .zip(selects)
        .map(|(steer, selects)| WordUse {
            steers: steer.steers,
            is_goal: steer.is_goal,
            opens: steer.opens,
            selects,
        })
        .collect()
}

/// Reads a command as it stands without the options that choose its directory.
fn relocated(facts: &ShellFacts, command: &SimpleCommand) -> Option<Relocated> {
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
        uses: uses(facts, &left),
        words: moves.words,
        directories: moves.directories,
    })
}

/// Returns the last part of a path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Tells whether a list of words has `word`.
fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
