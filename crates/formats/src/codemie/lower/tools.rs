//! States that run a tool without a model.

use interlock_core::machine::{OnCrash, State as Lowered};
use interlock_nodes::Node as _;

use super::task;
use crate::codemie::{
    syntax::{State, Tool},
    works,
};

/// Tools that only read, and so may be run again after a crash.
const READERS: [&str; 5] = [
    "read_file",
    "list_files",
    "search",
    "search_knowledge_base",
    "get_document_by_id",
];

/// Creates the state of a tool, without its transitions.
pub(super) fn state(state: &State, tool: &Tool, strict: bool) -> Lowered {
    let work = works::tool(tool, state.arguments.as_ref(), strict);
    let reads = tool.server.is_none() && READERS.contains(&tool.tool.text.as_str());
    let on_crash = if reads { OnCrash::Retry } else { OnCrash::Ask };
    let policy = state.policy.clone().unwrap_or_default();
    match work.task() {
        Ok(work) => task(work, policy, on_crash),
        Err(_) => Lowered::default(),
    }
}
