//! Reads the words of a command along the table of its program.

use super::{
    Uncovered,
    rows::{ABOUT_ITSELF, Behind, Operands, Row, UNKNOWN, find, has},
};
use crate::facts::{ShellFacts, SimpleCommand, Word};

/// Options whose value is taken only where it is a count: without one they stand alone.
const COUNTS: &str = "-j -l -O --jobs --parallel --threads --load-average";

/// Options of a place or a file, as entries have them.
const PLACES: &str = "-C -f -I -p -b -d --directory --file --project-dir";

/// Where the reading of a command's words stands.
pub(super) struct Reading<'a> {
    facts: &'a ShellFacts,
    command: &'a SimpleCommand,
    /// The first word that the entry does not have.
    from: usize,
    row: &'static Row,
    program: &'a str,
    /// Whether an operand of the program was seen.
    has_operand: bool,
    /// Whether the entry itself names a thing to do.
    entry_has_goal: bool,
    /// Whether every further word is an operand.
    only_operands: bool,
    /// Whether what follows belongs to a program that the line itself names.
    is_open: bool,
}

/// What an option word is to its row.
enum Given {
    /// Harmless; tells whether the next word is its value.
    Harmless(bool),
    /// Not in the table, or with a value that may steer.
    Unknown,
}

impl<'a> Reading<'a> {
    pub(super) fn new(facts: &'a ShellFacts, command: &'a SimpleCommand, from: usize) -> Self {
        let name = command.words.first().and_then(Word::literal);
        let program = base(name.unwrap_or_default());
        Self {
            facts,
            command,
            from,
            row: find(program, None).unwrap_or(&UNKNOWN),
            program,
            has_operand: false,
            entry_has_goal: false,
            only_operands: false,
            is_open: false,
        }
    }

    /// Returns the first word behind the entry that the entry does not cover.
    pub(super) fn uncovered(mut self) -> Option<Uncovered> {
        let mut words = self.command.words.iter().enumerate().skip(1).peekable();
        while let Some((at, word)) = words.next() {
            if self.is_open {
                return None;
            }
            let is_judged = at >= self.from;
            let next = words.peek().map(|(_, next)| *next);
            match self.word(at, word, next) {
                Ok(takes_next) => {
                    if takes_next {
                        words.next();
                    }
                }
                Err(why) if is_judged => return Some(why),
                // The value of an option that the entry has is no thing to do.
                Err(_) if word.literal().is_some_and(|text| has(PLACES, text)) => {
                    words.next();
                }
                Err(_) => {}
            }
        }
        None
    }

    /// Takes one word; tells whether the next one is its value.
    fn word(&mut self, at: usize, word: &'a Word, next: Option<&Word>) -> Result<bool, Uncovered> {
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic(source) => {
                let is_loose = self.command.loose.contains(&at);
                if is_loose && is_of_line(self.facts, self.command, source) {
                    return Err(Uncovered::MaySteer(source.clone()));
                }
                return self.dynamic(at, source);
            }
        };
        if text == "--" && !self.only_operands {
            match self.row.behind {
                Behind::Operands => self.only_operands = true,
                Behind::By(row) => self.row = row,
            }
            return Ok(false);
        }
        if self.only_operands || text == "-" || !text.starts_with('-') {
            return self.operand(at, text).map(|()| false);
        }
        match given(self.row, text, next) {
            Given::Harmless(takes_next) => Ok(takes_next),
            Given::Unknown => Err(self.refusal(text)),
        }
    }

    /// Takes a word of which only the beginning is known.
    fn dynamic(&mut self, at: usize, source: &'a str) -> Result<bool, Uncovered> {
        let bare = source.trim_start_matches('"');
        let end = bare
            .find(['$', '`', '*', '?', '[', '{', '"', '\\'])
            .unwrap_or(bare.len());
        let start = bare.split_at_checked(end).map_or("", |(start, _)| start);
        if self.only_operands || !start.starts_with('-') {
            return match self.operand(at, start) {
                Err(Uncovered::Adds(_)) => Err(Uncovered::Adds(source.to_owned())),
                found => found.map(|()| false),
            };
        }
        // The name of the option has to stand there, and its value may be anything.
        let is_named = start.contains('=') || !start.starts_with("--") && !self.row.one_dash;
        let stands_for = format!("{start}/");
        match given(self.row, &stands_for, None) {
            Given::Harmless(false) if is_named => Ok(false),
            _ => Err(Uncovered::MaySteer(source.to_owned())),
        }
    }

    fn operand(&mut self, at: usize, text: &'a str) -> Result<(), Uncovered> {
        let name = base(text);
        if self.row.launches
            && let Some(row) = find(name, None)
        {
            self.row = row;
            self.program = name;
            self.has_operand = false;
            return Ok(());
        }
        if !std::mem::replace(&mut self.has_operand, true)
            && let Some(row) = find(self.program, Some(text))
        {
            self.row = row;
            return Ok(());
        }
        let is_judged = at >= self.from;
        let found = self.check_operand(text);
        if !is_judged && !text.contains('=') {
            self.entry_has_goal = true;
        }
        if self.row.operands == Operands::Script {
            self.is_open = is_judged;
            self.row = &UNKNOWN;
        }
        found
    }

    fn check_operand(&self, text: &str) -> Result<(), Uncovered> {
        let row = self.row;
        let begins = |start: &&str| text.starts_with(*start);
        let is_switch = row.one_dash && text.starts_with('/') && text.contains(':');
        if text.starts_with('@') && !row.at || row.starts.iter().any(begins) || is_switch {
            return Err(self.refusal(text));
        }
        if let (Some(harmless), Some((name, value))) = (row.variables, text.split_once('=')) {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            if has(harmless, name) && is_number {
                return Ok(());
            }
            return Err(self.refusal(text));
        }
        match row.operands {
            Operands::Goals(harmless) if self.entry_has_goal && !has(harmless, text) => {
                Err(Uncovered::Adds(text.to_owned()))
            }
            Operands::Known(_) if self.entry_has_goal => Err(Uncovered::Adds(text.to_owned())),
            Operands::Known(known) if !is_known(known, text) => Err(self.refusal(text)),
            _ => Ok(()),
        }
    }

    fn refusal(&self, word: &str) -> Uncovered {
        if !std::ptr::eq(self.row, &UNKNOWN) {
            Uncovered::Steers(word.to_owned())
        } else {
            Uncovered::Unlisted(word.to_owned())
        }
    }
}

/// Returns the last part of a path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Tells whether `text` is among `known`; a name with `_` takes names of tests behind a blank.
fn is_known(known: &str, text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._* -".contains(c);
    match text.split_once(' ') {
        None => has(known, text),
        Some((head, names)) => has(known, &format!("{head}_")) && names.chars().all(is_name),
    }
}

/// Tells whether a value names a file and not something built in.
fn is_path(value: &str) -> bool {
    value.contains(['/', '.', '\\', '@'])
}

/// Finds an option in a row.
fn given(row: &Row, text: &str, next: Option<&Word>) -> Given {
    if row.one_dash && text.starts_with("-D") && !row.properties.is_empty() {
        let name = text.trim_start_matches("-D").split('=').next();
        return if name.is_some_and(|name| has(row.properties, name)) {
            Given::Harmless(false)
        } else {
            Given::Unknown
        };
    }
    let ends_name = |c: char| c == '=' || row.one_dash && c == ':';
    let (name, value) = text
        .split_once(ends_name)
        .map_or((text, None), |(name, value)| (name, Some(value)));
    if let Some(given) = whole(row, name, value, next) {
        return given;
    }
    let is_short = !text.starts_with("--");
    match text.strip_prefix('-').filter(|_| is_short) {
        Some(letters) => joined(row, letters, next),
        None => Given::Unknown,
    }
}

/// Finds an option by its whole name.
fn whole(row: &Row, name: &str, value: Option<&str>, next: Option<&Word>) -> Option<Given> {
    let knows = |list: &str| {
        let other = || match name.strip_prefix("--") {
            Some(bare) => has(list, &format!("-{bare}")),
            None => has(list, &format!("-{name}")),
        };
        has(list, name) || row.one_dash && other()
    };
    if value.is_none() && (knows(row.flags) || has(ABOUT_ITSELF, name)) {
        return Some(Given::Harmless(false));
    }
    if knows(row.values) {
        return Some(Given::Harmless(value.is_none() && takes(name, next)));
    }
    if knows(row.names) {
        let apart = next.filter(|_| value.is_none() && takes(name, next));
        let given = value.or_else(|| apart.and_then(Word::literal));
        let is_plain = given.map_or(apart.is_none(), |given| !is_path(given));
        return Some(if is_plain {
            Given::Harmless(apart.is_some())
        } else {
            Given::Unknown
        });
    }
    let switches = |value: &str| {
        matches!(value, "true" | "false")
            || !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
    };
    (knows(row.flags) && value.is_some_and(switches)).then_some(Given::Harmless(false))
}

/// Finds letters behind one dash.
fn joined(row: &Row, letters: &str, next: Option<&Word>) -> Given {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let value = rest.as_str();
        if row.letter_values.contains(letter) {
            let takes_next = value.is_empty() && takes(&format!("-{letter}"), next);
            return Given::Harmless(takes_next);
        }
        if row.letter_names.contains(letter) {
            let apart = next.filter(|_| value.is_empty() && takes("", next));
            let given = apart.map_or(Some(value), Word::literal);
            return match given {
                Some(given) if !is_path(given) => Given::Harmless(apart.is_some()),
                _ => Given::Unknown,
            };
        }
        // A word of one dash that is no letter of the row is none at all.
        if row.one_dash || !row.letters.contains(letter) {
            return Given::Unknown;
        }
    }
    Given::Harmless(false)
}

/// Tells whether an option takes the word behind it.
///
/// What begins with `-` is read as an option of its own, so that nothing hides as a value.
fn takes(option: &str, next: Option<&Word>) -> bool {
    let is_count = |text: &str| {
        matches!(text, "auto" | "all")
            || !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let counts = has(COUNTS, option);
    match next {
        None => false,
        Some(Word::Literal(text)) if counts => is_count(text),
        Some(Word::Literal(text)) => !text.starts_with('-'),
        Some(Word::Dynamic(source)) => {
            source.trim_matches('"') == "$(nproc)" || !counts && source.starts_with('"')
        }
    }
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
