//! A tool call without facts.

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    names::{CallId, Digest},
};

/// Returns a call of `tool` without facts; tests add those that they need.
pub(crate) fn call(id: &str, tool: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Other,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts::default(),
    }
}
