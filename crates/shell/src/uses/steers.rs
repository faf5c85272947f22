//! What an entry of `allowed_commands` allows after its own words.
//!
//! An entry covers its program, not every use of it. After an entry, plain operands are allowed, and the options that the table
//! of its program lists as harmless. Every other option must be in the entry itself, or the entry must end with ` *`, which
//! allows all of them.

mod rows;

use interlock_core::facts::{CommandClass, EnvUse, SimpleCommand, Steering, Word, WordUse};

use super::{base, has};
use rows::{ABOUT_ITSELF, Behind, Operands, Row, UNKNOWN, find};

/// Network programs whose options the shell parser knows.
const FETCHING: [&str; 2] = ["curl", "wget"];

/// Options whose value must be a number: otherwise they have no value.
const COUNTS: &str = "-j -l -O --jobs --parallel --threads --load-average";

/// Options for a directory or a file, as in entries.
const PLACES: &str = "-C -f -I -p -b -d --directory --file --project-dir";

/// Creates the use of a word that is not a goal and opens nothing.
fn steering(steers: Steering) -> WordUse {
    WordUse {
        steers,
        ..WordUse::default()
    }
}

/// Returns for each word of a command, its name first, how it steers the program.
pub(super) fn read(env: &EnvUse, command: &SimpleCommand) -> Vec<WordUse> {
    let name = command.words.first().and_then(|name| name.literal());
    let is_known = matches!(
        command.class,
        CommandClass::Nothing | CommandClass::Reader | CommandClass::Writer | CommandClass::Remover
    ) || name.is_some_and(|name| FETCHING.contains(&name));
    if is_known {
        // Only its words can have made its effect unknown.
        return vec![steering(Steering::Odd); command.words.len()];
    }
    Reading::new(env, command).all()
}

/// The state of classifying a command's words.
struct Reading<'a> {
    env: &'a EnvUse,
    command: &'a SimpleCommand,
    row: &'static Row,
    program: &'a str,
    /// Whether an operand of the program was seen.
    has_operand: bool,
    /// Whether every further word is an operand.
    only_operands: bool,
}

/// The classification of an option word by its row.
enum OptionClass {
    /// Harmless; `true` if the next word is its value.
    Harmless(bool),
    /// Not in the table, or with a value that may steer the program.
    Unknown,
}

impl<'a> Reading<'a> {
    fn new(env: &'a EnvUse, command: &'a SimpleCommand) -> Self {
        let name = command.words.first().and_then(Word::literal);
        let program = base(name.unwrap_or_default());
        Self {
            env,
            command,
            row: find(program, None).unwrap_or(&UNKNOWN),
            program,
            has_operand: false,
            only_operands: false,
        }
    }

    fn all(mut self) -> Vec<WordUse> {
        let count = self.command.words.len();
        let mut found = vec![steering(Steering::Plain); count];
        let mut words = self.command.words.iter().enumerate().skip(1).peekable();
        while let Some((at, word)) = words.next() {
            let next = words.peek().map(|(_, next)| *next);
            let (steer, takes_next) = self.word(at, word, next);
            if let Some(place) = found.get_mut(at) {
                *place = steer;
            }
            // The value of an option in the entry is not a goal.
            let is_place = matches!(steer.steers, Steering::Steers | Steering::Unlisted)
                && word.literal().is_some_and(|text| has(PLACES, text));
            if takes_next || is_place {
                words.next();
            }
        }
        found
    }

    /// Classifies one word; also returns whether the next one is its value.
    fn word(&mut self, at: usize, word: &'a Word, next: Option<&Word>) -> (WordUse, bool) {
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic(source) => {
                let is_loose = self.command.loose.contains(&at);
                if is_loose && is_of_line(self.env, self.command, source) {
                    return (steering(Steering::MaySteer), false);
                }
                return (self.dynamic(source), false);
            }
        };
        if text == "--" && !self.only_operands {
            match self.row.behind {
                Behind::Operands => self.only_operands = true,
                Behind::By(row) => self.row = row,
            }
            return (steering(Steering::Plain), false);
        }
        if self.only_operands || text == "-" || !text.starts_with('-') {
            return (self.operand(text), false);
        }
        match given(self.row, text, next) {
            OptionClass::Harmless(takes_next) => (steering(Steering::Plain), takes_next),
            OptionClass::Unknown => (steering(self.refusal()), false),
        }
    }

    /// Classifies a word of which only the beginning is known.
    fn dynamic(&mut self, source: &'a str) -> WordUse {
        let bare = source.trim_start_matches('"');
        let end = bare
            .find(['$', '`', '*', '?', '[', '{', '"', '\\'])
            .unwrap_or(bare.len());
        let start = bare.split_at_checked(end).map_or("", |(start, _)| start);
        if self.only_operands || !start.starts_with('-') {
            return self.operand(start);
        }
        // The name of the option must be known; its value may be anything.
        let is_named = start.contains('=') || !start.starts_with("--") && !self.row.one_dash;
        let stands_for = format!("{start}/");
        steering(match given(self.row, &stands_for, None) {
            OptionClass::Harmless(false) if is_named => Steering::Plain,
            _ => Steering::MaySteer,
        })
    }

    fn operand(&mut self, text: &'a str) -> WordUse {
        let name = base(text);
        if self.row.launches
            && let Some(row) = find(name, None)
        {
            self.row = row;
            self.program = name;
            self.has_operand = false;
            return steering(Steering::Plain);
        }
        if !std::mem::replace(&mut self.has_operand, true)
            && let Some(row) = find(self.program, Some(text))
        {
            self.row = row;
            return steering(Steering::Plain);
        }
        let opens = self.row.operands == Operands::Script;
        let steer = WordUse {
            steers: self.of_operand(text),
            is_goal: !text.contains('='),
            opens,
            ..WordUse::default()
        };
        if opens {
            self.row = &UNKNOWN;
        }
        steer
    }

    fn of_operand(&self, text: &str) -> Steering {
        let row = self.row;
        let begins = |start: &&str| text.starts_with(*start);
        let is_switch = row.one_dash && text.starts_with('/') && text.contains(':');
        if text.starts_with('@') && !row.at || row.starts.iter().any(begins) || is_switch {
            return self.refusal();
        }
        if let (Some(harmless), Some((name, value))) = (row.variables, text.split_once('=')) {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            if has(harmless, name) && is_number {
                return Steering::Plain;
            }
            return self.refusal();
        }
        match row.operands {
            Operands::Goals(harmless) if !has(harmless, text) => Steering::Goal,
            Operands::Known(known) if is_known(known, text) => Steering::Goal,
            Operands::Known(_) => Steering::UnknownGoal,
            _ => Steering::Plain,
        }
    }

    fn refusal(&self) -> Steering {
        if !std::ptr::eq(self.row, &UNKNOWN) {
            Steering::Steers
        } else {
            Steering::Unlisted
        }
    }
}

/// Returns whether `text` is in `known`; a name with `_` is followed by names of tests.
fn is_known(known: &str, text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._* -".contains(c);
    match text.split_once(' ') {
        None => has(known, text),
        Some((head, names)) => has(known, &format!("{head}_")) && names.chars().all(is_name),
    }
}

/// Returns whether a value names a file and not something built in.
fn is_path(value: &str) -> bool {
    value.contains(['/', '.', '\\', '@'])
}

/// Looks up an option in a row.
fn given(row: &Row, text: &str, next: Option<&Word>) -> OptionClass {
    if row.one_dash && text.starts_with("-D") && !row.properties.is_empty() {
        let name = text.trim_start_matches("-D").split('=').next();
        return if name.is_some_and(|name| has(row.properties, name)) {
            OptionClass::Harmless(false)
        } else {
            OptionClass::Unknown
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
        None => OptionClass::Unknown,
    }
}

/// Looks up an option by its full name.
fn whole(row: &Row, name: &str, value: Option<&str>, next: Option<&Word>) -> Option<OptionClass> {
    let knows = |list: &str| {
        let other = || match name.strip_prefix("--") {
            Some(bare) => has(list, &format!("-{bare}")),
            None => has(list, &format!("-{name}")),
        };
        has(list, name) || row.one_dash && other()
    };
    if value.is_none() && (knows(row.flags) || has(ABOUT_ITSELF, name)) {
        return Some(OptionClass::Harmless(false));
    }
    if knows(row.values) {
        return Some(OptionClass::Harmless(value.is_none() && takes(name, next)));
    }
    if knows(row.names) {
        let apart = next.filter(|_| value.is_none() && takes(name, next));
        let given = value.or_else(|| apart.and_then(Word::literal));
        let is_plain = given.map_or(apart.is_none(), |given| !is_path(given));
        return Some(if is_plain {
            OptionClass::Harmless(apart.is_some())
        } else {
            OptionClass::Unknown
        });
    }
    let switches = |value: &str| {
        matches!(value, "true" | "false")
            || !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
    };
    (knows(row.flags) && value.is_some_and(switches)).then_some(OptionClass::Harmless(false))
}

/// Looks up letters after one dash.
fn joined(row: &Row, letters: &str, next: Option<&Word>) -> OptionClass {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let value = rest.as_str();
        if row.letter_values.contains(letter) {
            let takes_next = value.is_empty() && takes(&format!("-{letter}"), next);
            return OptionClass::Harmless(takes_next);
        }
        if row.letter_names.contains(letter) {
            let apart = next.filter(|_| value.is_empty() && takes("", next));
            let given = apart.map_or(Some(value), Word::literal);
            return match given {
                Some(given) if !is_path(given) => OptionClass::Harmless(apart.is_some()),
                _ => OptionClass::Unknown,
            };
        }
        // A word with one dash that is not a letter of the row is unknown.
        if row.one_dash || !row.letters.contains(letter) {
            return OptionClass::Unknown;
        }
    }
    OptionClass::Harmless(false)
}

/// Returns whether an option takes the following word.
///
/// A word that begins with `-` is parsed as an option of its own, so that nothing hides as a value.
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

/// Wrappers that add words which they determine themselves.
const APPENDING: [&str; 6] = ["xargs", "parallel", "find", "fd", "fdfind", "entr"];

/// Returns whether the line itself creates the text of a word, and may make it an option.
///
/// A variable that the line does not set is controlled by the person.
fn is_of_line(env: &EnvUse, command: &SimpleCommand, source: &str) -> bool {
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
        !is_name || env.set.iter().any(|set| set.name == name)
    })
}
