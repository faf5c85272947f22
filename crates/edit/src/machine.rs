//! The second check of an edit: the machine is the old one with exactly that operation applied.

use std::collections::BTreeSet;

use interlock_core::machine::Machine;
use interlock_formats::{Node, Source, Tree, Workflows, load};
use serde_json::Value;

use crate::{
    operation::Operation,
    path::Path,
    refusal::{Refusal, Why},
    scope::Scope,
};

/// Compares the machines of two texts, if both have one.
///
/// A file that is being written need not have one; reporting what is wrong with it is up to `check`.
pub(crate) fn check(
    (old, new): (&Source, &Source),
    written: &[String],
    operation: &Operation,
    scope: &Scope,
    others: &dyn Workflows,
) -> Result<(), Refusal> {
    let machine = |source: &Source| {
        let loaded = load(source, scope.workflow.as_deref(), others).ok()?;
        match &scope.inner {
            None => Some(loaded.machine),
            Some(inner) => loaded.machine.machines.get(inner.as_str()).cloned(),
        }
    };
    let Some(old) = machine(old) else {
        return Ok(());
    };
    let removes = matches!(operation, Operation::RemoveState { .. });
    let new = match machine(new) {
        Some(new) => new,
        // This crate knows what leads to a state in native workflows only; for others, their reader says so.
        None if removes && !scope.is_native => return Err(missed(new, others)),
        None => return Ok(()),
    };
    let same = match operation {
        Operation::RenameState { name, to }
        | Operation::RenameGuard { name, to }
        | Operation::RenameEvent {
            event: name, to, ..
        } => renamed(&old, &new, name, to),
        other => match touched(other, scope).filter(|_| scope.is_native) {
            Some(touched) => written
                .iter()
                .filter(|name| !touched.contains(*name))
                .all(|name| old.states.get(name.as_str()) == new.states.get(name.as_str())),
            None => true,
        },
    };
    if same {
        Ok(())
    } else {
        Err(Refusal::new(
            Why::Machine,
            "the workflow would do something else elsewhere: edit the text",
        ))
    }
}

/// Returns the refusal for a workflow that would lack a state.
fn missed(new: &Source, others: &dyn Workflows) -> Refusal {
    let found = load(new, None, others).err().unwrap_or_default();
    let first = found.first().map(|first| first.message.as_str());
    let why = first.unwrap_or("the workflow would not be in order");
    Refusal::new(Why::InUse, format!("it cannot be removed: {why}"))
        .help("lead what leads to it elsewhere first")
}

/// Returns the names of the states that are written in a file; a machine has more, which are derived from them.
pub(crate) fn states_of(tree: &Tree, scope: &Scope) -> Vec<String> {
    let states = scope.states().find(&tree.root);
    let entries = states.map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| entry.key.clone()).collect()
}

/// Returns the states that an operation may change; `None` if it may change any.
fn touched(operation: &Operation, scope: &Scope) -> Option<BTreeSet<String>> {
    let one = |name: &str| Some(BTreeSet::from([name.to_owned()]));
    match operation {
        Operation::AddState { name, .. }
        | Operation::RemoveState {
            name,
            with_transitions: false,
        } => one(name),
        Operation::SetTransition { state, .. } | Operation::RemoveTransition { state, .. } => {
            one(state)
        }
        Operation::MoveState { .. } | Operation::SetInitial { .. } => Some(BTreeSet::new()),
        Operation::Set { at, .. } | Operation::Remove { at } => {
            let at: Path = at.parse().ok()?;
            at.word_below(&scope.states()).and_then(one)
        }
        _ => None,
    }
}

/// Returns whether two machines differ in nothing but a name.
fn renamed(old: &Machine, new: &Machine, name: &str, to: &str) -> bool {
    let value = |machine: &Machine| {
        let mut machine = machine.clone();
        machine.hash.clear();
        for inner in machine.machines.values_mut() {
            inner.hash.clear();
        }
        serde_json::to_value(machine).ok()
    };
    match (value(old), value(new)) {
        (Some(old), Some(new)) => differ_by_name(&old, &new, name, to),
        _ => false,
    }
}

fn differ_by_name(old: &Value, new: &Value, name: &str, to: &str) -> bool {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len()
                && old
                    .iter()
                    .zip(new)
                    .all(|(old, new)| differ_by_name(old, new, name, to))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && old.iter().zip(new).all(|((old_key, old), (new_key, new))| {
                    text_is_same(old_key, new_key, name, to) && differ_by_name(old, new, name, to)
                })
        }
        (Value::String(old), Value::String(new)) => text_is_same(old, new, name, to),
        (old, new) => old == new,
    }
}

/// Returns whether two texts are the same apart from a name in them.
fn text_is_same(old: &str, new: &str, name: &str, to: &str) -> bool {
    old == new
        || old.replace(name, to) == new
        || old
            .split('/')
            .map(|part| if part == name { to } else { part })
            .eq(new.split('/'))
}
