//! Edits of a JSON text that leave every other byte unchanged.
//!
//! A member or item is added after the last one, in the style of its surroundings, and removed with just the comma and blanks
//! that were added: adding and removing again restores the text. The client that reads the file determines which extensions of
//! JSON are allowed.

mod scan;
mod style;

use serde_json::Value;

use super::EditError;
pub(crate) use scan::Syntax;
use scan::{Clean, Node, What, scan};
use style::{Lines, Style};

/// One step down into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At<'a> {
    Key(&'a str),
    Index(usize),
}

/// A JSON text being edited.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    text: String,
    clean: Clean,
    syntax: Syntax,
    root: Node,
}

impl Text {
    /// Reads a text.
    pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Self, EditError> {
        let clean = Clean::of(text, syntax);
        serde_json::from_str::<Value>(&clean.strict).map_err(|error| {
            // The position is separated from the reason.
            let reason = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let reason = reason.strip_suffix(&place).unwrap_or(&reason);
            EditError {
                line: error.line(),
                column: in_characters(text, error.line(), error.column()),
                reason: format!("not JSON: {reason}"),
            }
        })?;
        let root = scan(&clean.values).ok_or_else(|| EditError {
            line: 1,
            column: 1,
            reason: "not JSON".to_owned(),
        })?;
        Ok(Self {
            text: text.to_owned(),
            clean,
            syntax,
            root,
        })
    }

    /// Parses a file that must contain one object; a missing file counts as an empty object.
    pub(crate) fn of_file(text: Option<&str>, syntax: Syntax) -> Result<(Self, Value), EditError> {
        let text = text.filter(|text| !text.trim_start_matches('\u{feff}').trim().is_empty());
        let text = Self::parse(text.unwrap_or("{}\n"), syntax)?;
        match text.value(&[]) {
            Some(settings @ Value::Object(_)) => match text.twice(&[]) {
                Some(fault) => Err(fault),
                None => Ok((text, settings)),
            },
            _ => Err(text.fault(&[], "not an object".to_owned())),
        }
    }

    /// Returns the text in its present form.
    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Returns the value at `path`, if there is one.
    pub(crate) fn value(&self, path: &[At<'_>]) -> Option<Value> {
        let node = self.node(path)?;
        serde_json::from_str(self.clean.strict.get(node.start..node.end)?).ok()
    }

    /// Returns an error at the position of the value at `path`.
    pub(crate) fn fault(&self, path: &[At<'_>], reason: String) -> EditError {
        let start = self.node(path).map_or(0, |node| node.start);
        EditError::at(&self.text, start, reason)
    }

    /// Finds a duplicate key in the object at `path`: parsers differ about which one counts.
    pub(crate) fn twice(&self, path: &[At<'_>]) -> Option<EditError> {
        let What::Object(members) = &self.node(path)?.what else {
            return None;
        };
        let mut seen = std::collections::BTreeSet::new();
        let again = members.iter().find(|member| !seen.insert(&member.key))?;
        let reason = format!("`{}` stands there twice", again.key);
        Some(EditError::at(&self.text, again.start, reason))
    }

    /// Ensures that there is an object under the keys of `path`.
    pub(crate) fn object_at(&mut self, path: &[&str]) -> Result<(), EditError> {
        self.container_at(path, &Value::Object(serde_json::Map::new()), "an object")
    }

    /// Ensures that there is a list under the last key of `path`, and objects above it.
    pub(crate) fn list_at(&mut self, path: &[&str]) -> Result<(), EditError> {
        if let Some((_, above)) = path.split_last() {
            self.object_at(above)?;
        }
        self.container_at(path, &Value::Array(Vec::new()), "a list")
    }

    fn container_at(&mut self, path: &[&str], empty: &Value, kind: &str) -> Result<(), EditError> {
        if let Some((last, above)) = path.split_last() {
            if kind == "an object" {
                self.object_at(above)?;
            }
            let above: Vec<At<'_>> = above.iter().map(|key| At::Key(key)).collect();
            let here: Vec<At<'_>> = path.iter().map(|key| At::Key(key)).collect();
            match self.value(&here) {
                None => self.add_member(&above, last, empty),
                Some(found) if std::mem::discriminant(&found) == std::mem::discriminant(empty) => {}
                Some(_) => {
                    let reason = format!("`{}` is not {kind}", path.join("."));
                    return Err(self.fault(&here, reason));
                }
            }
            return self.twice(&here).map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Removes the value at `path` if it is empty.
    pub(crate) fn remove_if_empty(&mut self, path: &[At<'_>]) {
        let empty = match self.value(path) {
            Some(Value::Object(members)) => members.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if empty && !self.has_comment_in(path) {
            self.remove(path);
        }
    }

    /// Returns whether nothing at all is left, not even a comment.
    pub(crate) fn is_bare(&self) -> bool {
        let empty = matches!(&self.root.what, What::Object(members) if members.is_empty());
        let rest = self.text.trim_start_matches('\u{feff}').trim();
        empty && !rest.contains("//") && !rest.contains("/*")
    }

    fn has_comment_in(&self, path: &[At<'_>]) -> bool {
        self.node(path).is_some_and(|node| {
            let inside = self.text.get(node.start + 1..node.end - 1);
            inside.is_some_and(|inside| !inside.trim().is_empty())
        })
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

    /// Adds a member after the last one of the object at `path`.
    pub(crate) fn add_member(&mut self, path: &[At<'_>], key: &str, value: &Value) {
        self.add(path, Some(key), value);
    }

    /// Adds an item after the last one of the list at `path`.
    pub(crate) fn add_item(&mut self, path: &[At<'_>], value: &Value) {
        self.add(path, None, value);
    }

    fn add(&mut self, path: &[At<'_>], key: Option<&str>, value: &Value) {
        let Some(node) = self.node(path).cloned() else {
            return;
        };
        let style = self.style(&node);
        let written = style.write(key, value);
        let put = format!("{}{written}", style.between);
        let Some(&(_, end)) = node.extents().last() else {
            return self.add_first(&node, &style, &put);
        };
        let comma = self.comma_behind(end);
        let behind = comma.map_or(end, |comma| comma + 1);
        let at = if style.lines.is_some() {
            self.behind_comments(behind, node.end - 1)
        } else {
            behind
        };
        if comma.is_some() {
            self.replace(at..at, &format!("{put},"));
        } else {
            // From the end, so that the first position stays valid.
            self.replace(at..at, &put);
            self.replace(end..end, ",");
        }
    }

    /// Adds the first member or item; it replaces blanks between the brackets.
    fn add_first(&mut self, node: &Node, style: &Style, put: &str) {
        let (first, last) = (node.start + 1, node.end - 1);
        let inside = self.text.get(first..last).unwrap_or_default();
        let kept = inside.trim_end().len();
        if kept == 0 {
            self.replace(first..last, &format!("{put}{}", style.behind));
            return;
        }
        // A comment stays in place.
        let behind = if inside.get(kept..).is_some_and(|rest| rest.contains('\n')) {
            ""
        } else {
            &style.behind
        };
        self.replace(first + kept..first + kept, &format!("{put}{behind}"));
    }

    /// Returns the position of the comma that follows `end` with only blanks in between.
    fn comma_behind(&self, end: usize) -> Option<usize> {
        let rest = self.clean.values.get(end..)?;
        let blanks = rest.len() - rest.trim_start().len();
        rest.trim_start().starts_with(',').then_some(end + blanks)
    }

    /// Returns the position after the comments that are on the same line as `from`.
    fn behind_comments(&self, from: usize, limit: usize) -> usize {
        let rest = self.text.get(from..limit).unwrap_or_default();
        let mut seen = 0;
        let mut end = 0;
        loop {
            let next = rest.get(seen..).unwrap_or_default();
            let blanks = next.len() - next.trim_start_matches([' ', '\t']).len();
            let next = next.get(blanks..).unwrap_or_default();
            if next.starts_with("//") {
                let line = next.split('\n').next().unwrap_or_default();
                return from + seen + blanks + line.trim_end().len();
            }
            let Some(length) = next.strip_prefix("/*").and_then(|text| text.find("*/")) else {
                return from + end;
            };
            seen += blanks + length + 4;
            end = seen;
        }
    }

    /// Replaces the value at `path`.
    pub(crate) fn set(&mut self, path: &[At<'_>], value: &Value) {
        let Some((_, parents)) = path.split_last() else {
            return;
        };
        let (Some(node), Some(parent)) = (self.node(path), self.node(parents)) else {
            return;
        };
        let range = node.start..node.end;
        let written = self.style(parent).write(None, value);
        self.replace(range, &written);
    }

    /// Removes the value at `path`, with its key and its comma.
    pub(crate) fn remove(&mut self, path: &[At<'_>]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let Some(parent) = self.node(parents).cloned() else {
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
        let blank = self.text.get(parent.start + 1..start).unwrap_or_default();
        let from = parent.start + 1 + blank.trim_end().len();
        let comma = self.comma_behind(end);
        let to = comma.map_or(end, |comma| comma + 1);
        let before = index.checked_sub(1).and_then(|before| extents.get(before));
        match (before, extents.len() > index + 1 || comma.is_some()) {
            (_, true) => self.replace(from..to, ""),
            (Some(&(_, before)), false) => {
                let comma = self.comma_behind(before).filter(|comma| *comma < from);
                self.replace(from..to, "");
                if let Some(comma) = comma {
                    self.replace(comma..comma + 1, "");
                }
            }
            (None, false) => self.replace(from..to, ""),
        }
        if extents.len() == 1 {
            self.close_up(parents);
        }
    }

    /// Removes the blanks between brackets that have become empty.
    fn close_up(&mut self, path: &[At<'_>]) {
        if let Some(node) = self.node(path)
            && !self.has_comment_in(path)
        {
            let inside = node.start + 1..node.end - 1;
            self.replace(inside, "");
        }
    }

    fn replace(&mut self, range: std::ops::Range<usize>, put: &str) {
        self.text.replace_range(range, put);
        self.clean = Clean::of(&self.text, self.syntax);
        // INVARIANT: what is added is JSON, so the text can be parsed again.
        if let Some(root) = scan(&self.clean.values) {
            self.root = root;
        }
    }

    /// Determines the formatting of what is in `container`.
    fn style(&self, container: &Node) -> Style {
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let unit = self.unit();
        let extents = container.extents();
        let clean = &self.clean.values;
        let blank = extents
            .first()
            .and_then(|&(first, _)| clean.get(container.start + 1..first).map(str::to_owned));
        let line = self.line_indent(container.start);
        let spread = match &blank {
            Some(blank) => blank.contains('\n'),
            None => self.spread() || self.has_line_in(container),
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
        let colon = if clean.contains("\":") && !clean.contains("\": ") {
            ":"
        } else {
            ": "
        };
        let air = if colon == ":" { "" } else { " " };
        let between = match extents.as_slice() {
            [(_, first), (second, _), ..] => {
                let gap = clean.get(*first..*second).unwrap_or_default();
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

    /// Returns whether the text has its members on separate lines; an empty text will have.
    fn spread(&self) -> bool {
        match self.root.extents().first() {
            Some(&(first, _)) => self
                .text
                .get(self.root.start..first)
                .is_some_and(|blank| blank.contains('\n')),
            None => true,
        }
    }

    fn has_line_in(&self, container: &Node) -> bool {
        let inside = self.text.get(container.start..container.end);
        inside.is_some_and(|inside| inside.contains('\n'))
    }

    /// Returns the indentation of one level.
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

    /// Returns the indentation of the line that contains `at`.
    fn line_indent(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars()
            .take_while(|c| matches!(c, ' ' | '\t'))
            .collect()
    }
}

/// Converts a column in bytes to one in characters.
fn in_characters(text: &str, line: usize, column: usize) -> usize {
    let line = text
        .split('\n')
        .nth(line.saturating_sub(1))
        .unwrap_or_default();
    let ends = line
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8());
    let whole = ends.take_while(|end| *end < column).count();
    (whole + 1).max(1)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use serde_json::json;

    use super::{At, Syntax, Text};

    #[test]
    fn a_comment_behind_the_last_member_stays_there_and_removing_restores_the_text() {
        for comment in [
            "// why",
            "/* why */",
            "/* why */ /* more */",
            "/* why */ // more",
        ] {
            let text = format!("{{\n  \"a\": 1 {comment}\n}}\n");
            let mut edited = Text::parse(&text, Syntax::Comments).unwrap();
            edited.add_member(&[], "b", &json!(2));
            let added = edited.clone().into_string();
            assert!(added.contains(&format!("1, {comment}\n")), "{added}");
            edited.remove(&[At::Key("b")]);
            assert_eq!(edited.into_string(), text);
        }
    }
}
