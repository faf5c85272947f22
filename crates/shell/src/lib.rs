//! Parses a shell line and determines what it would run, read, write and connect to.
//!
//! Pure: no file system, no process, no clock. It judges nothing; a line that it cannot parse is unreadable, and a command that
//! it does not know is opaque.
//!
//! A line passes four steps: `text` (which characters are allowed), `parse` (a strict grammar, checked by `scan` and by
//! `brush-parser` in `witness`, which may only veto), `walk` with `expand` (what is known of variables and directories at each
//! point), and `run` (what each command does, according to `tables`). `spots` is a separate parser, for commands with holes in
//! them.

mod collect;
mod context;
mod expand;
mod literal;
mod names;
mod options;
mod outputs;
mod parse;
mod paths;
mod programs;
mod run;
mod scan;
mod spots;
mod state;
mod syntax;
mod tables;
mod text;
mod uses;
mod value;
mod walk;
mod witness;
mod words;

use interlock_core::facts::ShellFacts;

pub use context::{Dialect, ShellContext, doubt};
pub use names::changes_programs;
pub use spots::{Position, Spot, spots};

/// Parses `line` and returns what it would run, read, write and connect to.
///
/// This function is total: it never panics. If `unreadable` is set, the other facts contain what was seen before parsing stopped,
/// and may be incomplete.
#[must_use]
pub fn read(line: &str, setting: &ShellContext) -> ShellFacts {
    if setting.dialect == Dialect::Foreign {
        return unreadable("the language of this shell is not read".to_owned());
    }
    if let Some(reason) = text::refuse(line) {
        return unreadable(reason);
    }
    let mut tally = parse::Tally::default();
    let (list, marks) = match parse::parse_with_marks(line, setting.dialect, 0, &mut tally) {
        Ok(parsed) => parsed,
        Err(reason) => return unreadable(reason),
    };
    if let Some(reason) = witness::veto(line, &list, &marks) {
        return unreadable(reason);
    }
    let facts = |stays: bool| {
        let mut walker = walk::Walker::new(setting, tally, stays);
        let outcome = walker
            .list(&list, walk::Proof::FULL)
            .and_then(|()| walker.check_evaluated())
            .and_then(|()| walker.check_declared());
        let moved = walker.moved_under_functions();
        walker.facts.leave_functions_alone(&walker.defined);
        (
            walker.facts.finish(outcome.err(), &setting.variables),
            moved,
        )
    };
    let found = match facts(true) {
        (_, true) => facts(false).0,
        (facts, false) => facts,
    };
    let mut found = ShellFacts {
        builtins_alone: found.unreadable.is_none() && literal::is_short_list(&list),
        ..found
    };
    tell_words(&mut found);
    found
}

/// Determines again what the words of each command are for, after an answer has changed a command.
pub fn tell_words(facts: &mut ShellFacts) {
    uses::tell(facts);
}

fn unreadable(reason: String) -> ShellFacts {
    ShellFacts {
        unreadable: Some(text::short(&reason)),
        ..ShellFacts::default()
    }
}

/// Splits an `allowed_commands` entry into shell words; `None` when not literal.
///
/// A final `*` is dropped.
#[must_use]
pub fn split_entry(entry: &str) -> Option<Vec<String>> {
    let setting = ShellContext::default();
    if text::refuse(entry).is_some() {
        return None;
    }
    let list = parse::parse(entry, Dialect::Bash, 0, &mut parse::Tally::default()).ok()?;
    let simple = list.single_simple()?;
    let state = state::State::new(&setting);
    let expander = expand::Expander {
        state: &state,
        dialect: setting.dialect,
    };
    let mut words = Vec::new();
    for (at, word) in simple.words.iter().enumerate() {
        if at > 0 && at + 1 == simple.words.len() && word.source == "*" {
            break;
        }
        for arg in expander.word(word).args {
            words.push(arg.literal()?.to_owned());
        }
    }
    (!words.is_empty()).then_some(words)
}
