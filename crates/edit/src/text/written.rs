//! Writes values in the style of the rest of the file.

use std::fmt::Write as _;

use interlock_core::visible::steers;
use interlock_formats::{Tree, is_block, yaml_key, yaml_scalar};
use serde_json::Value;

/// The number of columns up to which a list of words is written on one line.
const LINE_MAX: usize = 100;

/// The style of a file.
#[derive(Debug, Clone)]
pub(super) struct Style {
    pub(super) is_json: bool,
    /// The line break.
    pub(super) line: &'static str,
    /// The number of blanks per level of indentation.
    pub(super) step: usize,
    /// The same as text: a tab in a JSON file that is indented with tabs.
    pub(super) step_text: String,
    /// Whether the dashes of a list are indented more than its key.
    pub(super) lists_further_in: bool,
    /// Whether it has more than one line.
    pub(super) has_lines: bool,
    /// The text between a key in braces and its value.
    pub(super) colon: &'static str,
}

impl Style {
    pub(super) fn of(text: &str, tree: &Tree) -> Self {
        let body = text.trim();
        let spaced = !tree.is_json || body.contains('\n') || body.contains("\": ");
        Self {
            is_json: tree.is_json,
            line: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: step(text),
            step_text: step_text(text, tree.is_json),
            lists_further_in: lists_further_in(text),
            has_lines: body.contains('\n'),
            colon: if spaced { ": " } else { ":" },
        }
    }

    /// Writes a key with the quotes of another one.
    pub(super) fn key_like(&self, key: &str, old: &str) -> String {
        if self.is_json || old.starts_with('"') {
            return json(key);
        }
        single_like(key, old).unwrap_or_else(|| yaml_key(key))
    }

    pub(super) fn key(&self, key: &str) -> String {
        if self.is_json {
            json(key)
        } else {
            yaml_key(key)
        }
    }

    /// Writes a scalar; text gets the quotes of another one.
    pub(super) fn scalar_like(&self, value: &Value, old: &str) -> String {
        match value {
            Value::String(text) if self.is_json || old.starts_with('"') => {
                if self.is_json {
                    json(text)
                } else {
                    quoted(text)
                }
            }
            Value::String(text) => single_like(text, old).unwrap_or_else(|| self.in_line(value)),
            other => self.in_line(other),
        }
    }

    /// Writes a value on one line.
    pub(super) fn in_line(&self, value: &Value) -> String {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let items: Vec<String> = items.iter().map(|item| self.in_line(item)).collect();
                format!("[{}]", items.join(self.comma()))
            }
            Value::Object(map) if !map.is_empty() => {
                let entries: Vec<String> = map
                    .iter()
                    .map(|(key, value)| {
                        format!("{}{}{}", self.key(key), self.colon, self.in_line(value))
                    })
                    .collect();
                format!("{{{}}}", entries.join(self.comma()))
            }
            Value::String(text) if self.is_json => json(text),
            other if self.is_json => other.to_string(),
            other => yaml_scalar(other),
        }
    }

    pub(super) fn comma(&self) -> &'static str {
        if self.colon == ":" { "," } else { ", " }
    }

    /// Writes a value within brackets or braces: over several lines if the JSON file does so.
    pub(super) fn in_flow(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.step_text);
        let (open, close, children): (char, char, Vec<String>) = match value {
            Value::Object(map) if self.is_json && self.has_lines && !map.is_empty() => {
                let entries = map.iter().map(|(key, value)| {
                    let value = self.in_flow(value, &inner);
                    format!("{}{}{value}", json(key), self.colon)
                });
                ('{', '}', entries.collect())
            }
            Value::Array(items)
                if self.is_json
                    && self.has_lines
                    && self.flat(value).is_none()
                    && !items.is_empty() =>
            {
                let items = items.iter().map(|item| self.in_flow(item, &inner));
                ('[', ']', items.collect())
            }
            other => return self.in_line(other),
        };
        let line = self.line;
        let children = children.join(&format!(",{line}{inner}"));
        format!("{open}{line}{inner}{children}{line}{indent}{close}")
    }

    /// Returns a scalar, an empty list or map, or a short list of scalars on one line.
    pub(super) fn flat(&self, value: &Value) -> Option<String> {
        match value {
            Value::Object(map) if !map.is_empty() => None,
            Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => {
                None
            }
            Value::String(text) if !self.is_json && is_block(text) => None,
            Value::Array(_) => Some(self.in_line(value)).filter(|line| line.len() <= LINE_MAX),
            other => Some(self.in_line(other)),
        }
    }

    /// Writes what follows a colon or a dash, with the blank or line break before it; `indent` is that of the parent.
    pub(super) fn behind_key(&self, value: &Value, indent: usize) -> String {
        if let Some(flat) = self.flat(value) {
            return format!(" {flat}");
        }
        if let Value::String(text) = value {
            return format!(" {}", self.block_text(text, indent + self.step));
        }
        let further = !value.is_array() || self.lists_further_in;
        let indent = if further { indent + self.step } else { indent };
        format!("{}{}", self.line, self.block(value, indent))
    }

    /// Writes what follows the dash of a list.
    pub(super) fn behind_dash(&self, value: &Value, indent: usize) -> String {
        if let Some(flat) = self.flat(value) {
            return format!(" {flat}");
        }
        if let Value::String(text) = value {
            return format!(" {}", self.block_text(text, indent + 2));
        }
        let block = self.block(value, indent + 2);
        format!(" {}", block.trim_start_matches(' '))
    }

    /// Writes a list or map as lines, the last one without a line break.
    pub(super) fn block(&self, value: &Value, indent: usize) -> String {
        let blanks = " ".repeat(indent);
        let lines: Vec<String> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{blanks}{}:{}",
                        self.key(key),
                        self.behind_key(value, indent)
                    )
                })
                .collect(),
            Value::Array(items) => items
                .iter()
                .map(|item| format!("{blanks}-{}", self.behind_dash(item, indent)))
                .collect(),
            other => vec![format!("{blanks}{}", self.in_line(other))],
        };
        lines.join(self.line)
    }

    fn block_text(&self, text: &str, indent: usize) -> String {
        let head = if text.ends_with('\n') { "|" } else { "|-" };
        let inner = text.strip_suffix('\n').unwrap_or(text);
        let blanks = " ".repeat(indent);
        let lines = inner.split('\n').map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{blanks}{line}")
            }
        });
        let lines: Vec<String> = std::iter::once(head.to_owned()).chain(lines).collect();
        lines.join(self.line)
    }
}

fn json(text: &str) -> String {
    let mut written = String::new();
    for letter in Value::String(text.to_owned()).to_string().chars() {
        if steers(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(written, "\\u{unit:04x}");
            }
        } else {
            written.push(letter);
        }
    }
    written
}

/// Writes a text in YAML double quotes.
fn quoted(text: &str) -> String {
    // A text that must not be plain is written in quotes.
    let marked = yaml_scalar(&Value::String(format!("{text}\u{1}")));
    marked
        .strip_suffix("\\u0001\"")
        .map_or_else(|| json(text), |begin| format!("{begin}\""))
}

/// Writes a text in single quotes if the old one is in single quotes and the text needs no escapes.
fn single_like(text: &str, old: &str) -> Option<String> {
    let fits = old.starts_with('\'')
        && !text
            .chars()
            .any(|letter| letter.is_control() || steers(letter));
    fits.then(|| format!("'{}'", text.replace('\'', "''")))
}

/// Returns the number of blanks by which most lines are indented more than those above them.
fn step(text: &str) -> usize {
    let mut counts = [0_usize; 9];
    let mut above = 0;
    for line in text.lines() {
        let words = line.trim_start_matches(' ');
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let indent = line.len() - words.len();
        if let Some(count) = indent
            .checked_sub(above)
            .filter(|step| *step > 0)
            .and_then(|step| counts.get_mut(step))
        {
            *count += 1;
        }
        above = indent;
    }
    let steps = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    steps
        .max_by_key(|(step, count)| (**count, 9 - *step))
        .map_or(2, |(step, _)| step)
}

fn lists_further_in(text: &str) -> bool {
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .peekable();
    while let Some(line) = lines.next() {
        let Some(next) = lines.peek() else { break };
        let opens = line.trim_end().ends_with(':') && !line.trim_start().starts_with('-');
        if opens && next.trim_start().starts_with("- ") {
            let indent = |line: &str| line.len() - line.trim_start().len();
            return indent(next) > indent(line);
        }
    }
    true
}

/// Returns the indentation of one level as text.
fn step_text(text: &str, is_json: bool) -> String {
    let tabs = is_json && text.lines().any(|line| line.starts_with('\t'));
    if tabs {
        "\t".to_owned()
    } else {
        " ".repeat(step(text))
    }
}
