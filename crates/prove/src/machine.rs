//! What is read of a machine with all that it calls.

use std::collections::BTreeSet;

use interlock_core::{
    guard::{Guard, GuardRef, with_parts},
    machine::{Activity, Machine, Over, State},
    names::{GuardName, MachineId},
    policy::OnDenied,
};
use interlock_formats::Predicate;

/// Returns the machine without the guards that neither a transition nor one of `slots` refers to.
pub(crate) fn without_unread_guards(machine: &Machine, slots: &[Predicate]) -> Machine {
    let mut whole = machine.clone();
    let called = std::mem::take(&mut whole.machines);
    keep_read_guards(&mut whole, slots);
    whole.machines = called
        .into_iter()
        .map(|(key, mut one)| {
            keep_read_guards(&mut one, slots);
            (key, one)
        })
        .collect();
    whole
}

fn keep_read_guards(machine: &mut Machine, slots: &[Predicate]) {
    let rules = machine.states.values().flat_map(|state| state.on.values());
    let transitions = rules.flat_map(|rule| &rule.transitions);
    let mut waiting: Vec<&GuardRef> = transitions.flat_map(|one| &one.guards).collect();
    let mut read: BTreeSet<GuardName> = BTreeSet::new();
    for atom in slots.iter().flat_map(Predicate::parts) {
        if let Predicate::Guard(name) = atom
            && let Some((name, guard)) = machine.guards.get_key_value(name.as_str())
            && read.insert(name.clone())
        {
            waiting.extend(guard.items());
        }
    }
    while let Some(guard) = waiting.pop() {
        match guard {
            GuardRef::Inline(guard) => waiting.extend(guard.items()),
            GuardRef::Named(name) => {
                if read.insert(name.clone()) {
                    let guard = machine.guards.get(name);
                    waiting.extend(guard.into_iter().flat_map(Guard::items));
                }
            }
        }
    }
    machine.guards.retain(|name, _| read.contains(name));
}

/// Says what of a machine cannot be proved yet; `None`: everything can.
pub(crate) fn unsupported(machine: &Machine) -> Option<String> {
    if machine.durable {
        return Some(
            "it is a workflow of steps that Interlock runs itself, which `prove` does not read yet"
                .to_owned(),
        );
    }
    for (_, machine) in machines(machine) {
        for (name, state) in &machine.states {
            let what = match &state.activity {
                Activity::Await | Activity::Final { .. } | Activity::Choice | Activity::Call(_) => {
                    None
                }
                Activity::Parallel(parallel) => match parallel.over {
                    Over::Branches(_) if parallel.concurrency.is_none() => None,
                    Over::Branches(_) => Some("branches that wait for their turn"),
                    Over::Items(_) | Over::Lines(_) => Some("items of a list"),
                },
                Activity::Task(_) => Some("a program"),
                Activity::Stage(_) => Some("a model stage"),
                Activity::Ask(_) => Some("a question"),
                Activity::Test(_) => Some("a comparison of texts"),
                Activity::Pause(_) => Some("a pause"),
                Activity::Wait { .. } => Some("a wait"),
            };
            if let Some(what) = what {
                return Some(format!(
                    "`{name}` is {what}, which `prove` does not read yet"
                ));
            }
            if state.policy.on_denied == OnDenied::Ask {
                return Some(format!(
                    "calls that `{name}` does not list are asked for, which `prove` does not read yet"
                ));
            }
            if state.approval_before.is_some() {
                return Some(format!(
                    "`{name}` asks a person before it begins, which `prove` does not read yet"
                ));
            }
            if let Activity::Call(call) = &state.activity
                && (!call.passed.is_empty() || call.namespace.is_some())
            {
                return Some(format!(
                    "`{name}` fills texts into a call, which `prove` does not read yet"
                ));
            }
        }
    }
    let other = all_guards(machine)
        .into_iter()
        .find_map(|guard| match guard {
            Guard::Expression(guard) => Some(format!("the expression `{}` is a guard", guard.text)),
            Guard::Output(_) | Guard::Code(_) | Guard::Uncancelled => {
                Some("a guard reads how an activity ended".to_owned())
            }
            _ => None,
        });
    other.map(|what| format!("{what}, which `prove` does not read yet"))
}

/// Returns the machine and all that it calls, each with its key.
pub(crate) fn machines(machine: &Machine) -> impl Iterator<Item = (Option<MachineId>, &Machine)> {
    let called = machine.machines.iter();
    std::iter::once((None, machine)).chain(called.map(|(key, one)| (Some(key.clone()), one)))
}

/// Returns every guard that is written anywhere.
pub(crate) fn all_guards(machine: &Machine) -> Vec<&Guard> {
    let mut found = Vec::new();
    for (_, machine) in machines(machine) {
        found.extend(machine.guards.values());
        let rules = machine.states.values().flat_map(|state| state.on.values());
        for transition in rules.flat_map(|rule| &rule.transitions) {
            let inline: Vec<&GuardRef> = transition
                .guards
                .iter()
                .filter(|guard| matches!(guard, GuardRef::Inline(_)))
                .collect();
            for guard in inline {
                found.extend(with_parts(&machine.guards, std::slice::from_ref(guard)));
            }
        }
        for guard in machine.guards.values() {
            found.extend(with_parts(&machine.guards, guard.items()));
        }
    }
    found
}

/// Returns whether a state that goes on by itself asks for evidence.
pub(crate) fn goes_on_by_evidence(machine: &Machine) -> bool {
    machines(machine).any(|(_, machine)| {
        let waits = |state: &&State| matches!(state.activity, Activity::Await);
        let by_itself = machine.states.values().filter(|state| !waits(state));
        let rules = by_itself.flat_map(|state| state.on.values());
        let mut transitions = rules.flat_map(|rule| &rule.transitions);
        transitions.any(|transition| {
            let parts = with_parts(&machine.guards, &transition.guards);
            parts
                .iter()
                .any(|guard| matches!(guard, Guard::Evidence(_)))
        })
    })
}
