//! Changes of single values, and their effect on a tree.

use interlock_formats::{Entry, Kind, Node, Span, plain_kind};
use serde_json::Value;

use crate::{path::Path, refusal::Refusal};

/// A change of one value in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Replaces a value.
    Replace { at: Path, with: Value },
    /// Adds an entry to a map, or an item to a list.
    Insert {
        into: Path,
        index: usize,
        /// The key; `None` for a list.
        key: Option<String>,
        value: Value,
    },
    /// Removes an entry or an item.
    Remove { at: Path },
    /// Gives a value another key.
    Rename { at: Path, key: String },
    /// Moves a value among its siblings; the index does not count the value itself.
    Move { at: Path, index: usize },
}

/// The span of a value that is not written anywhere yet.
const NOWHERE: Span = Span {
    file: 0,
    start: 0,
    end: 0,
};

impl Change {
    /// Applies the change to a tree.
    pub(crate) fn apply(&self, root: &mut Node, as_written: bool) -> Result<(), Refusal> {
        match self {
            Self::Replace { at, with } => {
                let node = at.find_mut(root).ok_or_else(|| gone(at))?;
                node.kind = kind_of(with, as_written);
            }
            Self::Insert {
                into,
                index,
                key,
                value,
            } => {
                let node = into.find_mut(root).ok_or_else(|| gone(into))?;
                let value = node_of(value, as_written);
                match (&mut node.kind, key) {
                    (Kind::Map(entries), Some(key)) if *index <= entries.len() => {
                        let key = key.clone();
                        let key_span = NOWHERE;
                        entries.insert(
                            *index,
                            Entry {
                                key,
                                key_span,
                                value,
                            },
                        );
                    }
                    (Kind::List(items), None) if *index <= items.len() => {
                        items.insert(*index, value);
                    }
                    _ => return Err(gone(into)),
                }
            }
            Self::Remove { at } => {
                take(root, at)?;
            }
            Self::Rename { at, key } => {
                let (of, word) = at.split().ok_or_else(|| gone(at))?;
                let node = of.find_mut(root).ok_or_else(|| gone(at))?;
                let index = Path::index(node, word).ok_or_else(|| gone(at))?;
                let Kind::Map(entries) = &mut node.kind else {
                    return Err(gone(at));
                };
                let entry = entries.get_mut(index).ok_or_else(|| gone(at))?;
                entry.key.clone_from(key);
            }
            Self::Move { at, index } => {
                let (of, _) = at.split().ok_or_else(|| gone(at))?;
                let taken = take(root, at)?;
                let node = of.find_mut(root).ok_or_else(|| gone(at))?;
                match (&mut node.kind, taken) {
                    (Kind::Map(entries), Taken::Entry(entry)) if *index <= entries.len() => {
                        entries.insert(*index, entry);
                    }
                    (Kind::List(items), Taken::Item(item)) if *index <= items.len() => {
                        items.insert(*index, item);
                    }
                    _ => return Err(gone(at)),
                }
            }
        }
        Ok(())
    }

    /// Returns where the changed value is in the text as it is now.
    pub(crate) fn place(&self, root: &Node) -> Option<Span> {
        self.path().find(root).map(|node| node.span)
    }

    /// Returns whether the change concerns a key of the file itself.
    pub(crate) fn is_at_the_top(&self) -> bool {
        let above = self.path().split();
        above.is_none_or(|(above, _)| above == Path::default())
    }

    const fn path(&self) -> &Path {
        match self {
            Self::Replace { at, .. }
            | Self::Remove { at }
            | Self::Rename { at, .. }
            | Self::Move { at, .. } => at,
            Self::Insert { into, .. } => into,
        }
    }
}

enum Taken {
    Entry(Entry),
    Item(Node),
}

fn take(root: &mut Node, at: &Path) -> Result<Taken, Refusal> {
    let (of, word) = at.split().ok_or_else(|| gone(at))?;
    let node = of.find_mut(root).ok_or_else(|| gone(at))?;
    let index = Path::index(node, word).ok_or_else(|| gone(at))?;
    match &mut node.kind {
        Kind::Map(entries) => Ok(Taken::Entry(entries.remove(index))),
        Kind::List(items) => Ok(Taken::Item(items.remove(index))),
        _ => Err(gone(at)),
    }
}

fn gone(at: &Path) -> Refusal {
    Refusal::unknown(format!("the file has no `{at}`"))
}

fn node_of(value: &Value, as_written: bool) -> Node {
    Node {
        span: NOWHERE,
        kind: kind_of(value, as_written),
    }
}

fn kind_of(value: &Value, as_written: bool) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) | Value::Number(_) if as_written => Kind::Plain(value.to_string()),
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(number) => Kind::Number(number.clone()),
        Value::String(text) => Kind::Text(text.clone()),
        Value::Array(items) => {
            Kind::List(items.iter().map(|item| node_of(item, as_written)).collect())
        }
        Value::Object(map) => Kind::Map(
            map.iter()
                .map(|(key, value)| Entry {
                    key: key.clone(),
                    key_span: NOWHERE,
                    value: node_of(value, as_written),
                })
                .collect(),
        ),
    }
}

/// Returns whether two trees contain the same values in the same order, wherever they are written.
pub(crate) fn same(left: &Node, right: &Node) -> bool {
    match (&left.kind, &right.kind) {
        (Kind::List(left), Kind::List(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Kind::Map(left), Kind::Map(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.key == right.key && same(&left.value, &right.value))
        }
        // Without quotes it may not be a text where the format keeps scalars as written.
        (Kind::Plain(plain), Kind::Text(text)) | (Kind::Text(text), Kind::Plain(plain)) => {
            plain == text && matches!(plain_kind(plain), Kind::Text(_))
        }
        (left, right) => left == right,
    }
}
