//! Python literals, which models sometimes write in place of JSON.

use serde_json::{Map, Number, Value};

/// Maximum nesting of lists and maps.
const DEPTH_MAX: usize = 64;

/// Parses a text that consists of one literal.
pub(super) fn whole(text: &str) -> Option<Value> {
    let (value, rest) = first(text)?;
    rest.trim().is_empty().then_some(value)
}

/// Parses the literal at the beginning of a text, and returns the rest of the text.
pub(super) fn first(text: &str) -> Option<(Value, &str)> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    Some((value, reader.rest))
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, mark: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.skip();
        match self.rest.chars().next()? {
            '{' => self.braces(depth),
            '[' => {
                self.take("[");
                Some(Value::Array(self.items(None, "]", depth)?))
            }
            '(' => self.parenthesis(depth),
            '\'' | '"' => self.texts(),
            letter if letter.is_alphabetic() => self.word(),
            _ => self.number(),
        }
    }

    /// Parses items up to the closing mark; a comma may precede it.
    fn items(&mut self, first: Option<Value>, close: &str, depth: usize) -> Option<Vec<Value>> {
        let mut items: Vec<Value> = first.into_iter().collect();
        loop {
            if self.take(close) {
                return Some(items);
            }
            items.push(self.value(depth + 1)?);
            if !self.take(",") {
                return self.take(close).then_some(items);
            }
        }
    }

    fn parenthesis(&mut self, depth: usize) -> Option<Value> {
        self.take("(");
        if self.take(")") {
            return Some(Value::Array(Vec::new()));
        }
        let first = self.value(depth + 1)?;
        if self.take(")") {
            return Some(first);
        }
        let items = self
            .take(",")
            .then(|| self.items(Some(first), ")", depth))?;
        items.map(Value::Array)
    }

    fn braces(&mut self, depth: usize) -> Option<Value> {
        self.take("{");
        let mut fields = Map::new();
        if self.take("}") {
            return Some(Value::Object(fields));
        }
        let first = self.value(depth + 1)?;
        if !self.take(":") {
            // A set.
            let more = self.take(",");
            return match more {
                true => self.items(Some(first), "}", depth).map(Value::Array),
                false => self.take("}").then(|| Value::Array(vec![first])),
            };
        }
        let value = self.value(depth + 1)?;
        fields.insert(key(&first)?, value);
        while self.take(",") {
            if self.take("}") {
                return Some(Value::Object(fields));
            }
            let name = self.value(depth + 1)?;
            let name = self.take(":").then(|| key(&name))??;
            let value = self.value(depth + 1)?;
            fields.insert(name, value);
        }
        self.take("}").then_some(Value::Object(fields))
    }

    /// Parses adjacent string literals, which Python concatenates.
    fn texts(&mut self) -> Option<Value> {
        let mut text = String::new();
        while let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            self.text(quote, &mut text)?;
            let after = self.rest.trim_start();
            if !after.starts_with(['\'', '"']) {
                break;
            }
            self.rest = after;
        }
        Some(Value::String(text))
    }

    fn text(&mut self, quote: char, into: &mut String) -> Option<()> {
        let triple = [quote; 3].iter().collect::<String>();
        let (close, many) = match self.rest.starts_with(&triple) {
            true => (triple, true),
            false => (quote.to_string(), false),
        };
        let mut rest = self.rest.strip_prefix(&close)?;
        loop {
            if let Some(after) = rest.strip_prefix(&close) {
                self.rest = after;
                return Some(());
            }
            let mut letters = rest.chars();
            match letters.next()? {
                '\\' => {
                    rest = letters.as_str();
                    rest = escape(rest, into)?;
                }
                '\n' if !many => return None,
                letter => {
                    into.push(letter);
                    rest = letters.as_str();
                }
            }
        }
    }

    fn word(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Value> {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
        let end = self.rest.find(|c| !known(c)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at_checked(end)?;
        let written = text.strip_prefix('+').unwrap_or(text);
        let number = written.parse::<Number>().ok().or_else(|| {
            // `1.` and `.5` are numbers to Python only.
            let digits = written.bytes().any(|byte| byte.is_ascii_digit());
            let plain = written.bytes().all(|byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'e' | b'E' | b'+')
            });
            let value = written.parse::<f64>().ok().filter(|_| digits && plain)?;
            let whole = written
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            // Leading zeros are not a number to Python.
            Number::from_f64(value).filter(|_| !whole)
        })?;
        self.rest = rest;
        Some(Value::Number(number))
    }
}

/// Parses what follows a backslash.
fn escape<'t>(rest: &'t str, into: &mut String) -> Option<&'t str> {
    let mut letters = rest.chars();
    let letter = letters.next()?;
    let after = letters.as_str();
    let count = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => {
            match letter {
                'n' => into.push('\n'),
                't' => into.push('\t'),
                'r' => into.push('\r'),
                '0' => into.push('\0'),
                '\\' | '\'' | '"' => into.push(letter),
                '\n' => {}
                other => into.extend(['\\', other]),
            }
            return Some(after);
        }
    };
    let (digits, after) = after.split_at_checked(count)?;
    into.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
    Some(after)
}

/// Converts a key to text.
fn key(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Null => Some("None".to_owned()),
        _ => None,
    }
}
