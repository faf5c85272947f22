//! Lists and maps in brackets and braces: those of JSON, and those of YAML in flow style.

use std::ops::Range;

use interlock_formats::{Kind, Node};

use super::{Content, Edit, Page};

impl Page<'_> {
    /// Returns the range of an entry or an item.
    pub(super) fn child_of_flow(&self, node: &Node, index: usize) -> Option<Range<usize>> {
        let range = match &node.kind {
            Kind::Map(entries) => {
                let entry = entries.get(index)?;
                let bare = Self::is_left_out(entry) && self.colon(entry).is_none();
                let end = if bare {
                    entry.key_span.end
                } else {
                    self.entry_end(entry)?
                };
                entry.key_span.start..end
            }
            Kind::List(items) => {
                let item = items.get(index)?;
                item.span.start..self.end(item)?
            }
            _ => return None,
        };
        let inside =
            node.span.start < range.start && range.end <= node.span.end && range.start < range.end;
        inside.then_some(range)
    }

    /// Returns the byte after the bracket or brace that ends a list or map; the parser includes a comment after it.
    pub(super) fn flow_end(&self, node: &Node) -> Option<usize> {
        let close = if matches!(node.kind, Kind::List(_)) {
            ']'
        } else {
            '}'
        };
        let count = Self::count(node);
        let mut at = match count.checked_sub(1) {
            Some(last) => self.child_of_flow(node, last)?.end,
            None => node.span.start + 1,
        };
        loop {
            let rest = self.text.get(at..)?;
            let letter = rest.chars().next()?;
            match letter {
                ' ' | '\t' | '\n' | '\r' | ',' => at += 1,
                '#' => at = self.line_end(at),
                _ => return (letter == close).then_some(at + 1),
            }
        }
    }

    fn count(node: &Node) -> usize {
        node.entries().len() + node.items().len()
    }

    pub(super) fn insert_in_flow(
        &self,
        node: &Node,
        index: usize,
        key: Option<&str>,
        content: &Content<'_>,
    ) -> Option<Vec<Edit>> {
        let count = Self::count(node);
        if count == 0 {
            return self.fill_flow(node, key, content);
        }
        let first = self.child_of_flow(node, 0)?;
        let over_lines = self.begins_line(first.start);
        let indent = self.indent_text(if over_lines {
            first.start
        } else {
            node.span.start
        });
        let written = self.in_flow(key, content, indent);
        // The separator between two existing children is used for new ones, too.
        let between = if over_lines {
            format!("{}{indent}", self.style.line)
        } else {
            self.gap(node)
        };
        if index < count {
            let next = self.child_of_flow(node, index)?;
            let between = if index > 0 && !self.begins_line(next.start) && over_lines {
                " ".to_owned()
            } else {
                between
            };
            return Some(vec![Edit::insert(
                next.start,
                format!("{written},{between}"),
            )]);
        }
        let last = self.child_of_flow(node, count - 1)?;
        let close = self.flow_end(node)? - 1;
        let rest = self.text.get(last.end..close)?;
        let code = rest.split('#').next().unwrap_or_default();
        let comma = code.find(',').map(|at| last.end + at + 1);
        let at = if over_lines {
            self.line_end(last.end).min(close)
        } else {
            comma.unwrap_or(last.end)
        };
        let tail = if comma.is_some() { "," } else { "" };
        let mut edits = Vec::new();
        if comma.is_none() {
            edits.push(Edit::insert(last.end, ","));
        }
        // A bracket on the same line stays after the last item.
        let at = if over_lines && !self.ends_line(comma.unwrap_or(last.end)) {
            comma.unwrap_or(last.end)
        } else {
            at
        };
        match edits.first_mut().filter(|edit| edit.range.start == at) {
            Some(edit) => edit.with = format!(",{between}{written}{tail}"),
            None => edits.push(Edit::insert(at, format!("{between}{written}{tail}"))),
        }
        Some(edits)
    }

    fn fill_flow(
        &self,
        node: &Node,
        key: Option<&str>,
        content: &Content<'_>,
    ) -> Option<Vec<Edit>> {
        let inner = node.span.start + 1..self.flow_end(node)? - 1;
        if !self.text.get(inner.clone())?.trim().is_empty() {
            return None;
        }
        if !(self.style.is_json && self.style.has_lines) {
            return Some(vec![Edit::replace(inner, self.in_flow(key, content, ""))]);
        }
        let outside = self.indent_text(node.span.start);
        let inside = format!("{outside}{}", self.style.step_text);
        let written = self.in_flow(key, content, &inside);
        let line = self.style.line;
        Some(vec![Edit::replace(
            inner,
            format!("{line}{inside}{written}{line}{outside}"),
        )])
    }

    /// Returns the number of blanks by which the line of a byte is indented.
    pub(super) fn indent_at(&self, at: usize) -> usize {
        let before = self.before(at);
        before.len() - before.trim_start_matches(' ').len()
    }

    /// Returns the indentation of the line of a byte.
    pub(super) fn indent_text(&self, at: usize) -> &str {
        let before = self.before(at);
        let words = before.trim_start_matches([' ', '\t']);
        before.get(..before.len() - words.len()).unwrap_or_default()
    }

    /// Returns the text between two children, after the comma.
    fn gap(&self, node: &Node) -> String {
        let pair = self.child_of_flow(node, 0).zip(self.child_of_flow(node, 1));
        let gap = pair.and_then(|(one, other)| self.text.get(one.end..other.start));
        let blanks = gap.and_then(|gap| gap.trim_start().strip_prefix(','));
        match blanks.filter(|blanks| blanks.bytes().all(|byte| byte == b' ')) {
            Some(blanks) => blanks.to_owned(),
            None if self.style.comma() == "," => String::new(),
            None => " ".to_owned(),
        }
    }

    fn in_flow(&self, key: Option<&str>, content: &Content<'_>, indent: &str) -> String {
        let value = match content {
            Content::Moved(text) => return (*text).to_owned(),
            Content::Value(value) => self.style.in_flow(value, indent),
        };
        match key {
            Some(key) => format!("{}{}{value}", self.style.key(key), self.style.colon),
            None => value,
        }
    }

    pub(super) fn remove_from_flow(&self, node: &Node, index: usize) -> Option<Vec<Edit>> {
        let gone = self.child_of_flow(node, index)?;
        let count = Self::count(node);
        let inner = node.span.start + 1..self.flow_end(node)? - 1;
        if count == 1 {
            let range = if self.has_comment(inner.clone()) {
                gone
            } else {
                inner
            };
            return Some(vec![Edit::remove(range)]);
        }
        if index + 1 < count {
            let next = self.child_of_flow(node, index + 1)?;
            let gap = gone.end..next.start;
            if !self.has_comment(gap.clone()) {
                return Some(vec![Edit::remove(gone.start..next.start)]);
            }
            let comma = self.text.get(gap)?.split('#').next()?.find(',')?;
            return Some(vec![Edit::remove(gone.start..gone.end + comma + 1)]);
        }
        let before = self.child_of_flow(node, index.checked_sub(1)?)?;
        let gap = before.end..gone.start;
        if !self.has_comment(gap.clone()) {
            return Some(vec![Edit::remove(before.end..gone.end)]);
        }
        // The comment of the previous child stays; its comma would be left over.
        let comma = self.text.get(gap)?.split('#').next()?.find(',')? + before.end;
        Some(vec![Edit::remove(comma..comma + 1), Edit::remove(gone)])
    }
}
