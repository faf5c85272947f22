//! The second check of an edit: the machine is the old one with exactly that operation applied.

use std::collections::BTreeSet;

use interlock_core::machine::Machine;
use interlock_formats::{Source, Tree, Workflows, load};
use serde_json::Value;

use crate::{
    operation::Operation,
    refusal::{Refusal, Why},
};

/// Compares the machines of two texts, where both have one.
///
/// A file that is being written need not have one; what is wrong with it is for `check` to say.
pub(crate) fn check(
    old: &Source,
    new: &Source,
    operation: &Operation,
    others: &dyn Workflows,
) -> Result<(), Refusal> {
    let is_native = Tree::read(new).is_ok_and(|tree| tree.format == "native");
    let machines = load(old, None, others)
        .ok()
        .zip(load(new, None, others).ok());
    let Some((old, new)) = machines else {
        return Ok(());
    };
    let same = match operation {
        Operation::RenameState { name, to }
        | Operation::RenameGuard { name, to }
        | Operation::RenameEvent {
            event: name, to, ..
        } => renamed(&old.machine, &new.machine, name, to),
        other => match touched(other).filter(|_| is_native) {
            Some(touched) => others_same(&old.machine, &new.machine, &touched),
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

/// Returns the states that an operation may change; `None`: it may change any.
fn touched(operation: &Operation) -> Option<BTreeSet<String>> {
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
            let mut words = at.split('/').skip(1);
            match (words.next(), words.next(), words.next()) {
                (Some("states"), Some(state), Some(_)) => {
                    one(&state.replace("~1", "/").replace("~0", "~"))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Tells whether all states but these are the same; states that no file names belong to those that make them.
fn others_same(old: &Machine, new: &Machine, touched: &BTreeSet<String>) -> bool {
    old.states.iter().all(|(name, state)| {
        touched.contains(name.as_str())
            || name
                .as_str()
                .contains(|letter: char| !(letter.is_alphanumeric() || "_-. ".contains(letter)))
            || new.states.get(name).is_some_and(|other| other == state)
    })
}

/// Tells whether two machines differ in nothing but a name.
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
                    text_differs(old_key, new_key, name, to) && differ_by_name(old, new, name, to)
                })
        }
        (Value::String(old), Value::String(new)) => text_differs(old, new, name, to),
        (old, new) => old == new,
    }
}

/// Tells whether two texts are the same but for a name in them.
fn text_differs(old: &str, new: &str, name: &str, to: &str) -> bool {
    old == new
        || old.replace(name, to) == new
        || old
            .split('/')
            .map(|part| if part == name { to } else { part })
            .eq(new.split('/'))
}
