//! Values at a path: setting, renaming, and what prevents it.

use interlock_formats::{Kind, Tree};
use serde_json::{Map, Value};

use crate::{
    change::Change,
    path::Path,
    plan,
    refusal::{Refusal, Why},
};

pub(super) fn say(at: Path, name: &str) -> Change {
    Change::Replace {
        at,
        with: Value::from(name),
    }
}

pub(super) fn in_use(tree: &Tree, at: &Path, message: &str) -> Refusal {
    let refusal = Refusal::new(Why::InUse, message);
    match at.find(&tree.root) {
        Some(node) => refusal.at(node.span),
        None => refusal,
    }
}

/// Returns the changes that set a value at a path whose last word may be new.
pub(super) fn set(tree: &Tree, at: &Path, value: &Value) -> Result<Vec<Change>, Refusal> {
    if let Some(node) = at.find(&tree.root) {
        return Ok(plan::changes(node, at, value));
    }
    let Some((into, word)) = at.split() else {
        return Ok(Vec::new());
    };
    let node = into.get(&tree.root)?;
    let value = value.clone();
    match &node.kind {
        Kind::Map(entries) => Ok(vec![Change::Insert {
            index: entries.len(),
            key: Some(word.to_owned()),
            into,
            value,
        }]),
        Kind::List(items) if word == "-" || word == items.len().to_string() => {
            Ok(vec![Change::Insert {
                index: items.len(),
                key: None,
                into,
                value,
            }])
        }
        Kind::List(items) => Err(Refusal::misplaced(format!(
            "`{into}` is a list of {}: name an item by its number, or `-` for one behind them",
            items.len()
        ))
        .at(node.span)),
        Kind::Null => Ok(vec![Change::Replace {
            at: into,
            with: Value::Object(Map::from_iter([(word.to_owned(), value)])),
        }]),
        _ => Err(Refusal::misplaced(format!("`{into}` has no fields")).at(node.span)),
    }
}

pub(super) fn rename(tree: &Tree, at: &Path, to: &str) -> Result<Vec<Change>, Refusal> {
    let node = at.get(&tree.root)?;
    let Some((above, word)) = at.split() else {
        return Err(Refusal::misplaced("the whole file has no key"));
    };
    let holder = above.get(&tree.root)?;
    if !matches!(holder.kind, Kind::Map(_)) {
        return Err(Refusal::misplaced("an item of a list has no key").at(node.span));
    }
    if to.is_empty() {
        return Err(Refusal::misplaced("a name is not empty"));
    }
    if word == to {
        return Ok(Vec::new());
    }
    if let Some(taken) = holder.get(to) {
        return Err(Refusal::new(Why::Taken, format!("`{to}` is there already")).at(taken.key_span));
    }
    Ok(vec![Change::Rename {
        at: at.clone(),
        key: to.to_owned(),
    }])
}
