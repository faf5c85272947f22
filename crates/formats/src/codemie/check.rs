//! Checks of a completely parsed file.

mod data;
mod graph;
mod references;
mod templates;
mod writes;

use super::{notes::Notes, syntax::Workflow};
use crate::source::Workflows;

/// Reports everything that is wrong between the parts of a workflow.
pub(super) fn check(workflow: &Workflow, others: &dyn Workflows, notes: &mut Notes<'_>) {
    references::check(workflow, others, notes);
    graph::check(workflow, notes);
    data::check(workflow, notes);
    templates::check(workflow, notes);
    writes::check(workflow, notes);
}
