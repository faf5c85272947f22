//! What a word becomes, as far as the line itself tells.
//!
//! Pure: it changes no state and records no facts.

use crate::parse::is_name;
use crate::state::{State, Value};
use crate::syntax::{Command, List, Param, ParamOp, Piece, Word};
use crate::value::{Arg, Dynamic};
use crate::{Dialect, Setting};

/// The most words that braces may make.
const BRACE_WORDS_MAX: usize = 1_000;

/// Expands words with what is known at one point of the line.
pub(crate) struct Expander<'a> {
    pub(crate) state: &'a State,
    pub(crate) setting: &'a Setting,
}

/// A word that is being put together.
#[derive(Default)]
struct Field {
    text: String,
    /// Set when the rest is not known; `text` is then the certain beginning.
    is_dynamic: bool,
    is_number: bool,
    is_single: bool,
    is_operand: bool,
    is_never_option: bool,
    pattern: Option<String>,
    is_quoted: bool,
    /// The text so far with `1` in place of numbers; `None` when more is not known.
    shape: Shape,
}

/// The text of a word in which only numbers may be unknown.
#[derive(Default)]
enum Shape {
    #[default]
    Empty,
    Text(String),
    Unknown,
}

impl Shape {
    fn push(&mut self, text: &str) {
        match self {
            Self::Empty => *self = Self::Text(text.to_owned()),
            Self::Text(all) => all.push_str(text),
            Self::Unknown => {}
        }
    }
}

/// The words of one word, and whether braces made them.
pub(crate) struct Expanded {
    pub(crate) args: Vec<Arg>,
    pub(crate) from_braces: bool,
}

impl Expander<'_> {
    /// Expands a word of a command.
    pub(crate) fn word(&self, word: &Word) -> Expanded {
        if !self.state.spend(word.source.len()) {
            return Expanded {
                args: vec![Arg::unknown(&word.source)],
                from_braces: false,
            };
        }
        match braces(&word.pieces, self.state) {
            Braces::None => Expanded {
                args: self.fields(&word.pieces, &word.source),
                from_braces: false,
            },
            Braces::Words(words) if self.setting.dialect != Dialect::Posix => {
                let args = words
                    .iter()
                    .flat_map(|pieces| self.fields(pieces, &word.source))
                    .collect();
                Expanded {
                    args,
                    from_braces: true,
                }
            }
            Braces::Words(_) | Braces::Unclear => {
                let start = match word.pieces.first() {
                    Some(Piece::Text {
                        text,
                        quoted: false,
                    }) => text.split('{').next().unwrap_or_default(),
                    _ => "",
                };
                let start = if start.starts_with('~') { "" } else { start };
                let dynamic = Dynamic {
                    start: start.to_owned(),
                    source: word.source.clone(),
                    ..Dynamic::default()
                };
                Expanded {
                    args: vec![Arg::Dynamic(dynamic)],
                    from_braces: true,
                }
            }
        }
    }

    /// Expands to exactly one word: assignments, targets, here-strings.
    pub(crate) fn scalar(&self, pieces: &[Piece], source: &str) -> Arg {
        let mut field = Field {
            is_single: true,
            ..Field::default()
        };
        let pieces = self.tilde(pieces, &mut field);
        for piece in &pieces {
            self.piece(piece, true, source, &mut field);
        }
        field.finish(source)
    }

    /// Expands a target of a redirection.
    pub(crate) fn target(&self, word: &Word) -> Arg {
        let expanded = self.word(word);
        match (expanded.args.as_slice(), expanded.from_braces) {
            ([one], false) => one.clone(),
            _ => Arg::unknown(&word.source),
        }
    }

    fn fields(&self, pieces: &[Piece], source: &str) -> Vec<Arg> {
        let mut done = Vec::new();
        let mut field = Field {
            is_single: true,
            ..Field::default()
        };
        let lone = match pieces {
            [Piece::Text { text, .. }, lone] if text.is_empty() => Some(lone),
            [lone] => Some(lone),
            _ => None,
        };
        if let Some(Piece::Param { param, quoted }) = lone
            && let Some(args) = self.positional_words(param, *quoted)
        {
            return args;
        }
        let pieces = self.tilde(pieces, &mut field);
        for piece in &pieces {
            match self.split(piece, &field) {
                Some(parts) => {
                    for (at, part) in parts.into_iter().enumerate() {
                        if at > 0 {
                            let whole = std::mem::replace(
                                &mut field,
                                Field {
                                    is_single: true,
                                    ..Field::default()
                                },
                            );
                            whole.push_to(&mut done, source);
                        }
                        field.text.push_str(&part);
                    }
                }
                None => self.piece(piece, false, source, &mut field),
            }
        }
        field.push_to(&mut done, source);
        done
    }

    /// Returns the words of a lone `$@` or `"$@"` that are known.
    fn positional_words(&self, param: &Param, quoted: bool) -> Option<Vec<Arg>> {
        let is_all = matches!(param.name.as_str(), "@" | "*") && !(quoted && param.name == "*");
        if !is_all || !is_plain(param) {
            return None;
        }
        let words = self.state.positional.as_ref()?;
        if !words
            .iter()
            .all(|word| self.state.spend(word.start().len()))
        {
            return None;
        }
        let certain = quoted
            || words
                .iter()
                .all(|word| word.literal().is_some_and(is_one_plain_word));
        certain.then(|| words.to_vec())
    }

    /// Divides an unquoted known value at its blanks; `None` when there is nothing to divide.
    fn split(&self, piece: &Piece, field: &Field) -> Option<Vec<String>> {
        let Piece::Param {
            param,
            quoted: false,
        } = piece
        else {
            return None;
        };
        if field.is_dynamic || !self.state.is_split_known {
            return None;
        }
        let Some(Arg::Literal(value)) = self.known(param) else {
            return None;
        };
        if value.contains(['*', '?', '[', '\\', '{', '~']) {
            return None;
        }
        let blanks = [' ', '\t', '\n'];
        if value.contains(blanks) && !matches!(self.setting.dialect, Dialect::Bash | Dialect::Posix)
        {
            return None;
        }
        let mut parts: Vec<String> = value
            .split(blanks)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if value.starts_with(blanks) {
            parts.insert(0, String::new());
        }
        if value.ends_with(blanks) && !parts.is_empty() {
            parts.push(String::new());
        }
        Some(parts)
    }

    /// Expands `~` at the start of a word or of the value of `name=~`.
    fn tilde(&self, pieces: &[Piece], field: &mut Field) -> Vec<Piece> {
        let mut pieces = pieces.to_vec();
        let Some(Piece::Text {
            text,
            quoted: false,
        }) = pieces.first_mut()
        else {
            return pieces;
        };
        let (head, tail) = match text.split_once('=') {
            Some((name, value))
                if is_name(name.trim_end_matches('+')) && value.starts_with('~') =>
            {
                (format!("{name}="), value.to_owned())
            }
            _ => (String::new(), text.clone()),
        };
        if !tail.starts_with('~') {
            if tail.contains(":~") {
                field
                    .text
                    .push_str(text.split('~').next().unwrap_or_default());
                field.is_dynamic = true;
                field.shape = Shape::Unknown;
            }
            return pieces;
        }
        field.text.push_str(&head);
        let user = tail.split('/').next().unwrap_or_default();
        let known = match user {
            "~" => self.variable("HOME"),
            "~+" => self.state.directory().map(str::to_owned),
            _ => None,
        };
        let is_whole = tail.contains('/') || pieces.len() == 1;
        match known {
            Some(place) if is_whole => {
                field.text.push_str(&place);
                let rest = tail.get(user.len()..).unwrap_or_default().to_owned();
                if let Some(Piece::Text { text, .. }) = pieces.first_mut() {
                    *text = rest;
                }
                field.is_quoted = true;
            }
            _ => {
                field.is_dynamic = true;
                field.shape = Shape::Unknown;
            }
        }
        pieces
    }

    /// Returns the known text of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        match self.state.get(name) {
            Some(Value::Scalar(Arg::Literal(text))) => Some(text.clone()),
            _ => None,
        }
    }

    fn piece(&self, piece: &Piece, as_scalar: bool, source: &str, field: &mut Field) {
        match piece {
            Piece::Text { text, quoted: true } => field.add(text, true),
            Piece::Text {
                text,
                quoted: false,
            } if as_scalar => field.add(text, false),
            Piece::Text {
                text,
                quoted: false,
            } => field.add_pattern(text, source),
            Piece::Param { param, quoted } => match self.known(param) {
                Some(Arg::Literal(text)) if *quoted || as_scalar => field.add(&text, true),
                Some(Arg::Literal(text)) => field.add_uncertain(&text, false),
                Some(Arg::Dynamic(dynamic)) => field.add_dynamic(&dynamic, *quoted || as_scalar),
                None => field.add_dynamic(
                    &Dynamic::default(),
                    (*quoted || as_scalar) && param.name != "@",
                ),
            },
            Piece::Command { body, quoted } => {
                let is_number = gives_number(&body.list);
                let known = crate::outputs::of(&body.list);
                let dynamic = Dynamic {
                    is_number,
                    // Only `seq` prints numbers below 0, where it is given some.
                    is_operand: known.is_operand || is_number && !has_negative(&body.source),
                    ..known
                };
                field.add_dynamic(&dynamic, *quoted || as_scalar);
            }
            Piece::Arith { .. } => {
                field.add_dynamic(
                    &Dynamic {
                        is_number: true,
                        ..Dynamic::default()
                    },
                    true,
                );
            }
            Piece::Process(_) => {
                let place = Dynamic {
                    start: "/dev/fd/".to_owned(),
                    ..Dynamic::default()
                };
                field.add_dynamic(&place, true);
            }
            Piece::Locale(_) => field.add_dynamic(&Dynamic::default(), true),
        }
    }

    /// Returns what is known of a parameter.
    pub(crate) fn known(&self, param: &Param) -> Option<Arg> {
        self.value(param)
            .filter(|value| self.state.spend(value.start().len()))
    }

    fn value(&self, param: &Param) -> Option<Arg> {
        if param.length
            || matches!(
                param.name.as_str(),
                "?" | "$" | "#" | "!" | "RANDOM" | "SECONDS"
            ) && is_plain(param)
        {
            return Some(crate::state::count(&param.name));
        }
        if !is_plain(param) {
            return None;
        }
        if let Ok(at) = param.name.parse::<usize>() {
            let words = self.state.positional.as_ref()?;
            let at = at.checked_sub(1)?;
            return Some(words.get(at).cloned().unwrap_or_else(|| Arg::text("")));
        }
        match self.state.get(&param.name) {
            Some(Value::Scalar(value)) => Some(value.clone()),
            _ => None,
        }
    }
}

impl Field {
    fn add(&mut self, text: &str, quoted: bool) {
        self.is_quoted |= quoted;
        if self.is_dynamic {
            self.shape.push(text);
        } else {
            self.text.push_str(text);
        }
        self.is_number = false;
    }

    fn add_pattern(&mut self, text: &str, source: &str) {
        match text.find(['*', '?', '[']) {
            // A bracket without an end is itself: `[` is the name of a command.
            Some(at) if text.contains(['*', '?']) || text.contains(']') => {
                let (start, _) = text.split_at_checked(at).unwrap_or_default();
                self.add(start, false);
                self.is_dynamic = true;
                self.shape = Shape::Unknown;
                self.is_single = false;
                self.pattern = Some(source.to_owned());
            }
            Some(_) if !text.ends_with('[') || !self.text.is_empty() || text.len() > 1 => {
                let start = text.split('[').next().unwrap_or_default();
                self.add(start, false);
                self.is_dynamic = true;
                self.shape = Shape::Unknown;
                self.is_single = false;
                self.pattern = Some(source.to_owned());
            }
            _ => self.add(text, false),
        }
    }

    fn add_uncertain(&mut self, start: &str, single: bool) {
        if !self.is_dynamic {
            let known = start
                .split(['*', '?', '[', '\\', '{', '~', ' ', '\t', '\n'])
                .next()
                .unwrap_or_default();
            self.text.push_str(known);
        }
        self.is_dynamic = true;
        self.shape = Shape::Unknown;
        self.is_single &= single;
        self.is_number = false;
    }

    fn add_dynamic(&mut self, dynamic: &Dynamic, single: bool) {
        let is_first = self.text.is_empty() && !self.is_dynamic;
        if !dynamic.is_number {
            self.shape = Shape::Unknown;
        } else if self.is_dynamic {
            self.shape.push("1");
        } else {
            self.shape = Shape::Text(format!("{}1", self.text));
        }
        if !self.is_dynamic {
            self.text.push_str(&dynamic.start);
        }
        self.is_number = is_first && dynamic.is_number;
        self.is_single &= single || dynamic.is_number && dynamic.is_single;
        self.is_operand |= is_first && dynamic.is_operand;
        self.is_never_option |= is_first && dynamic.is_never_option;
        if single && dynamic.pattern.is_some() {
            self.pattern.clone_from(&dynamic.pattern);
        }
        self.is_dynamic = true;
    }

    fn push_to(self, done: &mut Vec<Arg>, source: &str) {
        if self.is_dynamic || self.is_quoted || !self.text.is_empty() {
            done.push(self.finish(source));
        }
    }

    fn finish(self, source: &str) -> Arg {
        if !self.is_dynamic {
            return Arg::Literal(self.text);
        }
        Arg::Dynamic(Dynamic {
            start: self.text,
            source: source.to_owned(),
            is_number: self.is_number,
            is_single: self.is_single,
            is_operand: self.is_operand,
            is_never_option: self.is_never_option,
            pattern: self.pattern,
            shape: match self.shape {
                Shape::Text(text) => Some(text),
                Shape::Empty | Shape::Unknown => None,
            },
        })
    }
}

fn is_plain(param: &Param) -> bool {
    !param.indirect
        && !param.length
        && param.subscript.is_none()
        && matches!(param.op, ParamOp::None)
}

fn is_one_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
}

/// Returns whether a text has a number below 0 as a word.
fn has_negative(source: &str) -> bool {
    source
        .split_ascii_whitespace()
        .any(|word| word.starts_with('-') && crate::value::is_number(word))
}

/// Returns whether a substitution always prints a number.
fn gives_number(list: &List) -> bool {
    let [item] = list.items.as_slice() else {
        return false;
    };
    if !item.rest.is_empty() || item.background {
        return false;
    }
    let Some(Command::Simple(last)) = item.first.commands.last() else {
        return false;
    };
    let words: Vec<&str> = last.words.iter().map(|word| word.source.as_str()).collect();
    match words.as_slice() {
        ["nproc"] | ["date", "+%s"] | ["id", "-u" | "-g"] | ["wc", "-l" | "-c" | "-w" | "-m"] => {
            true
        }
        ["seq", numbers @ ..] => {
            !numbers.is_empty() && numbers.iter().all(|word| crate::value::is_number(word))
        }
        ["grep", "-c", _] => true,
        ["grep", "-c", _, file] => !file.contains(['*', '?', '[', '$', '{', '`']),
        _ => false,
    }
}

/// Returns whether a text is a number of at most five characters without a plus.
fn is_short(text: &str) -> bool {
    text.len() < 6 && !text.starts_with('+') && crate::value::is_number(text)
}

enum Braces {
    None,
    Words(Vec<Vec<Piece>>),
    Unclear,
}

/// Expands `{a,b}` and `{1..3}` in a word of plain text.
fn braces(pieces: &[Piece], state: &State) -> Braces {
    let has_brace = pieces.iter().any(|piece| {
        matches!(piece, Piece::Text { text, quoted: false } if text.contains('{') && text != "{}")
    });
    if !has_brace {
        return Braces::None;
    }
    let mut chars: Vec<(char, bool)> = Vec::new();
    let mut is_text = true;
    for piece in pieces {
        match piece {
            Piece::Text { text, quoted } => chars.extend(text.chars().map(|c| (c, *quoted))),
            _ => {
                is_text = false;
                chars.push(('\u{0}', true));
            }
        }
    }
    let unquoted = |wanted: char| {
        chars
            .iter()
            .filter(|(c, quoted)| *c == wanted && !*quoted)
            .count()
    };
    let has_comma = unquoted(',') > 0;
    let has_dots = chars
        .windows(2)
        .any(|pair| matches!(pair, [('.', false), ('.', false)]));
    if unquoted('}') == 0 || !has_comma && !has_dots {
        return Braces::None;
    }
    if !is_text {
        return Braces::Unclear;
    }
    match brace_words(&chars, state) {
        Some(words) => Braces::Words(words.iter().map(|word| to_pieces(word)).collect()),
        None => Braces::Unclear,
    }
}

fn to_pieces(chars: &[(char, bool)]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (c, is_quoted) in chars {
        match pieces.last_mut() {
            Some(Piece::Text { text, quoted }) if quoted == is_quoted => text.push(*c),
            _ => pieces.push(Piece::Text {
                text: c.to_string(),
                quoted: *is_quoted,
            }),
        }
    }
    pieces
}

/// A text with each character's quoting.
type Chars = Vec<(char, bool)>;

/// Expands lists of literals, in lists too; what bash leaves alone or may leave alone is unclear.
fn brace_words(chars: &[(char, bool)], state: &State) -> Option<Vec<Chars>> {
    let mut words: Vec<Chars> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&(c, is_quoted)) = chars.get(at) {
        at += 1;
        if c == '}' && !is_quoted {
            return None;
        }
        if c != '{' || is_quoted {
            words.iter_mut().for_each(|word| word.push((c, is_quoted)));
            continue;
        }
        let (parts, end) = members(chars, at)?;
        at = end;
        let mut expanded: Vec<Chars> = Vec::new();
        if let [only] = parts.as_slice() {
            // Bash leaves `{u}` as it is.
            let is_left = only.iter().all(|(c, _)| c.is_alphanumeric());
            expanded = if is_left {
                let braced = [('{', true)].into_iter().chain(only.iter().copied());
                vec![braced.chain([('}', true)]).collect()]
            } else {
                sequence(only)?
            };
        } else {
            for part in parts {
                expanded.extend(brace_words(part, state)?);
                if expanded.len() > BRACE_WORDS_MAX {
                    return None;
                }
            }
        }
        let count = words.len() * expanded.len();
        let longest = |words: &[Chars]| words.iter().map(Vec::len).max().unwrap_or(0);
        let bytes = count * (longest(&words) + longest(&expanded) + 32);
        if count > BRACE_WORDS_MAX || !state.spend(bytes) {
            return None;
        }
        words = words
            .iter()
            .flat_map(|word| {
                expanded
                    .iter()
                    .map(move |member| word.iter().chain(member).copied().collect())
            })
            .collect();
    }
    Some(words)
}

/// A character, and whether it is quoted.
type Marked = (char, bool);

/// Divides a list at the commas of its own level; also where it ends.
fn members(chars: &[Marked], start: usize) -> Option<(Vec<&[Marked]>, usize)> {
    let mut parts = Vec::new();
    let mut begun = start;
    let mut open = 0_usize;
    for at in start..chars.len() {
        match chars.get(at)? {
            ('{', false) => open += 1,
            ('}', false) if open == 0 => {
                parts.push(chars.get(begun..at)?);
                return Some((parts, at + 1));
            }
            ('}', false) => open -= 1,
            (',', false) if open == 0 => {
                parts.push(chars.get(begun..at)?);
                begun = at + 1;
            }
            _ => {}
        }
        if open > crate::text::NESTING_MAX {
            return None;
        }
    }
    None
}

/// Expands `1..5`, `01..10`, `1..9..2` and `a..e`.
fn sequence(member: &[(char, bool)]) -> Option<Vec<Chars>> {
    let text: String = member
        .iter()
        .map(|(c, quoted)| if *quoted { '\u{0}' } else { *c })
        .collect();
    let parts: Vec<&str> = text.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] if is_short(step) => (*from, *to, step.parse::<i64>().ok()?.abs().max(1)),
        _ => return None,
    };
    let step = usize::try_from(step).ok()?;
    if is_short(from) && is_short(to) {
        let is_padded = |text: &str| {
            let digits = text.trim_start_matches('-');
            digits.len() > 1 && digits.starts_with('0')
        };
        let width = if is_padded(from) || is_padded(to) {
            from.len().max(to.len())
        } else {
            0
        };
        let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
        if from.abs_diff(to) >= BRACE_WORDS_MAX as u64 {
            return None;
        }
        let numbers: Vec<i64> = if from <= to {
            (from..=to).step_by(step).collect()
        } else {
            (to..=from).rev().step_by(step).collect()
        };
        let shown = |n: &i64| format!("{n:0width$}").chars().map(|c| (c, false)).collect();
        return Some(numbers.iter().map(shown).collect());
    }
    let mut letters = (from.chars(), to.chars());
    match (
        letters.0.next(),
        letters.0.next(),
        letters.1.next(),
        letters.1.next(),
    ) {
        (Some(a), None, Some(b), None)
            if a.is_ascii_lowercase() && b.is_ascii_lowercase() && a <= b =>
        {
            Some((a..=b).step_by(step).map(|c| vec![(c, false)]).collect())
        }
        _ => None,
    }
}
