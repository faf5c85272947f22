//! Checks of a pipeline: names that exist, forks that join, ends that can be reached.

mod flow;
mod forks;
mod holds;
mod models;
mod names;
mod reach;
mod tools;
mod uses;

use std::collections::HashSet;

use indexmap::IndexMap;
use interlock_core::{guard::Guard, names::GuardName};
use interlock_expr::nearest::nearest;

use super::syntax::Pipeline;
use crate::{diagnostic::Report, spans::Spans};

use flow::Flow;

/// A pipeline while it is checked.
pub(super) struct Check<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) guards: &'p IndexMap<GuardName, Guard>,
    pub(super) report: &'p mut Report,
    pub(super) spans: &'p Spans,
}

impl<'p> Check<'p> {
    /// Reports everything that only the whole file shows.
    ///
    /// Returns the stages that only run in a branch that another stage joins.
    pub(super) fn run(mut self) -> HashSet<&'p str> {
        let named = self.names();
        let flow = Flow::of(self.pipeline);
        let forked = self.forks(&flow);
        // Consequences of an unknown name are not reported.
        if named && forked && !self.pipeline.incomplete {
            self.reach(&flow);
        }
        self.uses(&flow, named && forked && !self.pipeline.incomplete);
        self.holds();
        self.tools();
        self.writers(&flow);
        self.models();
        flow.inside()
    }

    /// Suggests the stage that was likely meant.
    fn near_stage(&self, name: &str) -> String {
        let known = self.pipeline.stages.keys().map(String::as_str);
        nearest(name, known).map_or_else(String::new, |near| format!(": did you mean `{near}`?"))
    }
}
