//! Edits of a JSON text that leave every byte of others where it is.
//!
//! A member or item is put in behind the last one, in the style of its
//! surroundings, and taken out with just the comma and blanks it came with: what
//! is put in and taken out again leaves the text as it was. Strict JSON only,
//! as the client reads it.

use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};

/// A value in a text, by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    start: usize,
    end: usize,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    start: usize,
    key: String,
    value: Node,
}

/// One step down into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At<'a> {
    Key(&'a str),
    Index(usize),
}

/// Why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1; the column in characters.
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}

/// A JSON text being edited.
#[derive(Debug, Clone)]
pub(super) struct Text {
    text: String,
    root: Node,
}

impl Text {
    /// Reads a text.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        serde_json::from_str::<Value>(text).map_err(|error| {
            // The place is told apart from the reason.
            let reason = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let reason = reason.strip_suffix(&place).unwrap_or(&reason);
            Fault {
                line: error.line(),
                column: error.column().max(1),
                reason: format!("not JSON: {reason}"),
            }
        })?;
        let mut scanner = Scanner { text, at: 0 };
        let root = scanner.node();
        root.map(|root| Self {
            text: text.to_owned(),
            root,
        })
        .ok_or_else(|| Fault {
            line: 1,
            column: 1,
            reason: "not JSON".to_owned(),
        })
    }

    /// Returns the text as it is now.
    pub(super) fn into_string(self) -> String {
        self.text
    }

    /// Returns the value at `path`, if there is one.
    pub(super) fn value(&self, path: &[At<'_>]) -> Option<Value> {
        let node = self.node(path)?;
        serde_json::from_str(self.text.get(node.start..node.end)?).ok()
    }

    /// Returns where the value at `path` begins, to be named in a message.
    pub(super) fn fault(&self, path: &[At<'_>], reason: String) -> Fault {
        let start = self.node(path).map_or(0, |node| node.start);
        self.fault_at(start, reason)
    }

    fn fault_at(&self, start: usize, reason: String) -> Fault {
        let before = self.text.get(..start).unwrap_or_default();
        let last = before.rsplit('\n').next().unwrap_or_default();
        Fault {
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            reason,
        }
    }

    /// Finds a key that stands twice in the object at `path`: readers differ about which counts.
    pub(super) fn twice(&self, path: &[At<'_>]) -> Option<Fault> {
        let What::Object(members) = &self.node(path)?.what else {
            return None;
        };
        let mut seen = std::collections::BTreeSet::new();
        let again = members.iter().find(|member| !seen.insert(&member.key))?;
        let reason = format!("`{}` stands there twice", again.key);
        Some(self.fault_at(again.start, reason))
    }

    fn node(&self, path: &[At<'_>]) -> Option<&Node> {
        path.iter()
            .try_fold(&self.root, |node, step| match (&node.what, step) {
                (What::Object(members), At::Key(key)) => members
                    .iter()
                    .find(|member| member.key == *key)
                    .map(|member| &member.value),
                (What::Array(items), At::Index(index)) => items.get(*index),
                _ => None,
            })
    }

    /// Puts a member behind the last one of the object at `path`.
    pub(super) fn add_member(&mut self, path: &[At<'_>], key: &str, value: &Value) {
        self.add(path, Some(key), value);
    }

    /// Puts an item behind the last one of the list at `path`.
    pub(super) fn add_item(&mut self, path: &[At<'_>], value: &Value) {
        self.add(path, None, value);
    }

    fn add(&mut self, path: &[At<'_>], key: Option<&str>, value: &Value) {
        let Some(node) = self.node(path) else { return };
        let style = self.style(node);
        let written = style.write(key, value);
        let (at, put) = match node.extents().last() {
            Some(&(_, end)) => (end, format!(",{}{written}", style.between)),
            None => {
                // What stood between the brackets was blank.
                let inside = node.start + 1..node.end - 1;
                let put = format!("{}{written}{}", style.between, style.behind);
                self.replace(inside, &put);
                return;
            }
        };
        self.replace(at..at, &put);
    }

    /// Puts another value in the place of the one at `path`.
    pub(super) fn set(&mut self, path: &[At<'_>], value: &Value) {
        let Some((_, parents)) = path.split_last() else {
            return;
        };
        let (Some(node), Some(parent)) = (self.node(path), self.node(parents)) else {
            return;
        };
        let written = self.style(parent).write(None, value);
        self.replace(node.start..node.end, &written);
    }

    /// Takes the value at `path` out, with its key and its comma.
    pub(super) fn remove(&mut self, path: &[At<'_>]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let Some(parent) = self.node(parents) else {
            return;
        };
        let extents = parent.extents();
        let index = match (&parent.what, last) {
            (What::Object(members), At::Key(key)) => {
                members.iter().position(|member| member.key == *key)
            }
            (What::Array(_), At::Index(index)) => Some(*index),
            _ => None,
        };
        let Some((index, &(start, end))) =
            index.and_then(|index| Some((index, extents.get(index)?)))
        else {
            return;
        };
        let before = index.checked_sub(1).and_then(|before| extents.get(before));
        let range = match (before, extents.get(index + 1)) {
            (Some(&(_, before)), _) => before..end,
            (None, Some(&(next, _))) => start..next,
            (None, None) => parent.start + 1..parent.end - 1,
        };
        self.replace(range, "");
    }

    fn replace(&mut self, range: std::ops::Range<usize>, put: &str) {
        self.text.replace_range(range, put);
        // INVARIANT: what is put in is JSON, so the text can be read again.
        if let Some(root) = (Scanner {
            text: &self.text,
            at: 0,
        })
        .node()
        {
            self.root = root;
        }
    }

    /// Finds out how what lies in `container` is written.
    fn style(&self, container: &Node) -> Style {
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let unit = self.unit();
        let extents = container.extents();
        let blank = extents
            .first()
            .and_then(|&(first, _)| self.text.get(container.start + 1..first).map(str::to_owned));
        let line = self.line_indent(container.start);
        let spread = match &blank {
            Some(blank) => blank.contains('\n'),
            None => self.spread(),
        };
        if spread {
            let inner = match &blank {
                Some(blank) => blank.rsplit('\n').next().unwrap_or_default().to_owned(),
                None => format!("{line}{unit}"),
            };
            return Style {
                between: format!("{newline}{inner}"),
                behind: format!("{newline}{line}"),
                lines: Some(Lines {
                    indent: inner,
                    unit,
                    newline,
                }),
                colon: ": ",
            };
        }
        let colon = if self.text.contains("\":") && !self.text.contains("\": ") {
            ":"
        } else {
            ": "
        };
        let air = if colon == ":" { "" } else { " " };
        let between = match extents.as_slice() {
            [(_, first), (second, _), ..] => {
                let gap = self.text.get(*first..*second).unwrap_or_default();
                gap.trim_start().strip_prefix(',').unwrap_or(air).to_owned()
            }
            [_] => air.to_owned(),
            [] => String::new(),
        };
        Style {
            between,
            behind: String::new(),
            lines: None,
            colon,
        }
    }

    /// Tells whether the text has its members on lines of their own; an empty one will have.
    fn spread(&self) -> bool {
        match self.root.extents().first() {
            Some(&(first, _)) => self
                .text
                .get(self.root.start..first)
                .is_some_and(|blank| blank.contains('\n')),
            None => true,
        }
    }

    /// Returns the blanks by which one level is set in.
    fn unit(&self) -> String {
        let first = self.root.extents().first().map(|&(start, _)| start);
        let indent = first
            .map(|start| self.line_indent(start))
            .unwrap_or_default();
        let outer = self.line_indent(self.root.start);
        match indent.strip_prefix(&outer) {
            Some(unit) if !unit.is_empty() => unit.to_owned(),
            _ => "  ".to_owned(),
        }
    }

    /// Returns the blanks that begin the line in which `at` lies.
    fn line_indent(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect()
    }
}

impl Node {
    /// Returns the bytes of each member or item, keys included.
    fn extents(&self) -> Vec<(usize, usize)> {
        match &self.what {
            What::Object(members) => members
                .iter()
                .map(|member| (member.start, member.value.end))
                .collect(),
            What::Array(items) => items.iter().map(|item| (item.start, item.end)).collect(),
            What::Other => Vec::new(),
        }
    }
}

/// How what lies in one object or list is written.
struct Style {
    /// Stands before each member or item.
    between: String,
    /// Stands behind the last one, where there was none.
    behind: String,
    /// Set where every member has a line of its own.
    lines: Option<Lines>,
    colon: &'static str,
}

struct Lines {
    indent: String,
    unit: String,
    newline: &'static str,
}

impl Style {
    fn write(&self, key: Option<&str>, value: &Value) -> String {
        let key = key.map_or_else(String::new, |key| {
            format!("{}{}", Value::from(key), self.colon)
        });
        let Some(lines) = &self.lines else {
            return format!("{key}{}", self.flat(value));
        };
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(lines.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        if value.serialize(&mut serializer).is_err() {
            return format!("{key}{value}");
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|_| value.to_string());
        let next = format!("{}{}", lines.newline, lines.indent);
        format!("{key}{}", text.replace('\n', &next))
    }

    /// Writes a value on one line, with the air of its surroundings.
    fn flat(&self, value: &Value) -> String {
        let air = if self.colon == ":" { "" } else { " " };
        let comma = format!(",{air}");
        match value {
            Value::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        format!(
                            "{}{}{}",
                            Value::from(key.as_str()),
                            self.colon,
                            self.flat(value)
                        )
                    })
                    .collect();
                format!("{{{}}}", members.join(&comma))
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flat(item)).collect();
                format!("[{}]", items.join(&comma))
            }
            other => other.to_string(),
        }
    }
}

/// Finds the bytes of each value in a text that is known to be JSON.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn node(&mut self) -> Option<Node> {
        self.blank();
        let start = self.at;
        let what = match self.peek()? {
            b'{' => self.object()?,
            b'[' => self.array()?,
            b'"' => {
                self.string()?;
                What::Other
            }
            _ => {
                while self
                    .peek()
                    .is_some_and(|byte| !b",]} \t\r\n".contains(&byte))
                {
                    self.at += 1;
                }
                What::Other
            }
        };
        let end = self.at;
        Some(Node { start, end, what })
    }

    fn object(&mut self) -> Option<What> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.blank();
            match self.peek()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let start = self.at;
                    let key = self.string()?;
                    self.blank();
                    // The colon.
                    self.at += 1;
                    let value = self.node()?;
                    members.push(Member { start, key, value });
                }
            }
        }
        self.at += 1;
        Some(What::Object(members))
    }

    fn array(&mut self) -> Option<What> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank();
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.node()?),
            }
        }
        self.at += 1;
        Some(What::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
