//! Errors and warnings in flows whose syntax could be parsed.

mod arguments;
mod cycles;
mod shell;
mod structure;
mod tasks;
mod variables;

pub(super) use shell::is_safe;
pub(super) use variables::names;

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{
    reader::Flow,
    syntax::{Action, Doing, Output, State},
    tools,
};
use crate::{diagnostic::Report, source::Workflows};

/// Checks flows and reports problems.
pub(super) struct Check<'r> {
    pub(super) flows: &'r [Flow],
    pub(super) report: &'r mut Report,
    pub(super) others: &'r dyn Workflows,
}

impl Check<'_> {
    /// Checks every flow; warnings are only reported for the first one's own file and the flows it calls.
    pub(super) fn run(&mut self) {
        let flows = self.flows;
        let known = variables::Known::of(flows);
        for (at, flow) in flows.iter().enumerate() {
            self.structure(flow);
            self.tasks(flow);
            self.arguments(flow);
            self.calls(at, flow);
            self.variables(at, flow, &known);
            self.shell(at, flow, &known);
        }
    }

    /// Warns of effects of a called flow that its caller does not show.
    fn calls(&mut self, at: usize, flow: &Flow) {
        let mut names: Vec<(String, usize)> = Vec::new();
        let mut repeated = Vec::new();
        let mut circular = Vec::new();
        super::reader::each_action(&flow.states, &mut |action| {
            let Doing::SubFlow(call) = &action.doing else {
                return;
            };
            let Some((written, called)) = target(flow, call) else {
                return;
            };
            let name = self.namespace(call, called);
            if self.reaches(called, at) {
                circular.push((written.span, written.text.clone()));
            }
            if names.iter().any(|(known, _)| *known == name) {
                repeated.push((written.span, name));
            } else {
                names.push((name, called));
            }
        });
        for (span, name) in repeated {
            self.report
                .warning(
                    span,
                    "captured_twice",
                    format!("two states call a sub-flow as `{name}`: the later one's variables replace the earlier one's"),
                )
                .help("give one of them a name of its own with `as`");
        }
        for (span, name) in circular {
            self.report
                .warning(
                    span,
                    "circular_call",
                    format!(
                        "`{name}` comes back to this workflow: calls end at 16 within each other"
                    ),
                )
                .help("make sure that some state ends without the call");
        }
    }

    /// Returns the namespace of a call's variables.
    fn namespace(&self, call: &super::syntax::SubFlow, called: usize) -> String {
        let alias = call.alias.as_ref().map(|name| name.text.clone());
        alias.unwrap_or_else(|| {
            let flow = self.flows.get(called);
            flow.map(|flow| flow.name.clone()).unwrap_or_default()
        })
    }

    /// Returns whether the flow `from` calls `to`, directly or indirectly.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut open = vec![from];
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                let calls = self.flows.get(at).map(|flow| flow.calls.values());
                open.extend(calls.into_iter().flatten().copied());
            }
        }
        false
    }
}

/// Returns the name in a call and the flow it refers to.
pub(super) fn target<'s>(
    flow: &Flow,
    call: &'s super::syntax::SubFlow,
) -> Option<(&'s super::syntax::Named, usize)> {
    let written = call.workflow.as_ref()?;
    let key = (written.span.file, written.text.clone());
    flow.calls.get(&key).map(|called| (written, *called))
}

/// Returns whether an action has an output that can be captured.
pub(super) fn has_output(action: &Action) -> bool {
    match &action.doing {
        Doing::Work(_) => tools::tool(&action.tool.text).is_none_or(|tool| tool.output),
        Doing::Test { op, .. } => *op != interlock_core::machine::TestOp::Value,
        Doing::SubFlow(_) | Doing::Custom(_) | Doing::Broken => true,
        Doing::Parallel(_) | Doing::ForEach(_) => false,
    }
}

/// A place where an output is captured.
pub(super) struct Captured<'s> {
    pub(super) output: &'s Output,
    pub(super) action: &'s Action,
    /// Whether it is in the body of a for-each.
    pub(super) in_loop: bool,
}

/// Calls `see` with every output that states and tasks capture.
pub(super) fn each_output<'s>(
    states: &'s IndexMap<String, State>,
    in_loop: bool,
    see: &mut impl FnMut(Captured<'s>),
) {
    for state in states.values() {
        if let Some(output) = &state.output {
            see(Captured {
                output,
                action: &state.action,
                in_loop,
            });
        }
        outputs_within(&state.action, in_loop, see);
    }
}

fn outputs_within<'s>(action: &'s Action, in_loop: bool, see: &mut impl FnMut(Captured<'s>)) {
    match &action.doing {
        Doing::Parallel(parallel) => {
            for task in &parallel.tasks {
                if let Some(output) = &task.output {
                    see(Captured {
                        output,
                        action: &task.action,
                        in_loop,
                    });
                }
                outputs_within(&task.action, in_loop, see);
            }
        }
        Doing::ForEach(each) => {
            outputs_within(&each.items, in_loop, see);
            each_output(&each.states, true, see);
        }
        _ => {}
    }
}
