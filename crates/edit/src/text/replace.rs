//! Replaces a value.

use interlock_formats::{Kind, Node};
use serde_json::Value;

use super::{Edit, Holder, Page};

impl Page<'_> {
    pub(super) fn replace_root(&self, node: &Node, value: &Value) -> Option<Vec<Edit>> {
        let range = node.span.start..self.end(node)?;
        (self.is_flow(node)).then(|| vec![Edit::replace(range, self.style.in_flow(value, ""))])
    }

    pub(super) fn replace(
        &self,
        holder: Holder<'_>,
        index: usize,
        value: &Value,
    ) -> Option<Vec<Edit>> {
        let (node, left_out) = match &holder.node.kind {
            Kind::Map(entries) => entries
                .get(index)
                .map(|entry| (&entry.value, Self::is_left_out(entry)))?,
            Kind::List(items) => items
                .get(index)
                .map(|item| (item, item.span.start == item.span.end))?,
            _ => return None,
        };
        let begins = if self.is_flow(holder.node) && matches!(holder.node.kind, Kind::List(_)) {
            None
        } else {
            Some(self.value_begins(holder.node, index)?)
        };
        if left_out {
            let begins = begins?;
            let text = if self.is_flow(holder.node) {
                format!(" {}", self.style.in_flow(value, self.indent_text(begins)))
            } else {
                return Some(self.write_behind(holder.node, begins, begins, value));
            };
            return Some(vec![Edit::insert(begins, text)]);
        }
        let end = self.end(node)?;
        // The value of an alias is written elsewhere.
        if begins.is_some_and(|begins| node.span.start < begins) || end < node.span.start {
            return None;
        }
        let start = begins.map_or(node.span.start, |begins| self.value_start(begins, node));
        let old = self.text.get(start..end)?;
        if self.is_flow(holder.node) {
            let indent = self.indent_text(node.span.start);
            let new = if value.is_string() {
                self.style.scalar_like(value, old)
            } else {
                self.style.in_flow(value, indent)
            };
            return Some(vec![Edit::replace(node.span.start..end, new)]);
        }
        let begins = begins?;
        let same_line = !self.text.get(begins..start)?.contains('\n');
        let is_block = matches!(node.kind, Kind::Map(_) | Kind::List(_)) && !self.is_flow(node);
        if same_line && !is_block {
            if !self.ends_line(end) {
                return None;
            }
            let block_text = old.starts_with(['|', '>']);
            let comment = if block_text {
                head_comment(old)
            } else {
                String::new()
            };
            let flat = if value.is_string() && !block_text && self.style.flat(value).is_some() {
                Some(self.style.scalar_like(value, old))
            } else if self.is_flow(node) && !value.is_string() {
                Some(self.style.in_line(value))
            } else {
                self.style.flat(value)
            };
            if let Some(flat) = flat {
                return Some(vec![Edit::replace(start..end, flat + &comment)]);
            }
            let mut edits = self.write_behind(holder.node, begins, end, value);
            if let Some(head) = edits.first_mut() {
                head.with.push_str(&comment);
            }
            return Some(edits);
        }
        if same_line {
            // A list or map on the line of its dash.
            let column = node.span.start - self.line_start(node.span.start);
            let new = match self.style.flat(value) {
                Some(flat) => flat,
                None if value.is_string() => {
                    let dash = self.dash(node)?;
                    let new = self.style.behind_dash(value, column.checked_sub(2)?);
                    return Some(vec![Edit::replace(dash..end, new)]);
                }
                None => self
                    .style
                    .block(value, column)
                    .trim_start_matches(' ')
                    .to_owned(),
            };
            return Some(vec![Edit::replace(node.span.start..end, new)]);
        }
        let first_line = self.line_start(node.span.start);
        if let (Some(flat), true) = (self.style.flat(value), self.begins_line(node.span.start)) {
            let lines = first_line
                .checked_sub(1)
                .map(|at| self.line_end(self.line_start(at)))?
                ..self.line_end(end);
            return Some(vec![
                Edit::insert(begins, format!(" {flat}")),
                Edit::remove(lines),
            ])
            .filter(|edits| edits.iter().all(|edit| edit.range.start >= begins));
        }
        if !self.begins_line(node.span.start) {
            return None;
        }
        let lines = first_line..self.line_end(end);
        if value.is_string() {
            // Its first line announces a text and follows the colon.
            let indent = self.indent_at(begins);
            let new = self.style.behind_key(value, indent);
            let (head, body) = new.split_once(self.style.line)?;
            return Some(vec![Edit::insert(begins, head), Edit::replace(lines, body)]);
        }
        let column = node.span.start - first_line;
        let new = self.style.block(value, column);
        Some(vec![Edit::replace(lines, new)])
    }

    /// Returns where the value after a colon or a dash begins; for a block scalar, its header.
    fn value_start(&self, begins: usize, node: &Node) -> usize {
        let between = self.text.get(begins..node.span.start).unwrap_or_default();
        let blanks = between.len() - between.trim_start_matches(' ').len();
        let head = between
            .get(blanks..)
            .is_some_and(|rest| rest.starts_with(['|', '>']));
        if head {
            begins + blanks
        } else {
            node.span.start
        }
    }

    /// Writes lines below a colon or a dash in place of what follows it; a comment there stays.
    fn write_behind(&self, holder: &Node, begins: usize, end: usize, value: &Value) -> Vec<Edit> {
        let line = self.line_start(begins);
        let is_list = matches!(holder.kind, Kind::List(_));
        let indent = match holder.kind {
            Kind::Map(_) => {
                // The column of the key, also after a dash.
                let keys = holder.entries().iter().map(|entry| entry.key_span.start);
                let key = keys.filter(|start| *start < begins).max().unwrap_or(line);
                key - self.line_start(key)
            }
            _ => begins - 1 - line,
        };
        let new = if is_list {
            self.style.behind_dash(value, indent)
        } else {
            self.style.behind_key(value, indent)
        };
        // What is on the line of the colon, such as the header of a block scalar, precedes a comment there.
        let (head, below) = new.split_at(new.find(self.style.line).unwrap_or(new.len()));
        let all = [
            Edit::replace(begins..end, head),
            Edit::insert(self.line_end(end), below),
        ];
        let says = |edit: &Edit| !edit.range.is_empty() || !edit.with.is_empty();
        all.into_iter().filter(says).collect()
    }
}

/// Returns the comment after the header of a block scalar, with the blanks before it.
fn head_comment(old: &str) -> String {
    let head = old.lines().next().unwrap_or_default();
    head.find(" #").map_or_else(String::new, |at| {
        let blanks = head.get(..at).map_or(0, |before| before.trim_end().len());
        head.get(blanks..).unwrap_or_default().to_owned()
    })
}
