//! States: added, renamed, removed, moved.

use std::collections::BTreeSet;

use interlock_formats::{FAILURE_NAMES, Kind, Node, Tree};
use serde_json::{Map, Value};

use super::fields::{in_use, rename, say};
use crate::{
    change::Change,
    names::{self, By},
    operation::Place,
    path::Path,
    refusal::{Refusal, Why},
    scope::{Scope, names_of},
};

pub(super) fn add_state(
    tree: &Tree,
    scope: &Scope,
    name: &str,
    state: Option<&Value>,
    place: Option<&Place>,
) -> Result<Vec<Change>, Refusal> {
    let into = scope.states();
    let node = into.get(&tree.root)?;
    if name.is_empty() {
        return Err(Refusal::misplaced("a state has a name"));
    }
    if scope.state(tree, name).is_ok() {
        return Err(
            Refusal::new(Why::Taken, format!("there is a state `{name}` already")).at(node.span),
        );
    }
    let mut state = state.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if !state.is_object() {
        return Err(Refusal::misplaced("a state is an object of fields"));
    }
    let names = names_of(node);
    let index = match place {
        Some(place) => index_of(&names, place)?,
        None => before_final(node),
    };
    let key = if matches!(node.kind, Kind::List(_)) {
        let fields = state.as_object().cloned().unwrap_or_default();
        let id = Map::from_iter([("id".to_owned(), Value::from(name))]);
        state = Value::Object(id.into_iter().chain(fields).collect());
        None
    } else {
        Some(name.to_owned())
    };
    if matches!(node.kind, Kind::Null) {
        let states = Map::from_iter([(name.to_owned(), state)]);
        return Ok(vec![Change::Replace {
            at: into,
            with: Value::Object(states),
        }]);
    }
    Ok(vec![Change::Insert {
        into,
        index,
        key,
        value: state,
    }])
}

/// Returns the index after the last state in which work is done.
fn before_final(states: &Node) -> usize {
    let is_final = |entry: &interlock_formats::Entry| {
        entry.value.get("type").and_then(|field| field.value.text()) == Some("final")
    };
    let entries = states.entries();
    let last = entries.iter().rposition(|entry| !is_final(entry));
    last.map_or(entries.len() + states.items().len(), |last| last + 1)
}

fn index_of(names: &[&str], place: &Place) -> Result<usize, Refusal> {
    let find = |name: &String| {
        let found = names.iter().position(|known| known == name);
        found.ok_or_else(|| {
            Refusal::unknown(format!("there is no state `{name}`: {}", names.join(", ")))
        })
    };
    Ok(match place {
        Place::First => 0,
        Place::Last => names.len(),
        Place::Before(name) => find(name)?,
        Place::After(name) => find(name)? + 1,
    })
}

pub(super) fn rename_state(
    tree: &Tree,
    scope: &Scope,
    name: &str,
    to: &str,
) -> Result<Vec<Change>, Refusal> {
    scope.native("states are renamed")?;
    let at = scope.state(tree, name)?;
    let last = rename(tree, &at, to)?;
    let definition = scope.definition(tree)?;
    if let Some(read) = names::of_output(definition, name) {
        let message =
            format!("`{name}` cannot be renamed: what it handed in is read here by its name");
        return Err(in_use(tree, &read.below(&scope.base), &message).help("rename it in the text"));
    }
    let ways = names::of_state(definition, name);
    let mut all: Vec<Change> = ways
        .iter()
        .map(|named| say(named.at.below(&scope.base), to))
        .collect();
    if !last.is_empty() {
        all.extend(outcome(at.get(&tree.root)?, &at, name, to));
    }
    all.extend(last);
    Ok(all)
}

/// Returns the change that preserves how a run ends if the name of its last state determined that.
fn outcome(state: &Node, at: &Path, name: &str, to: &str) -> Option<Change> {
    let fails = |name| FAILURE_NAMES.contains(&name);
    let is_final = state.get("type").and_then(|field| field.value.text()) == Some("final");
    if !is_final || state.get("outcome").is_some() || fails(name) == fails(to) {
        return None;
    }
    let outcome = if fails(name) { "failure" } else { "success" };
    Some(Change::Insert {
        into: at.clone(),
        index: state.entries().len(),
        key: Some("outcome".to_owned()),
        value: Value::from(outcome),
    })
}

pub(super) fn remove_state(tree: &Tree, scope: &Scope, name: &str) -> Result<Vec<Change>, Refusal> {
    let at = scope.state(tree, name)?;
    let inside = if scope.is_native {
        names::of_state(scope.definition(tree)?, name)
    } else {
        Vec::new()
    };
    let elsewhere = inside
        .iter()
        .find(|named| named.state.as_deref() != Some(name));
    if let Some(named) = elsewhere {
        let message = format!("`{name}` cannot be removed: {}", named.says());
        let help = match (&named.transition, &named.state, named.by) {
            (Some(_), ..) => {
                "lead it elsewhere first, or remove the state with the transitions that lead to it (`--with-transitions`)"
            }
            (None, None, By::Initial) => "choose another first state before that",
            (None, None, By::Property) => "change or remove the property first",
            _ => "lead it elsewhere first",
        };
        return Err(in_use(tree, &named.at.below(&scope.base), &message).help(help));
    }
    Ok(vec![Change::Remove { at }])
}

/// Returns the changes that remove the transitions to a state, one for each other state that has any.
pub(super) fn ways_to(tree: &Tree, scope: &Scope, name: &str) -> Result<Vec<Change>, Refusal> {
    let mut seen = BTreeSet::new();
    let ways = names::of_state(scope.definition(tree)?, name);
    Ok(ways
        .into_iter()
        .filter(|named| named.state.as_deref() != Some(name))
        .filter_map(|named| Some((named.state?, named.transition?)))
        .filter(|(state, _)| seen.insert(state.clone()))
        .map(|(_, transition)| Change::Remove {
            at: transition.below(&scope.base),
        })
        .collect())
}

pub(super) fn move_state(
    tree: &Tree,
    scope: &Scope,
    name: &str,
    place: &Place,
) -> Result<Vec<Change>, Refusal> {
    let at = scope.state(tree, name)?;
    let node = scope.states().get(&tree.root)?.clone();
    let names = names_of(&node);
    let from = names.iter().position(|known| *known == name);
    let to = index_of(&names, place)?;
    // Counted without the state that is moved.
    let index = if from.is_some_and(|from| from < to) {
        to - 1
    } else {
        to
    };
    if from == Some(index) {
        return Ok(Vec::new());
    }
    Ok(vec![Change::Move { at, index }])
}
