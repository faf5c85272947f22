//! Options that choose another program or place for a listed command.
//!
//! An entry covers its program, not what such words make of it: they have to
//! stand in the entry itself. The table is read row by row; a program without
//! a row is held to [`ANYWHERE`] alone.

mod rows;

use super::{
    super::Bench,
    entries::{Beyond, longest, name_of, words_beyond},
};
use crate::facts::{CommandClass, ShellFacts, SimpleCommand, Word};

use rows::{ANYWHERE, Operands, PROPERTIES, ROWS, Row};

/// Why a listed command is not covered by its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uncovered {
    /// A word makes it run or touch something else.
    Steers(String),
    /// A word may turn out to be an option that does.
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
        .find_map(|(index, command)| {
            let (entry, beyond) = longest(bench, command)?;
            let why = uncovered(bench, facts, index, command, &entry.words, beyond)?;
            Some((command, why))
        })
}

/// Tells whether `words` name `command`, and nothing behind them steers it.
pub(in crate::judge) fn names_plainly(
    words: &[String],
    facts: &ShellFacts,
    command: &SimpleCommand,
) -> bool {
    words_beyond(words, command)
        .is_some_and(|beyond| steered(facts, command, words, beyond).is_none())
}

fn uncovered(
    bench: Bench<'_>,
    facts: &ShellFacts,
    index: usize,
    command: &SimpleCommand,
    entry: &[String],
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    command.opaque.as_ref()?;
    if bench.call.facts.strayed.contains(&index) {
        return Some(Uncovered::Strays);
    }
    steered(facts, command, entry, beyond)
}

/// Returns what behind an entry makes something else of a command whose effect is not known.
fn steered(
    facts: &ShellFacts,
    command: &SimpleCommand,
    entry: &[String],
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    let opaque = command.opaque.as_deref()?;
    let is_reader = matches!(
        command.class,
        CommandClass::Nothing | CommandClass::Reader | CommandClass::Writer | CommandClass::Remover
    );
    if is_reader {
        // Such a program is known; only its words can have made it anything else.
        return (!beyond.words.is_empty()).then(|| Uncovered::Odd(opaque.to_owned()));
    }
    let name = runner(entry).or_else(|| name_of(command))?;
    let row = ROWS.iter().find(|row| row.programs.contains(&name));
    steering_word(row, facts, command, beyond)
}

/// Returns the program that an entry runs in the end (`npx jest`, `python -m pytest`).
fn runner(entry: &[String]) -> Option<&str> {
    entry
        .iter()
        .rev()
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .find(|word| ROWS.iter().any(|row| row.programs.contains(word)))
}

fn steering_word(
    row: Option<&Row>,
    facts: &ShellFacts,
    command: &SimpleCommand,
    beyond: Beyond<'_>,
) -> Option<Uncovered> {
    let mut forwarded = false;
    let mut words = beyond.words.iter().enumerate().peekable();
    while let Some((at, word)) = words.next() {
        let text = match word {
            Word::Literal(text) => text,
            Word::Dynamic(source) => {
                let loose = command.loose.contains(&(beyond.from + at));
                if row.is_some() && loose && !forwarded && is_of_line(facts, command, source) {
                    return Some(Uncovered::MaySteer(source.clone()));
                }
                continue;
            }
        };
        let next = words.peek().and_then(|(_, word)| word.literal());
        if text == "--" {
            forwarded = true;
        } else if steers(row.filter(|_| !forwarded), text, next) {
            return Some(Uncovered::Steers(text.clone()));
        }
    }
    None
}

/// Wrappers that add words of their own finding.
const APPENDING: [&str; 6] = ["xargs", "parallel", "find", "fd", "fdfind", "entr"];

/// Tells whether the line itself makes the text of a word, and may make it an option.
///
/// A variable that the line does not set is the person's.
fn is_of_line(facts: &ShellFacts, command: &SimpleCommand, source: &str) -> bool {
    if command
        .via
        .iter()
        .any(|via| APPENDING.contains(&via.as_str()))
        || source.contains('`')
    {
        return true;
    }
    let mut names = source.split('$').skip(1).peekable();
    if names.peek().is_none() {
        return true;
    }
    names.any(|name| {
        let name = name.strip_prefix('{').unwrap_or(name);
        let end = name
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(name.len());
        let name = name.split_at_checked(end).map_or("", |(name, _)| name);
        let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        !is_name || facts.env.set.iter().any(|set| set.name == name)
    })
}

/// Tells whether `word` steers a program of `row`; `next` is the word behind it.
fn steers(row: Option<&Row>, word: &str, next: Option<&str>) -> bool {
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return row.is_some_and(|row| operand_steers(row.operands, word));
    };
    let Some(long) = rest.strip_prefix('-') else {
        return row.is_some_and(|row| short_steers(row, rest, next));
    };
    let (name, value) = long
        .split_once('=')
        .map_or((long, next), |(name, value)| (name, Some(value)));
    let Some(row) = row else {
        return ANYWHERE.contains(&name);
    };
    if row.one_dash {
        return row.long.contains(&name) || ANYWHERE.contains(&name) || properties_steer(row, long);
    }
    if row.fine.contains(&name) {
        return name == "target" && value.is_some_and(is_path);
    }
    begins_one(&ANYWHERE, name)
        || begins_one(row.long, name)
        || begins_one(row.named, name) && value.is_none_or(is_path)
        || name.starts_with("config.")
}

/// Tells whether the letters behind one dash steer.
fn short_steers(row: &Row, rest: &str, next: Option<&str>) -> bool {
    if row.one_dash {
        let name = rest.split_once('=').map_or(rest, |(name, _)| name);
        return row.long.contains(&name) || properties_steer(row, rest);
    }
    for (at, letter) in rest.char_indices() {
        if row.short.contains(letter) {
            return !(letter == 'D' && is_harmless_property(rest));
        }
        if row.named_short.contains(letter) {
            let joined = rest
                .get(at + letter.len_utf8()..)
                .filter(|value| !value.is_empty());
            return joined.or(next).is_none_or(is_path);
        }
        if row.valued.contains(letter) {
            return false;
        }
    }
    false
}

/// Tells whether a value names a file and not something built in.
fn is_path(value: &str) -> bool {
    value.contains(['/', '.', '\\', '@'])
}

/// Tells whether `-Dname=value` steers, for programs that know it.
fn properties_steer(row: &Row, word: &str) -> bool {
    word.starts_with('D') && row.long.contains(&"D") && !is_harmless_property(word)
}

fn is_harmless_property(word: &str) -> bool {
    word.strip_prefix('D').is_some_and(|property| {
        let name = property.split('=').next().unwrap_or_default();
        PROPERTIES.contains(&name)
    })
}

/// Tells whether `name` is one of `options` or the beginning of one.
fn begins_one(options: &[&str], name: &str) -> bool {
    !name.is_empty() && options.iter().any(|option| option.starts_with(name))
}

fn operand_steers(operands: Operands, word: &str) -> bool {
    match operands {
        Operands::None => false,
        Operands::Begin(start) => word.starts_with(start),
        Operands::Variables(harmless) => word.split_once('=').is_some_and(|(name, value)| {
            !(harmless.contains(&name) && value.bytes().all(|byte| byte.is_ascii_digit()))
        }),
    }
}
