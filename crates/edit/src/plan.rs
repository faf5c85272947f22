//! Turns a value into another one with the fewest changes.

use interlock_formats::{Kind, Node};
use serde_json::{Map, Value};

use crate::{change::Change, path::Path};

/// Returns the changes that turn `node` at `at` into `wanted`, each to be applied after the previous ones.
pub(crate) fn changes(node: &Node, at: &Path, wanted: &Value) -> Vec<Change> {
    let mut all = Vec::new();
    difference(node, at, wanted, &mut all);
    all
}

fn difference(node: &Node, at: &Path, wanted: &Value, all: &mut Vec<Change>) {
    let stepwise = match (&node.kind, wanted) {
        (Kind::Map(_), Value::Object(wanted)) => map(node, at, wanted),
        (Kind::List(items), Value::Array(wanted)) => Some(list(items, at, wanted)),
        _ => None,
    };
    match stepwise {
        Some(changes) => all.extend(changes),
        None if is(node, wanted) => {}
        None => all.push(Change::Replace {
            at: at.clone(),
            with: wanted.clone(),
        }),
    }
}

/// Returns the changes of a map; `None` if it is replaced as a whole, because nothing of it stays or its order changes.
fn map(node: &Node, at: &Path, wanted: &Map<String, Value>) -> Option<Vec<Change>> {
    let entries = node.entries();
    let kept: Vec<&str> = entries
        .iter()
        .map(|entry| entry.key.as_str())
        .filter(|key| wanted.contains_key(*key))
        .collect();
    let in_order = wanted.keys().filter(|key| node.get(key).is_some());
    if !kept.iter().copied().eq(in_order) || (kept.is_empty() && !entries.is_empty()) {
        return None;
    }
    let mut all = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| !wanted.contains_key(&entry.key))
    {
        all.push(Change::Remove {
            at: at.then(&entry.key),
        });
    }
    for (index, (key, value)) in wanted.iter().enumerate() {
        match node.get(key) {
            Some(entry) => difference(&entry.value, &at.then(key), value, &mut all),
            None => all.push(Change::Insert {
                into: at.clone(),
                index,
                key: Some(key.clone()),
                value: value.clone(),
            }),
        }
    }
    Some(all)
}

fn list(items: &[Node], at: &Path, wanted: &[Value]) -> Vec<Change> {
    let pairs = items.iter().zip(wanted);
    let before = pairs.take_while(|(node, wanted)| is(node, wanted)).count();
    let (old, new) = (
        items.get(before..).unwrap_or_default(),
        wanted.get(before..).unwrap_or_default(),
    );
    let pairs = old.iter().rev().zip(new.iter().rev());
    let after = pairs.take_while(|(node, wanted)| is(node, wanted)).count();
    let (old, new) = (
        old.get(..old.len() - after).unwrap_or_default(),
        new.get(..new.len() - after).unwrap_or_default(),
    );
    if wanted.is_empty() != items.is_empty() {
        return vec![Change::Replace {
            at: at.clone(),
            with: Value::Array(wanted.to_vec()),
        }];
    }
    let mut all = Vec::new();
    for (step, (node, wanted)) in old.iter().zip(new).enumerate() {
        difference(
            node,
            &at.then((before + step).to_string()),
            wanted,
            &mut all,
        );
    }
    for (step, value) in new.iter().enumerate().skip(old.len()) {
        all.push(Change::Insert {
            into: at.clone(),
            index: before + step,
            key: None,
            value: value.clone(),
        });
    }
    for step in (new.len()..old.len()).rev() {
        all.push(Change::Remove {
            at: at.then((before + step).to_string()),
        });
    }
    all
}

/// Returns whether a value is written there already.
fn is(node: &Node, wanted: &Value) -> bool {
    match (&node.kind, wanted) {
        (Kind::List(items), Value::Array(wanted)) => {
            items.len() == wanted.len()
                && items
                    .iter()
                    .zip(wanted)
                    .all(|(node, wanted)| is(node, wanted))
        }
        (Kind::Map(entries), Value::Object(wanted)) => {
            entries.len() == wanted.len()
                && entries
                    .iter()
                    .zip(wanted)
                    .all(|(entry, (key, wanted))| entry.key == *key && is(&entry.value, wanted))
        }
        (Kind::Plain(text), Value::Bool(wanted)) => text == if *wanted { "true" } else { "false" },
        (Kind::Plain(text), Value::Number(wanted)) => text == wanted.as_str(),
        _ => node.to_value() == *wanted,
    }
}
