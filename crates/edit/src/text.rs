//! Applies changes to the text of a file.

mod block;
mod flow;
mod lines;
mod replace;
mod written;

use std::ops::Range;

use interlock_formats::{Kind, Node, Tree};
use serde_json::Value;

use self::{lines::scalar_len, written::Style};
use crate::{
    change::Change,
    path::Path,
    refusal::{Refusal, Why},
};

/// Bytes of the old text, and what replaces them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) with: String,
}

impl Edit {
    fn insert(at: usize, with: impl Into<String>) -> Self {
        Self {
            range: at..at,
            with: with.into(),
        }
    }

    fn remove(range: Range<usize>) -> Self {
        let with = String::new();
        Self { range, with }
    }

    fn replace(range: Range<usize>, with: impl Into<String>) -> Self {
        let with = with.into();
        Self { range, with }
    }
}

/// A file to be edited, and its style.
pub(crate) struct Page<'t> {
    text: &'t str,
    style: Style,
}

/// A list or map, and its place in its parent.
#[derive(Clone, Copy)]
struct Holder<'n> {
    node: &'n Node,
    /// Its parent, and its index there; `None` for the whole file.
    of: Option<(&'n Node, usize)>,
}

/// A value, and its parent with its index there; `None` for the whole file.
type Child<'n> = (Option<(Holder<'n>, usize)>, &'n Node);

/// The content to be written at a key or as an item.
enum Content<'v> {
    Value(&'v Value),
    /// Text moved from elsewhere, without its first indentation.
    Moved(&'v str),
}

impl<'t> Page<'t> {
    /// Detects the style of a file.
    pub(crate) fn new(text: &'t str, tree: &Tree) -> Self {
        Self {
            text,
            style: Style::of(text, tree),
        }
    }

    /// Returns how the text changes.
    pub(crate) fn edits(&self, root: &Node, change: &Change) -> Result<Vec<Edit>, Refusal> {
        let cannot = || Refusal::text(self.text, change.place(root));
        let found = match change {
            Change::Replace { at, with } => {
                let (holder, node) = child(root, at)?;
                match holder {
                    Some((holder, index)) => self.replace(holder, index, with),
                    None => self.replace_root(node, with),
                }
            }
            Change::Insert {
                into,
                index,
                key,
                value,
            } => {
                let holder = holder(root, into)?;
                self.insert(holder, *index, key.as_deref(), &Content::Value(value))
            }
            Change::Remove { at } => match child(root, at)?.0 {
                Some((holder, index)) => self.remove(holder, index),
                None => None,
            },
            Change::Rename { at, key } => match child(root, at)?.0 {
                Some((holder, index)) => self.rename(holder.node, index, key),
                None => None,
            },
            Change::Move { at, index } => match child(root, at)?.0 {
                Some((holder, from)) => self.move_child(holder, from, *index),
                None => None,
            },
        };
        found.ok_or_else(cannot)
    }
}

/// Applies edits to a text.
pub(crate) fn splice(text: &str, mut edits: Vec<Edit>) -> Result<String, Refusal> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for edit in &edits {
        let kept = text.get(at..edit.range.start);
        // Edits must not overlap.
        new.push_str(kept.ok_or_else(|| Refusal::text(text, None))?);
        new.push_str(&edit.with);
        at = edit.range.end;
    }
    new.push_str(text.get(at..).ok_or_else(|| Refusal::text(text, None))?);
    Ok(new)
}

/// Compares what the edits left alone, byte by byte.
pub(crate) fn check_untouched(old: &str, new: &str, edits: &[Edit]) -> Result<(), Refusal> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut old_rest, mut new_rest, mut at) = (old, new, 0);
    for edit in edits {
        let kept = edit.range.start.checked_sub(at);
        let taken = kept.and_then(|kept| {
            let (left, rest) = old_rest.split_at_checked(kept)?;
            let after = rest.get(edit.range.len()..)?;
            let written = new_rest
                .strip_prefix(left)?
                .strip_prefix(edit.with.as_str())?;
            Some((after, written))
        });
        let Some((after, written)) = taken else {
            return Err(Refusal::new(
                Why::Text,
                "bytes elsewhere in the file would change",
            ));
        };
        (old_rest, new_rest, at) = (after, written, edit.range.end);
    }
    if old_rest == new_rest {
        Ok(())
    } else {
        Err(Refusal::new(
            Why::Text,
            "bytes elsewhere in the file would change",
        ))
    }
}

/// Returns a list or map, and its parent.
fn holder<'n>(root: &'n Node, at: &Path) -> Result<Holder<'n>, Refusal> {
    let node = at.get(root)?;
    let of = match at.split() {
        None => None,
        Some((above, word)) => {
            let above = above.get(root)?;
            Path::index(above, word).map(|index| (above, index))
        }
    };
    Ok(Holder { node, of })
}

/// Returns a value with its parent and its index there.
fn child<'n>(root: &'n Node, at: &Path) -> Result<Child<'n>, Refusal> {
    let node = at.get(root)?;
    let Some((above, word)) = at.split() else {
        return Ok((None, node));
    };
    let holder = holder(root, &above)?;
    let index = Path::index(holder.node, word)
        .ok_or_else(|| Refusal::unknown(format!("the file has no `{at}`")))?;
    Ok((Some((holder, index)), node))
}

impl Page<'_> {
    /// Returns whether a list or map is written in brackets or braces.
    fn is_flow(&self, node: &Node) -> bool {
        let first = self.text.as_bytes().get(node.span.start);
        match &node.kind {
            Kind::Map(_) => first == Some(&b'{'),
            // The parser may report that a block list begins at its first item, which may be one in brackets.
            Kind::List(items) => {
                let begins_before = |item: &Node| item.span.start > node.span.start;
                first == Some(&b'[') && items.first().is_none_or(begins_before)
            }
            _ => false,
        }
    }

    fn insert(
        &self,
        holder: Holder<'_>,
        index: usize,
        key: Option<&str>,
        content: &Content<'_>,
    ) -> Option<Vec<Edit>> {
        if self.is_flow(holder.node) {
            self.insert_in_flow(holder.node, index, key, content)
        } else {
            self.insert_in_block(holder, index, key, content)
        }
    }

    fn remove(&self, holder: Holder<'_>, index: usize) -> Option<Vec<Edit>> {
        if self.is_flow(holder.node) {
            self.remove_from_flow(holder.node, index)
        } else {
            self.remove_from_block(holder, index)
        }
    }

    fn rename(&self, map: &Node, index: usize, key: &str) -> Option<Vec<Edit>> {
        let entry = map.entries().get(index)?;
        let start = entry.key_span.start;
        let written = self.text.get(start..entry.key_span.end)?;
        let range = start..start + scalar_len(written);
        let old = self.text.get(range.clone())?;
        Some(vec![Edit::replace(range, self.style.key_like(key, old))])
    }

    fn move_child(&self, holder: Holder<'_>, from: usize, to: usize) -> Option<Vec<Edit>> {
        if from == to {
            return Some(Vec::new());
        }
        // Counted with the value that is moved.
        let index = if to > from { to + 1 } else { to };
        let moved = if self.is_flow(holder.node) {
            self.child_of_flow(holder.node, from)?
        } else {
            self.child_of_block(holder.node, from)?
        };
        let content = Content::Moved(self.text.get(moved.clone())?);
        let mut edits = self.insert(holder, index, None, &content)?;
        let removed = if self.is_flow(holder.node) {
            self.remove_from_flow(holder.node, from)?
        } else {
            self.cut_from_block(holder.node, from, moved)?
        };
        edits.extend(removed);
        Some(edits)
    }
}
