//! `allowed_commands`: the commands that an entry lists, covers, or permits beside it.

use super::super::JudgeContext;
use crate::{
    facts::{Beside, SimpleCommand, Word},
    policy::CommandEntry,
};

/// Returns the entries of the state's own list and of the person's list for `command`.
pub(super) fn entries<'a>(
    context: JudgeContext<'a>,
    command: &SimpleCommand,
) -> impl Iterator<Item = &'a CommandEntry> {
    let own = context.state.policy.allowed_commands.iter().flatten();
    let of_person = command.changes_machine() && context.may_write();
    let person = context
        .call
        .facts
        .allowed_by_person
        .iter()
        .filter(move |_| of_person);
    own.chain(person)
}

/// Returns whether an entry lists `command` and therefore covers what it runs and reaches.
pub(in crate::judge) fn is_covered(context: JudgeContext<'_>, command: &SimpleCommand) -> bool {
    entries(context, command).any(|entry| beyond(entry, command).is_some())
}

/// Returns whether one of `entries` lists `command`.
pub(in crate::judge) fn is_listed(entries: &[CommandEntry], command: &SimpleCommand) -> bool {
    entries.iter().any(|entry| beyond(entry, command).is_some())
}

/// Returns the person's entry that alone allows `command`.
pub(in crate::judge) fn entry_of_person<'a>(
    context: JudgeContext<'a>,
    command: &SimpleCommand,
) -> Option<&'a CommandEntry> {
    let own = context.state.policy.allowed_commands.iter().flatten();
    let mut own = own.filter(|entry| beyond(entry, command).is_some());
    if own.next().is_some() {
        return None;
    }
    entries(context, command).find(|entry| beyond(entry, command).is_some())
}

/// Returns the longest entry that lists `command`, with the words after it.
pub(in crate::judge) fn longest<'a, 'c>(
    context: JudgeContext<'a>,
    command: &'c SimpleCommand,
) -> Option<(&'a CommandEntry, Beyond<'c>)> {
    entries(context, command)
        .filter_map(|entry| Some((entry, beyond(entry, command)?)))
        .min_by_key(|(_, beyond)| beyond.words.len())
}

/// The words of a command after those of an entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::judge) struct Beyond<'a> {
    /// The words.
    pub(in crate::judge) words: &'a [Word],
    /// Index of the first of them in the command.
    pub(in crate::judge) from: usize,
}

/// Returns the words after those of `entry`, if `command` begins with it.
pub(in crate::judge) fn beyond<'a>(
    entry: &CommandEntry,
    command: &'a SimpleCommand,
) -> Option<Beyond<'a>> {
    words_beyond(&entry.words, command).or_else(|| {
        // What chooses a place in the project is seen through; no evidence is.
        let (name, rest) = command.words.split_first()?;
        let rest = rest.get(command.project_words..)?;
        (command.project_words > 0).then_some(())?;
        let program = Program::new(name, command.system_program.as_deref())?;
        let tail = tail_after(&entry.words, program, rest)?;
        Some(Beyond {
            words: tail,
            from: command.words.len().saturating_sub(tail.len()),
        })
    })
}

/// Returns the words after `wanted`, if `command` begins with them.
///
/// The words of a wrapper count only if `wanted` extends to the command inside.
pub(in crate::judge) fn words_beyond<'a>(
    wanted: &[String],
    command: &'a SimpleCommand,
) -> Option<Beyond<'a>> {
    let own = command.system_program.as_deref();
    let rest = rest_after(wanted, &command.words, own).or_else(|| {
        let wrapper = command.wrapped.len().saturating_sub(command.words.len());
        (wanted.len() > wrapper && wrapper > 0)
            .then(|| rest_after(wanted, &command.wrapped, command.system_wrapper.as_deref()))
            .flatten()
    })?;
    Some(Beyond {
        words: rest,
        from: command.words.len().saturating_sub(rest.len()),
    })
}

/// The program of a command: as written, and its name if it is the path of a system program.
#[derive(Clone, Copy)]
struct Program<'a> {
    written: &'a str,
    name: Option<&'a str>,
}

impl<'a> Program<'a> {
    fn new(word: &'a Word, name: Option<&'a str>) -> Option<Self> {
        let written = word.literal()?;
        Some(Self { written, name })
    }

    fn is(self, wanted: &str) -> bool {
        self.written == wanted || self.name == Some(wanted)
    }
}

/// Returns the words after `wanted` in `words`; the program's directory may be left out.
fn rest_after<'a>(
    wanted: &[String],
    words: &'a [Word],
    name: Option<&'a str>,
) -> Option<&'a [Word]> {
    let (first, rest) = words.split_first()?;
    tail_after(wanted, Program::new(first, name)?, rest)
}

/// Like `rest_after`, for a program and the words that follow it.
fn tail_after<'a>(wanted: &[String], program: Program<'_>, rest: &'a [Word]) -> Option<&'a [Word]> {
    let (first, operands) = wanted.split_first()?;
    if !program.is(first) {
        return None;
    }
    let (head, tail) = rest.split_at_checked(operands.len())?;
    head.iter()
        .zip(operands)
        .all(|(word, wanted)| word.literal() == Some(wanted.as_str()))
        .then_some(tail)
}

/// Returns whether `command` is permitted beside a listed command.
pub(in crate::judge) fn passes_beside(context: JudgeContext<'_>, command: &SimpleCommand) -> bool {
    match command.beside {
        Beside::Harmless | Beside::Filter => true,
        Beside::Directory => {
            let to = command.words.get(1).and_then(Word::literal);
            let outside = &context.call.facts.outside_directories;
            to.is_some_and(|to| !outside.iter().any(|known| known == to))
        }
        Beside::OddDirectory | Beside::ReadsFiles | Beside::Does(_) | Beside::Stranger => false,
    }
}
