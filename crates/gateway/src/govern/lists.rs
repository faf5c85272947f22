//! The tools that a client sees in the present state of its run. This is only a courtesy: each call is judged anyway.

use interlock_core::{
    machine::{Machine, State},
    names::{FramePath, StateName},
    policy::{OnDenied, Policy},
    run::Run,
};
use interlock_tool_names::served_names;

use super::ListedTool;

/// What the list depends on; `None` if nothing is hidden.
pub(super) type Standing = Option<Stand>;

/// The state of every region of a run, and how many changed tools a person has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stand {
    lines: Vec<(FramePath, StateName)>,
    accepted: usize,
}

/// Returns the states of every region of an open run.
pub(super) fn standing(run: &Run) -> Standing {
    if run.is_over() {
        return None;
    }
    let leaves = run.open_leaves().into_iter();
    let at = leaves.filter_map(|path| {
        let at = run.frame(&path)?.at.clone();
        Some((path, at))
    });
    Some(Stand {
        lines: at.collect(),
        accepted: run.tools_accepted.len(),
    })
}

/// Returns for each tool whether some region of the run may call it or ask for it.
pub(super) fn shown(machine: &Machine, run: &Run, tools: &[ListedTool<'_>]) -> Vec<bool> {
    if run.is_over() {
        return vec![true; tools.len()];
    }
    let policies: Vec<&Policy> = run
        .open_leaves()
        .iter()
        .filter_map(|path| Some(&state(machine, run, path)?.policy))
        .collect();
    tools
        .iter()
        .map(|tool| {
            let names = served_names(tool.server, tool.name);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            policies.iter().any(|policy| passes(policy, &names))
        })
        .collect()
}

/// Returns the current state of a region of the run.
pub(super) fn state<'m>(machine: &'m Machine, run: &Run, path: &FramePath) -> Option<&'m State> {
    let frame = run.frame(path)?;
    let own = machine.called(frame.machine.as_ref())?;
    own.states.get(&frame.at)
}

fn passes(policy: &Policy, names: &[&str]) -> bool {
    let listed = policy.lists_as_written(names) || policy.on_denied == OnDenied::Ask;
    listed && !policy.disallows(names)
}
