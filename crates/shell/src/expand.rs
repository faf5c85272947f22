//! Expands words, as far as the line itself determines them.
//!
//! Pure: it changes no state and records no facts.

mod braces;
mod field;

use crate::Dialect;
use crate::parse::is_name;
use crate::state::{State, Value};
use crate::syntax::{Command, List, Param, ParamOp, Piece, Word};
use crate::value::{Arg, Dynamic};
use braces::{Braces, braces};
use field::{Field, Shape};

/// Expands words with what is known at one point of the line.
pub(crate) struct Expander<'a> {
    pub(crate) state: &'a State,
    pub(crate) dialect: Dialect,
}

/// The words that result from one word, and whether braces created them.
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
            Braces::Words(words) if self.dialect != Dialect::Posix => {
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

    /// Returns the known words of a lone `$@` or `"$@"`.
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

    /// Splits an unquoted known value at its blanks; returns `None` if there is nothing to split.
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
        if value.contains(blanks) && !matches!(self.dialect, Dialect::Bash | Dialect::Posix) {
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
                    // Only `seq` prints numbers below 0, if it is given some.
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

fn is_plain(param: &Param) -> bool {
    !param.indirect
        && !param.length
        && param.subscript.is_none()
        && matches!(param.op, ParamOp::None)
}

fn is_one_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
}

/// Returns whether a word of a text is a number below 0.
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
        // One file gives one number; the format must be known.
        [
            "stat",
            "-c%s" | "-c%Y" | "-c%X" | "-c%Z" | "-c%a" | "-c%h" | "-c%i" | "-c%u" | "-c%g",
            file,
        ]
        | [
            "stat",
            "-c" | "--format",
            "%s" | "%Y" | "%X" | "%Z" | "%a" | "%h" | "%i" | "%u" | "%g",
            file,
        ] => is_one_file(file),
        ["grep", "-c", _] => true,
        ["grep", "-c", _, file] => !file.contains(['*', '?', '[', '$', '{', '`']),
        _ => false,
    }
}

/// Returns whether a word as written is one file name: quoted or plain, without pattern or braces.
fn is_one_file(word: &str) -> bool {
    let inner = word
        .strip_prefix('"')
        .and_then(|word| word.strip_suffix('"'))
        .filter(|word| !word.contains(['"', '\\']));
    let is_plain = |text: &str| !text.contains(['*', '?', '[', '{', '`', '"', '\'', '\\', '~']);
    !word.starts_with('-')
        && match inner {
            // An expansion in quotes stays one word.
            Some(inner) => {
                is_plain(inner) && !inner.contains("$(") && !inner.starts_with(['$', '-'])
            }
            None => is_plain(word) && !word.contains('$'),
        }
}
