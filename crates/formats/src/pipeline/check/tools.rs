//! Tools that no stage can have, and siblings that may both write.

use interlock_core::{names::StateName, policy::wildcard_matches};
use interlock_tool_names::WRITERS;
use interlock_validate::{Location, Place};

use super::{Check, flow::Flow};
use crate::{pipeline::syntax::Stage, source::Span, stage};

impl Check<'_> {
    /// Warns of listed tools that are available to no stage.
    pub(super) fn tools(&mut self) {
        for (id, stage) in &self.pipeline.stages {
            let listed = stage.policy.allowed_tools.iter().flatten().enumerate();
            for (index, tool) in listed {
                if *tool == stage.parts.completion_tool {
                    continue;
                }
                let place = Place::AllowedTool(StateName::new(id.clone()), index);
                let span = self.span(place, stage.span);
                self.missing(tool, span);
            }
        }
    }

    fn missing(&mut self, tool: &str, span: Span) {
        let of_run = self.pipeline.settings.tools.as_ref();
        let overlaps =
            |listed: &String| wildcard_matches(listed, tool) || wildcard_matches(tool, listed);
        if of_run.is_some_and(|tools| !tools.iter().any(overlaps)) {
            self.report
                .warning(
                    span,
                    "missing_tool",
                    format!(
                        "`{tool}` is not among the tools of the run, so the stage goes without it"
                    ),
                )
                .help("add it to `tools` below `settings`, or remove it");
        } else if !stage::may_be_given(tool) {
            self.report
                .warning(
                    span,
                    "missing_tool",
                    format!("`{tool}` is not a built-in tool: the stage goes without it unless an MCP server has it"),
                )
                .help(format!("the built-in ones are {}; a tool of a server is `SERVER__TOOL`", stage::BUILT_IN.join(", ")));
        }
    }

    /// Warns of siblings that may both write: they share one working tree.
    pub(super) fn writers(&mut self, flow: &Flow<'_>) {
        for at in 0..flow.chains.len() {
            let Some(fork) = flow.fork(at) else { continue };
            let mut writers = Vec::new();
            for sibling in flow.siblings(at) {
                let within = flow.within((at, sibling));
                let stages = within.iter().enumerate().filter(|(_, seen)| **seen);
                let mut writing = stages.filter_map(|(at, _)| {
                    let (id, stage) = flow.stage(at)?;
                    may_write(stage).then_some(id)
                });
                writers.extend(writing.next());
            }
            if let [first, second, ..] = writers.as_slice() {
                self.report
                    .warning(
                        fork.span,
                        "two_writers",
                        format!("`{first}` and `{second}` may both write at the same time, and share one working tree"),
                    )
                    .help("narrow `allowedTools` of all but one, or have them follow each other");
            }
        }
    }

    /// Returns the position of `place`.
    pub(super) fn span(&self, place: Place, otherwise: Span) -> Span {
        let at = Location {
            machine: None,
            place,
        };
        self.spans.find(&at).unwrap_or(otherwise)
    }
}

fn may_write(stage: &Stage) -> bool {
    WRITERS.iter().any(|tool| stage.policy.lets_pass(&[tool]))
}
