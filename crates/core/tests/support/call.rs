//! A call of a tool of which nothing is known.

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    names::{CallId, Digest},
};

/// Makes a call of `tool` without facts; tests lay over it what they ask about.
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
