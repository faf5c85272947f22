//! Names that properties may use: from the workflow and the table of tools.

use interlock_core::{
    guard::{EvidenceOf, Guard, GuardRef, with_parts},
    machine::Machine,
    policy::wildcard_matches,
};
use interlock_tool_names::all_names;

/// Tools that every client has under one of these names.
const COMMON: [&str; 14] = [
    "Read",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Bash",
    "Grep",
    "Glob",
    "LS",
    "WebFetch",
    "WebSearch",
    "Task",
    "Agent",
    "TodoWrite",
];

fn machines(machine: &Machine) -> impl Iterator<Item = &Machine> {
    std::iter::once(machine).chain(machine.machines.values())
}

pub(super) fn states(machine: &Machine) -> Vec<&str> {
    let states = machines(machine).flat_map(|machine| machine.states.iter());
    states
        .filter(|(_, state)| state.shown_as.is_none())
        .map(|(name, _)| name.as_str())
        .collect()
}

pub(super) fn events(machine: &Machine) -> Vec<&str> {
    let states = machines(machine).flat_map(|machine| machine.states.values());
    states
        .flat_map(|state| state.on.keys())
        .map(interlock_core::names::EventName::as_str)
        .collect()
}

/// Returns the events that a person may be asked about.
pub(super) fn approved(machine: &Machine) -> Vec<&str> {
    let states = machines(machine).flat_map(|machine| machine.states.values());
    states
        .flat_map(|state| state.on.iter())
        .filter(|(_, rule)| rule.transitions.iter().any(|one| one.approval.is_some()))
        .map(|(event, _)| event.as_str())
        .collect()
}

pub(super) fn guards(machine: &Machine) -> Vec<&str> {
    machines(machine)
        .flat_map(|machine| machine.guards.keys())
        .map(interlock_core::names::GuardName::as_str)
        .collect()
}

/// Returns every tool and pattern of tools in the workflow, and the common ones.
pub(super) fn tools(machine: &Machine) -> Vec<String> {
    let mut found: Vec<String> = COMMON.iter().map(|&name| name.to_owned()).collect();
    for machine in machines(machine) {
        for state in machine.states.values() {
            let policy = &state.policy;
            found.extend(policy.allowed_tools.iter().flatten().cloned());
            found.extend(policy.disallowed_tools.iter().cloned());
        }
        let of_rules = machine.states.values().flat_map(|state| state.on.values());
        let inline: Vec<GuardRef> = of_rules
            .flat_map(|rule| &rule.transitions)
            .flat_map(|transition| transition.guards.clone())
            .chain(machine.guards.keys().cloned().map(GuardRef::Named))
            .collect();
        for guard in with_parts(&machine.guards, &inline) {
            if let Guard::Evidence(evidence) = guard
                && let EvidenceOf::Tool { tool, .. } = &evidence.of
            {
                found.push(tool.clone());
            }
        }
    }
    found
}

/// Returns whether `name` is a known tool, or may be one of a server.
pub(super) fn is_tool(machine: &Machine, name: &str) -> bool {
    let known = tools(machine);
    name.starts_with("mcp__")
        || !all_names(name).is_empty()
        || known
            .iter()
            .any(|one| wildcard_matches(name, one) || wildcard_matches(one, name))
}
