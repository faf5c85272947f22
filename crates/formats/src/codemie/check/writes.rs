//! States that write, and whether a person is asked on every path to them.

use std::collections::BTreeSet;

use super::graph::{followers, state};
use crate::codemie::{
    notes::{Notes, shown},
    syntax::{Does, State, Workflow},
};

/// Built-in tools that may write.
const WRITERS: [&str; 2] = ["write_file", "bash"];

pub(super) fn check(workflow: &Workflow, notes: &mut Notes<'_>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let first = workflow.states.first().map(|state| state.id.text.as_str());
    let mut open: Vec<&str> = first.into_iter().collect();
    while let Some(name) = open.pop() {
        let Some(state) = state(workflow, name) else {
            continue;
        };
        // After a gate, a person has approved.
        if state.asks_before || !seen.insert(name) {
            continue;
        }
        open.extend(followers(state));
    }
    for state in workflow.states.iter() {
        let Some(tool) = writer(workflow, state) else {
            continue;
        };
        if seen.contains(state.id.text.as_str()) {
            notes
                .report
                .warning(
                    state.id.span,
                    "ungated_write",
                    format!(
                        "`{}` may write with `{tool}`, and no person is asked on a way to it",
                        shown(&state.id.text)
                    ),
                )
                .help("add `interrupt_before: true` to it, or to a state before it");
        }
    }
}

/// Returns the tool with which a state may write.
fn writer<'w>(workflow: &'w Workflow, state: &State) -> Option<&'w str> {
    let writes = |name: &&str| WRITERS.contains(name);
    match state.does.as_ref()? {
        Does::Tool(id) => {
            let tool = workflow.tools.iter().find(|tool| tool.id.text == id.text)?;
            Some(tool.tool.text.as_str()).filter(writes)
        }
        Does::Assistant(id) => {
            let mut assistants = workflow.assistants.iter();
            let assistant = assistants.find(|one| one.id.text == id.text)?;
            let mut names = assistant.tools.iter().map(|tool| tool.name.text.as_str());
            names.find(writes)
        }
        Does::Node(_) => None,
    }
}
