//! Writes a value as YAML 1.2, in blocks, so that it parses as the same value.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Maximum number of columns of a list of words on one line.
const LINE_MAX: usize = 100;

/// Words that are not text without quotes, here or in YAML 1.1.
const WORDS: [&str; 11] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// Writes a value as a file.
pub(crate) fn written(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => map_at(map, 0, &mut text),
        Value::Array(items) if !items.is_empty() => list_at(items, 0, &mut text),
        other => {
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
    text
}

fn map_at(map: &Map<String, Value>, depth: usize, text: &mut String) {
    for (key, value) in map {
        indent(depth, text);
        text.push_str(&key_of(key));
        text.push(':');
        value_at(value, depth, text);
    }
}

fn list_at(items: &[Value], depth: usize, text: &mut String) {
    for item in items {
        indent(depth, text);
        text.push('-');
        value_at(item, depth, text);
    }
}

/// Writes the value after a key or a dash.
fn value_at(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            map_at(map, depth + 1, text);
        }
        Value::Array(items) if !items.is_empty() => match in_line(items) {
            Some(line) => {
                let _ = writeln!(text, " {line}");
            }
            None => {
                text.push('\n');
                list_at(items, depth + 1, text);
            }
        },
        Value::String(words) if is_block(words) => block(words, depth + 1, text),
        other => {
            let _ = writeln!(text, " {}", scalar(other));
        }
    }
}

/// Returns a list of short scalars as one line.
fn in_line(items: &[Value]) -> Option<String> {
    let scalars: Option<Vec<String>> = items
        .iter()
        .map(|item| match item {
            Value::Object(_) | Value::Array(_) => None,
            other => Some(scalar(other)),
        })
        .collect();
    let line = format!("[{}]", scalars?.join(", "));
    (line.len() <= LINE_MAX).then_some(line)
}

/// Returns whether a text has several lines that a block preserves.
#[must_use]
pub fn is_block(text: &str) -> bool {
    let plain = |letter: char| letter == '\n' || !is_hidden(letter);
    let inner = text.strip_suffix('\n').unwrap_or(text);
    inner.contains('\n')
        && !inner.ends_with('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.chars().all(plain)
        // A line of blanks might be mistaken for an empty one.
        && inner.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
}

fn block(words: &str, depth: usize, text: &mut String) {
    text.push_str(if words.ends_with('\n') {
        " |\n"
    } else {
        " |-\n"
    });
    let inner = words.strip_suffix('\n').unwrap_or(words);
    for line in inner.split('\n') {
        if !line.is_empty() {
            indent(depth, text);
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn indent(depth: usize, text: &mut String) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}

/// Writes a text as the key of a map.
#[must_use]
pub fn key_of(key: &str) -> String {
    // The name of a field of every state, which is text in YAML 1.2.
    if key == "on" {
        return key.to_owned();
    }
    word(key)
}

/// Writes a scalar, or an empty list or map, on one line.
#[must_use]
pub fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// Writes a text without quotes if it cannot be mistaken for anything else.
fn word(text: &str) -> String {
    let begins = text
        .chars()
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./ ".contains(letter);
    let reserved = WORDS.contains(&text.to_ascii_lowercase().as_str());
    if begins && text.chars().all(plain) && !text.ends_with(' ') && !reserved {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if is_hidden(letter) => {
                let _ = match u32::from(letter) {
                    code @ 0..=0xffff => write!(quoted, "\\u{code:04x}"),
                    code => write!(quoted, "\\U{code:08x}"),
                };
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether a character is invisible, or special for a parser.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || interlock_core::visible::steers(letter)
        || matches!(
            letter,
            '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::written;
    use crate::{
        diagnostic::Report,
        parse::parse,
        source::{Files, Source},
    };

    fn read(text: &str) -> Value {
        let mut files = Files::default();
        let file = files.add(Source::new("a.yaml", text));
        let mut report = Report::default();
        let tree = parse(&files, file, &mut report);
        assert!(!report.has_errors(), "cannot be read:\n{text}");
        tree.unwrap().to_value()
    }

    #[test]
    fn a_value_is_written_as_people_write_it() {
        let value = json!({
            "id": "flow", "max": 3, "on": {"GO": "done"}, "list": ["a", "yes", "b c"],
            "long": [{"a": 1}, []], "text": "one\ntwo\n", "none": {}, "odd": "a: b", "empty": "",
        });
        let wanted = "id: flow\nmax: 3\non:\n  GO: done\nlist: [a, \"yes\", b c]\nlong:\n  -\n    a: 1\n  - []\n\
                      text: |\n  one\n  two\nnone: {}\nodd: \"a: b\"\nempty: \"\"\n";
        assert_eq!(written(&value), wanted);
        assert_eq!(read(wanted), value);
    }

    fn text() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            "yes",
            "On",
            "null",
            "~",
            "0x1f",
            "1e3",
            "- a",
            "a: b",
            "a #b",
            " lead",
            "trail ",
            "a\nb",
            "a\nb\n",
            "\na",
            "a\n\n",
            "a\n \nb",
            "a\n  b\nc",
            "\ta\nb",
            "'",
            "\"",
            "\\",
            "{{ x }}",
            "[",
            "%",
            "@a",
            "`",
            "---",
            "...",
            "\u{feff}",
            "\u{85}",
            "\u{1}",
            "\u{2028}x\ny",
            "\u{1f600}",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "<<",
            "=",
        ]);
        prop_oneof![
            odd.prop_map(str::to_owned),
            any::<String>(),
            "[a-z \n]{0,12}"
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                // A merge key has another meaning.
                prop::collection::vec((text(), inner), 0..5).prop_map(|entries| {
                    let entries = entries.into_iter().filter(|(key, _)| key != "<<");
                    Value::Object(entries.collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn what_is_written_is_read_back(value in value()) {
            prop_assert_eq!(read(&written(&value)), value);
        }
    }
}
