//! Strict JSON with positions: no comments, no trailing commas, no duplicate keys.

use std::{collections::HashSet, ops::Range, str::FromStr};

use serde_json::Number;

use super::{
    SyntaxError,
    bounds::{DEPTH_MAX, VALUES_MAX, mark_len, too_deep, too_many},
};
use crate::{
    node::{Entry, Kind, Node},
    source::Span,
};

type Read<T> = Result<T, SyntaxError>;

/// Parses the whole of `text` as one JSON value.
pub(super) fn parse(text: &str, file: usize) -> Read<Node> {
    let mut reader = Reader {
        text,
        file,
        at: mark_len(text),
        values: 0,
    };
    reader.blanks()?;
    if reader.rest().is_empty() {
        return Err(reader.here("the file is empty"));
    }
    let node = reader.value(0)?;
    reader.blanks()?;
    if reader.rest().is_empty() {
        Ok(node)
    } else {
        Err(reader
            .here("text after the end of the JSON value")
            .help("a file contains one object"))
    }
}

struct Reader<'a> {
    text: &'a str,
    file: usize,
    at: usize,
    values: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn here(&self, message: impl Into<String>) -> SyntaxError {
        let width = self.peek().map_or(0, char::len_utf8);
        SyntaxError::new(self.at..self.at + width, message)
    }

    fn range(&self, start: usize) -> Range<usize> {
        start..self.at
    }

    /// Describes the present character, for messages.
    fn found(&self) -> String {
        self.peek()
            .map_or_else(|| "the end of the file".to_owned(), |c| format!("`{c}`"))
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn blanks(&mut self) -> Read<()> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        if self.rest().starts_with("//") || self.rest().starts_with("/*") {
            return Err(self
                .here("comments are not allowed in JSON")
                .help("remove it, or write the workflow as YAML"));
        }
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Read<Node> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(too_many(self.at, VALUES_MAX));
        }
        if depth > DEPTH_MAX {
            return Err(too_deep(self.at));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Kind::Text(self.string()?),
            Some('-' | '0'..='9') => Kind::Number(self.number()?),
            Some('a'..='z' | 'A'..='Z' | '_' | '$') => self.word()?,
            Some('\'') => return Err(self.here("text stands in double quotes, not single ones")),
            _ => return Err(self.here(format!("a value was expected, not {}", self.found()))),
        };
        Ok(Node {
            span: Span::new(self.file, start, self.at),
            kind,
        })
    }

    fn word(&mut self) -> Read<Kind> {
        let start = self.at;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.')))
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        self.at += end;
        match word {
            "null" => Ok(Kind::Null),
            "true" => Ok(Kind::Bool(true)),
            "false" => Ok(Kind::Bool(false)),
            _ => Err(
                SyntaxError::new(self.range(start), format!("`{word}` is not a JSON value"))
                    .help(format!("text stands in double quotes: `\"{word}\"`")),
            ),
        }
    }

    fn object(&mut self, depth: usize) -> Read<Kind> {
        let opened = self.at;
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = HashSet::new();
        self.blanks()?;
        if self.eat('}') {
            return Ok(Kind::Map(entries));
        }
        loop {
            let entry = self.entry(depth)?;
            if !keys.insert(entry.key.clone()) {
                return Err(duplicate(&entry));
            }
            entries.push(entry);
            if self.ends('}', opened, "object")? {
                return Ok(Kind::Map(entries));
            }
        }
    }

    fn entry(&mut self, depth: usize) -> Read<Entry> {
        let start = self.at;
        if self.peek() != Some('"') {
            return Err(self.here(format!(
                "a key in double quotes was expected, not {}",
                self.found()
            )));
        }
        let key = self.string()?;
        let key_span = Span::new(self.file, start, self.at);
        self.blanks()?;
        if !self.eat(':') {
            return Err(self.here(format!(
                "`:` was expected after the key `{key}`, not {}",
                self.found()
            )));
        }
        self.blanks()?;
        let value = self.value(depth + 1)?;
        Ok(Entry {
            key,
            key_span,
            value,
        })
    }

    fn list(&mut self, depth: usize) -> Read<Kind> {
        let opened = self.at;
        self.at += 1;
        let mut items = Vec::new();
        self.blanks()?;
        if self.eat(']') {
            return Ok(Kind::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.ends(']', opened, "list")? {
                return Ok(Kind::List(items));
            }
        }
    }

    /// Continues with the next item; returns `true` at the end of the list or object.
    fn ends(&mut self, close: char, opened: usize, what: &str) -> Read<bool> {
        self.blanks()?;
        if self.eat(close) {
            return Ok(true);
        }
        let comma = self.at;
        if !self.eat(',') {
            if self.peek().is_none() {
                return Err(SyntaxError::new(
                    opened..opened + 1,
                    format!("this {what} is never closed"),
                )
                .help(format!("add the missing `{close}`")));
            }
            return Err(self.here(format!(
                "`,` or `{close}` was expected, not {}",
                self.found()
            )));
        }
        self.blanks()?;
        if self.peek() == Some(close) {
            return Err(SyntaxError::new(
                comma..comma + 1,
                format!("a `,` before `{close}` is not allowed in JSON"),
            )
            .help("remove it"));
        }
        Ok(false)
    }

    fn number(&mut self) -> Read<Number> {
        let start = self.at;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '+' | '-')))
            .unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        self.at += end;
        if !is_number(text) {
            return Err(SyntaxError::new(
                self.range(start),
                format!("`{text}` is not a number in JSON"),
            ));
        }
        Number::from_str(text)
            .map_err(|_| SyntaxError::new(self.range(start), format!("`{text}` is not a number")))
    }

    fn string(&mut self) -> Read<String> {
        let opened = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest
                .find(['"', '\\', '\n', '\r', '\t'])
                .unwrap_or(rest.len());
            text.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                Some('\t') => return Err(self.here("a tab in text is written `\\t` in JSON")),
                _ => {
                    return Err(
                        SyntaxError::new(opened..opened + 1, "this text is never closed")
                            .help("add the missing `\"`; a line break in text is written `\\n`"),
                    );
                }
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += letter.map_or(0, char::len_utf8);
        Ok(match letter {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(start),
            _ => {
                return Err(SyntaxError::new(
                    self.range(start),
                    "this escape does not exist in JSON",
                ));
            }
        })
    }

    fn unicode(&mut self, start: usize) -> Read<char> {
        let first = self.unit();
        let code = match first {
            Some(high @ 0xD800..=0xDBFF) if self.rest().starts_with("\\u") => {
                self.at += 2;
                let low = self.unit().filter(|low| (0xDC00..=0xDFFF).contains(low));
                low.map(|low| 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
            }
            other => other,
        };
        code.and_then(char::from_u32)
            .ok_or_else(|| SyntaxError::new(self.range(start), "this escape is not a character"))
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self
            .rest()
            .get(..4)
            .filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

/// Returns the error for a duplicate key.
pub(super) fn duplicate(entry: &Entry) -> SyntaxError {
    let at = entry.key_span.start..entry.key_span.end;
    SyntaxError::new(at, format!("the key `{}` is duplicated here", entry.key))
        .code("duplicate_key")
        .help("remove one of the two")
}

/// Returns whether `text` is a number in the grammar of JSON.
pub(super) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::parse;

    /// Compares with serde_json's strict parser: the same texts must be accepted, with the same values.
    fn check(text: &str) {
        let ours = parse(text, 0).map(|node| node.to_value());
        let theirs: Result<Value, _> = serde_json::from_str(text);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
            (Err(_), Err(_)) => {}
            // It keeps the last of two equal keys.
            (Err(ours), Ok(_)) => {
                assert_eq!(ours.code, "duplicate_key", "{text}: {}", ours.message)
            }
            (Ok(_), Err(theirs)) => assert!(theirs.to_string().is_empty(), "{text}: {theirs}"),
        }
    }

    #[test]
    fn the_corners_of_the_grammar_are_those_of_json() {
        let numbers = [
            "0", "-0", "01", "1.", ".5", "1.5", "1e5", "1E+5", "1e", "-", "+1", "1_0", "0x1",
            "NaN", "1.0e-7",
        ];
        let words = ["true", "false", "null", "True", "nul", "nulll", "undefined"];
        let texts = [
            r#""""#,
            r#""\u0041\n\/""#,
            r#""\r\t\b\f\\\"""#,
            r#""\ud83d\ude00""#,
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\u12""#,
            r#""\x""#,
            "\"a\tb\"",
            "\"a\nb\"",
            r#""a"#,
            "'a'",
        ];
        let shapes = [
            "",
            " ",
            "[]",
            "[ ]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "{\"a\":}",
            "[1]]",
            "{\"a\":1}}",
            "{\"a\":1,\"a\":2}",
            "[1] x",
            "// c\n1",
            "1 /* c */",
            "\t\r\n 1 ",
        ];
        for text in numbers.iter().chain(&words).chain(&texts).chain(&shapes) {
            check(text);
            check(&format!("[{text}]"));
            check(&format!("{{\"k\": {text}}}"));
        }
    }

    proptest! {
        #[test]
        fn any_text_of_signs_is_read_as_json_says(text in r#"[\[\]{},: \na"\\u0-9eE.+-]{0,16}"#) {
            check(&text);
        }

        #[test]
        fn any_value_is_read_as_it_was_written(
            keys in prop::collection::vec("\\PC{0,5}", 0..4),
            number in any::<f64>().prop_filter("finite", |number| number.is_finite()),
            whole in any::<i128>(),
            text in "[^\\p{Cc}]{0,8}",
        ) {
            let value = serde_json::json!({ "n": number, "t": text, "k": keys });
            check(&value.to_string());
            check(&serde_json::to_string_pretty(&value).unwrap_or_default());
            check(&whole.to_string());
        }
    }
}
