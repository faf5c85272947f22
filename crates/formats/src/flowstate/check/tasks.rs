//! Tasks of `parallel` that cannot run concurrently.

use std::collections::BTreeSet;

use super::{Check, target};
use crate::flowstate::{
    reader::{Flow, each_action, within},
    syntax::{Action, Doing, Output, Parallel},
    values::shown,
};

/// Tools that need a person, so that nothing can run concurrently.
const ALONE: [&str; 3] = ["pause", "ask-user", "claude-code"];

impl Check<'_> {
    /// Checks the tasks of every `parallel` of a flow.
    pub(super) fn tasks(&mut self, flow: &Flow) {
        let mut forks: Vec<&Parallel> = Vec::new();
        each_action(&flow.states, &mut |action| {
            if let Doing::Parallel(parallel) = &action.doing {
                forks.push(parallel);
            }
        });
        for fork in forks {
            for task in &fork.tasks {
                self.task(&task.action, flow);
            }
            self.captured_twice(fork);
        }
    }

    fn task(&mut self, action: &Action, flow: &Flow) {
        let name = action.tool.text.as_str();
        if name == "switch" {
            self.report
                .error(
                    action.tool.span,
                    "not_in_task",
                    "`switch` cannot be a task: a task leads nowhere",
                )
                .help("use a sub-flow");
            return;
        }
        if ALONE.contains(&name) {
            self.report
                .error(
                    action.tool.span,
                    "not_in_task",
                    format!("`{name}` needs a person and cannot run beside others"),
                )
                .help("put it before or after the `parallel` state");
            return;
        }
        if matches!(action.doing, Doing::Parallel(_)) {
            // Its own tasks are checked separately.
            return;
        }
        if let Some(inner) = self.person_in(action, flow) {
            self.report
                .error(
                    action.tool.span,
                    "not_in_task",
                    format!("`{name}` holds `{inner}`, which needs a person and cannot run beside others"),
                )
                .help("put that state before or after the `parallel` state");
        }
    }

    /// Finds a tool that needs a person within an action, following calls.
    fn person_in(&self, action: &Action, flow: &Flow) -> Option<&'static str> {
        let mut found = None;
        let mut open: Vec<usize> = Vec::new();
        let mut see = |action: &Action, flow: &Flow, open: &mut Vec<usize>| {
            let name = ALONE.into_iter().find(|name| action.tool.text == *name);
            found = found.or(name);
            if let Doing::SubFlow(call) = &action.doing {
                open.extend(target(flow, call).map(|(_, called)| called));
            }
        };
        within(action, &mut |inner| see(inner, flow, &mut open));
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if let Some(called) = self.flows.get(at).filter(|_| seen.insert(at)) {
                each_action(&called.states, &mut |inner| see(inner, called, &mut open));
            }
        }
        found
    }

    fn captured_twice(&mut self, fork: &Parallel) {
        let mut known = BTreeSet::new();
        for task in &fork.tasks {
            if let Some(Output::Variable(name)) = &task.output
                && !known.insert(name.text.as_str())
            {
                self.report
                    .warning(
                        name.span,
                        "captured_twice",
                        format!(
                            "two tasks capture `{}`: the later one in the list wins",
                            shown(&name.text)
                        ),
                    )
                    .help("give each a name of its own");
            }
        }
    }
}
