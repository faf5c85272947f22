//! A text to words, numbers, texts and signs.

use std::ops::Range;

use super::ParseError;

/// A piece of an expression and where it stands, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Name(String),
    /// Digits of the number, as written.
    Number(String),
    Text(String),
    Sign(&'static str),
    End,
}

/// Signs that mean something, longest first.
const SIGNS: [&str; 24] = [
    "**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{",
    "}", ",", ":", ".", "=", ";",
];

/// Signs that are refused, with what to write in their place; longest first.
const REFUSED: [(&str, &str); 15] = [
    (
        "{{",
        "an expression has no braces around it: write only its content",
    ),
    (
        "}}",
        "an expression has no braces around it: write only its content",
    ),
    ("===", "write `==`"),
    ("!==", "write `!=`"),
    ("&&", "write `and`"),
    ("||", "write `or`"),
    (
        ":=",
        "an expression stores nothing: name the value where it is needed",
    ),
    ("<<", "there are no operators on bits"),
    (">>", "there are no operators on bits"),
    ("<>", "write `!=`"),
    (
        "&",
        "there are no operators on bits; for both to hold write `and`",
    ),
    (
        "|",
        "there are no operators on bits; for one to hold write `or`",
    ),
    ("^", "there are no operators on bits; a power is `**`"),
    ("~", "there are no operators on bits; the opposite is `not`"),
    ("?", "write `a if condition else b`"),
];

/// Splits a text into pieces, with the end as the last one.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if letter.is_whitespace() {
            at += letter.len_utf8();
            continue;
        }
        let (kind, end) = one(text, at, letter)?;
        tokens.push(Token { kind, at: at..end });
        at = end;
    }
    tokens.push(Token {
        kind: Kind::End,
        at: at..at,
    });
    Ok(tokens)
}

fn one(text: &str, at: usize, letter: char) -> Result<(Kind, usize), ParseError> {
    let rest = text.get(at..).unwrap_or_default();
    let begins_fraction = || {
        let next = rest.chars().nth(1);
        letter == '.' && next.is_some_and(|next| next.is_ascii_digit())
    };
    if letter.is_ascii_digit() || begins_fraction() {
        return number(rest, at);
    }
    if letter == '\'' || letter == '"' {
        return quoted(rest, at, letter);
    }
    if letter.is_alphabetic() || letter == '_' {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let quote = rest.get(end..).and_then(|rest| rest.chars().next());
        if matches!(quote, Some('\'' | '"')) && word.len() <= 2 {
            return Err(ParseError::new(
                at..at + end,
                format!("a text with `{word}` before its quote"),
                "write the text in plain quotes; texts are joined with `+`",
            ));
        }
        return Ok((Kind::Name(word.to_owned()), at + end));
    }
    if let Some((sign, help)) = REFUSED.iter().find(|(sign, _)| rest.starts_with(sign)) {
        // Two maps may well end beside each other.
        if *sign != "}}" {
            return Err(ParseError::new(
                at..at + sign.len(),
                format!("`{sign}` is not an operator here"),
                *help,
            ));
        }
    }
    let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
        let help = match letter {
            '!' => "write `not`",
            '#' => "an expression has no comments",
            '@' | '$' => "name the value itself",
            _ => "remove it, or put the text in quotes",
        };
        return Err(ParseError::new(
            at..at + letter.len_utf8(),
            format!("`{letter}` has no meaning here"),
            help,
        ));
    };
    Ok((Kind::Sign(sign), at + sign.len()))
}

fn number(rest: &str, at: usize) -> Result<(Kind, usize), ParseError> {
    let mut end = 0;
    let mut last = ' ';
    for letter in rest.chars() {
        let is_part = letter.is_alphanumeric()
            || matches!(letter, '.' | '_')
            || (matches!(letter, '+' | '-') && matches!(last, 'e' | 'E'));
        if !is_part {
            break;
        }
        end += letter.len_utf8();
        last = letter;
    }
    let written = rest.get(..end).unwrap_or_default();
    let place = at..at + end;
    let is_whole = written.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = written.len() > 1
        && written.starts_with('0')
        && written.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if is_whole && !leading_zero {
        if written.parse::<i128>().is_err() {
            return Err(ParseError::new(
                place,
                "a whole number that is too large to be exact",
                "write a smaller one",
            ));
        }
        return Ok((Kind::Number(written.to_owned()), at + end));
    }
    let known =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let value = written.parse::<f64>().ok();
    let value = value.filter(|value| value.is_finite() && written.bytes().all(known));
    match value {
        // JSON wants digits on both sides of a point.
        Some(value) if !leading_zero => Ok((Kind::Number(format!("{value:?}")), at + end)),
        _ => Err(ParseError::new(
            place,
            format!("`{written}` is not a number"),
            "write digits, with a point or an exponent: `42`, `0.5`, `1e3`",
        )),
    }
}

fn quoted(rest: &str, at: usize, quote: char) -> Result<(Kind, usize), ParseError> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        if letter == quote {
            return Ok((Kind::Text(text), at + place + 1));
        }
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 't')) => text.push('\t'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, '0')) => text.push('\0'),
            Some((_, letter @ ('\\' | '\'' | '"'))) => text.push(letter),
            Some((_, kind @ ('u' | 'x'))) => {
                let count = if kind == 'u' { 4 } else { 2 };
                let digits: String = letters.by_ref().take(count).map(|(_, c)| c).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                let letter = code
                    .filter(|_| digits.len() == count)
                    .and_then(char::from_u32);
                let Some(letter) = letter else {
                    return Err(ParseError::new(
                        at + place..at + place + 2,
                        "an escape that names no character",
                        format!("write {count} hexadecimal digits"),
                    ));
                };
                text.push(letter);
            }
            // As Python does: what escapes nothing stays.
            Some((_, letter)) => {
                text.push('\\');
                text.push(letter);
            }
            None => break,
        }
    }
    Err(ParseError::new(
        at..at + 1,
        "a text that does not end",
        format!("close it with {quote}"),
    ))
}
