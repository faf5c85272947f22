//! Checks that every state is reachable, and that every path ends.

use std::collections::BTreeSet;

use crate::codemie::{
    notes::{Notes, shown},
    state::END,
    syntax::{State, Way, Workflow},
};

pub(super) fn check(workflow: &Workflow, notes: &mut Notes<'_>) {
    // A transition that could not be parsed may lead anywhere: its consequences are not reported.
    let unread = |state: &State| match &state.next {
        Some(next) => matches!(next.way, Way::Broken),
        None => true,
    };
    if workflow.incomplete.contains(&"states")
        || workflow.states.iter().any(unread)
        || has_loose_end(workflow)
    {
        return;
    }
    let reached = reached(workflow);
    let lost = |state: &&State| !reached.contains(state.id.text.as_str());
    for state in workflow.states.iter().filter(lost) {
        notes
            .doubt(
                state.id.span,
                "unreachable",
                format!("nothing leads to the state `{}`", shown(&state.id.text)),
            )
            .help("lead to it from another state, or remove it");
    }
    no_way_out(workflow, &reached, notes);
}

/// Returns whether a name refers to no state, which is reported where it is written.
fn has_loose_end(workflow: &Workflow) -> bool {
    let known = |name: &str| name == END || state(workflow, name).is_some();
    workflow
        .states
        .iter()
        .flat_map(followers)
        .any(|name| !known(name))
}

pub(super) fn state<'w>(workflow: &'w Workflow, id: &str) -> Option<&'w State> {
    workflow.states.iter().find(|state| state.id.text == id)
}

/// Returns every state that may follow one, including `end`.
pub(super) fn followers(state: &State) -> Vec<&str> {
    let ways = state.next.iter().flat_map(|next| next.way.targets());
    let names = ways.chain(&state.on_error);
    names.map(|target| target.text.as_str()).collect()
}

/// Returns every state that a run can reach.
pub(super) fn reached(workflow: &Workflow) -> BTreeSet<&str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = workflow
        .states
        .first()
        .map(|state| state.id.text.as_str())
        .into_iter()
        .collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(state(workflow, name).map(followers).unwrap_or_default());
        }
    }
    reached
}

/// Reports states that can never reach an end.
fn no_way_out(workflow: &Workflow, reached: &BTreeSet<&str>, notes: &mut Notes<'_>) {
    let mut ends: BTreeSet<&str> = BTreeSet::from([END]);
    loop {
        let before = ends.len();
        for state in &workflow.states {
            if followers(state).iter().any(|name| ends.contains(name)) {
                ends.insert(&state.id.text);
            }
        }
        if ends.len() == before {
            break;
        }
    }
    let endless = |state: &&State| {
        let id = state.id.text.as_str();
        reached.contains(id) && !ends.contains(id)
    };
    if let Some(first) = workflow.states.iter().find(endless) {
        notes
            .report
            .warning(
                first.id.span,
                "no_way_to_end",
                format!("no way leads from `{}` to `end`", shown(&first.id.text)),
            )
            .help("the run stops at `recursion_limit`; lead one way to `end`");
    }
}
