//! Lists and maps of YAML in block style, which is determined by indentation.

use std::ops::Range;

use interlock_formats::{Entry, Kind, Node};

use super::{Content, Edit, Holder, Page};

/// An entry or an item of a block.
struct Child {
    /// Where its key or its dash begins.
    start: usize,
    /// Where it ends, without comments.
    end: usize,
}

impl Page<'_> {
    fn child(&self, node: &Node, index: usize) -> Option<Child> {
        let (start, end) = match &node.kind {
            Kind::Map(entries) => {
                let entry = entries.get(index)?;
                (entry.key_span.start, self.entry_end(entry)?)
            }
            Kind::List(items) => {
                let item = items.get(index)?;
                let dash = self.dash(item)?;
                let end = if item.span.start == item.span.end {
                    dash
                } else {
                    self.end(item)?
                };
                (dash - 1, end)
            }
            _ => return None,
        };
        // The parser may report that a list begins after its first dash.
        let inside = start >= node.span.start || matches!(node.kind, Kind::List(_));
        let whole = inside && start < end && self.ends_line(end);
        whole.then_some(Child { start, end })
    }

    fn count_in_block(node: &Node) -> usize {
        node.entries().len() + node.items().len()
    }

    /// Returns what precedes each entry or dash in its line: blanks, including those under a dash.
    fn column(&self, node: &Node) -> Option<usize> {
        let first = self.child(node, 0)?;
        let before = self.before(first.start);
        // A dash and blanks may precede it, and nothing else.
        before
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'-'))
            .then_some(before.len())
    }

    pub(super) fn insert_in_block(
        &self,
        holder: Holder<'_>,
        index: usize,
        key: Option<&str>,
        content: &Content<'_>,
    ) -> Option<Vec<Edit>> {
        let node = holder.node;
        let column = self.column(node)?;
        let blanks = " ".repeat(column);
        let written = match content {
            Content::Moved(text) => (*text).to_owned(),
            Content::Value(value) => match key {
                Some(key) => format!(
                    "{}:{}",
                    self.style.key(key),
                    self.style.behind_key(value, column)
                ),
                None => format!("-{}", self.style.behind_dash(value, column)),
            },
        };
        let line = self.style.line;
        let Some(before) = index.checked_sub(1) else {
            let first = self.child(node, 0)?;
            let at = self.first_place(&first, &blanks);
            return Some(vec![Edit::insert(at, format!("{written}{line}{blanks}"))]);
        };
        // After the last one, comments at its column belong to those above, too, unless what follows has that column.
        let is_last = index == Self::count_in_block(node) && self.is_further_in(holder, column);
        let below = column.saturating_sub(usize::from(is_last));
        let at = self.block_end(node, before, below)?;
        let apart = if self.stands_apart(node, before) {
            line
        } else {
            ""
        };
        Some(vec![Edit::insert(
            at,
            format!("{line}{apart}{blanks}{written}"),
        )])
    }

    /// Returns whether a list or map is indented more than its key.
    fn is_further_in(&self, holder: Holder<'_>, column: usize) -> bool {
        let key = holder
            .of
            .and_then(|(above, index)| above.entries().get(index));
        key.is_none_or(|entry| self.before(entry.key_span.start).len() < column)
    }

    /// Returns where a new first child is inserted: above the comments of the current one, but not above those of the file.
    fn first_place(&self, first: &Child, blanks: &str) -> usize {
        if blanks.is_empty() || !self.begins_line(first.start) {
            return first.start;
        }
        let line = self.line_start(first.start);
        self.comments_above(line, blanks) + blanks.len()
    }

    /// Returns where the lines of a child end, including the comments below it that are indented more.
    fn block_end(&self, node: &Node, index: usize, column: usize) -> Option<usize> {
        let child = self.child(node, index)?;
        let mut at = self.line_end(child.end);
        loop {
            let next = self.next_line(at);
            if next >= self.text.len() {
                return Some(at);
            }
            let words = self.behind(next);
            let indent = words.len() - words.trim_start_matches(' ').len();
            let belongs = words.trim_start_matches(' ').starts_with('#') && indent > column;
            if !belongs {
                return Some(at);
            }
            at = self.line_end(next);
        }
    }

    /// Returns whether blank lines separate the children.
    fn stands_apart(&self, node: &Node, index: usize) -> bool {
        let pairs = [
            index.checked_sub(1).map(|before| (before, index)),
            Some((index, index + 1)),
        ];
        let mut known = pairs.into_iter().flatten().filter_map(|(one, other)| {
            let (one, other) = (self.child(node, one)?, self.child(node, other)?);
            let between = self
                .text
                .get(self.line_end(one.end)..self.line_start(other.start))?;
            Some(between.lines().skip(1).any(|line| line.trim().is_empty()))
        });
        known.next().unwrap_or(false)
    }

    pub(super) fn remove_from_block(&self, holder: Holder<'_>, index: usize) -> Option<Vec<Edit>> {
        let node = holder.node;
        let gone = self.child(node, index)?;
        if Self::count_in_block(node) == 1 {
            return self.empty_block(holder, &gone);
        }
        if !self.begins_line(gone.start) {
            return self.remove_behind_dash(node, index, &gone);
        }
        Some(vec![Edit::remove(self.lines_of(&gone))])
    }

    /// Returns whole lines, and the blank line that would be left over.
    fn lines_of(&self, gone: &Child) -> Range<usize> {
        let start = self.line_start(gone.start);
        let mut end = self.next_line(gone.end);
        let at_end = end >= self.text.len();
        let above = start.checked_sub(1).map(|at| self.line_start(at));
        let blank_above = above.is_some_and(|line| self.is_blank(line));
        if at_end && !self.text.ends_with('\n') {
            // The file does not end with the line break of the line above any more.
            let above_end = start
                .checked_sub(1)
                .map_or(0, |at| self.line_end(self.line_start(at)));
            return above_end..self.text.len();
        }
        if blank_above && !at_end && self.is_blank(end) {
            end = self.next_line(end);
        }
        start..end
    }

    /// Removes the first of several children, which is on the line of a dash.
    fn remove_behind_dash(&self, node: &Node, index: usize, gone: &Child) -> Option<Vec<Edit>> {
        let next = self.child(node, index + 1)?;
        if self.has_comment(gone.end..next.start) {
            return Some(vec![Edit::remove(gone.start..gone.end)]);
        }
        Some(vec![Edit::remove(gone.start..next.start)])
    }

    /// Leaves an empty list or map in place of the only child.
    fn empty_block(&self, holder: Holder<'_>, gone: &Child) -> Option<Vec<Edit>> {
        let empty = if matches!(holder.node.kind, Kind::List(_)) {
            "[]"
        } else {
            "{}"
        };
        if !self.begins_line(gone.start) {
            return Some(vec![Edit::replace(gone.start..gone.end, empty)]);
        }
        let (above, index) = holder.of?;
        let begins = self.value_begins(above, index)?;
        let insert = Edit::insert(begins, format!(" {empty}"));
        Some(vec![insert, Edit::remove(self.lines_of(gone))])
    }

    /// Returns the byte after the colon or the dash of a child.
    pub(super) fn value_begins(&self, node: &Node, index: usize) -> Option<usize> {
        match &node.kind {
            Kind::Map(entries) => entries
                .get(index)
                .and_then(|entry: &Entry| self.colon(entry)),
            Kind::List(items) => items.get(index).and_then(|item| self.dash(item)),
            _ => None,
        }
    }

    /// Returns the text of a child that is moved, with the comments right above it and the one after it.
    pub(super) fn child_of_block(&self, node: &Node, index: usize) -> Option<Range<usize>> {
        let child = self.child(node, index)?;
        let column = self.column(node)?;
        let end = self.block_end(node, index, column)?;
        if !self.begins_line(child.start) {
            return Some(child.start..end);
        }
        let indent = " ".repeat(column);
        let line = self.line_start(child.start);
        let above = self.comments_above(line, &indent);
        Some(above + column..end)
    }

    /// Removes what was moved.
    pub(super) fn cut_from_block(
        &self,
        node: &Node,
        index: usize,
        moved: Range<usize>,
    ) -> Option<Vec<Edit>> {
        let child = Child {
            start: moved.start,
            end: moved.end,
        };
        if !self.begins_line(child.start) {
            return self.remove_behind_dash(node, index, &child);
        }
        Some(vec![Edit::remove(self.lines_of(&child))])
    }
}
