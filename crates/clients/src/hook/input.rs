//! A hook call, whichever client makes it.

use interlock_core::names::AgentId;
use serde_json::Value;

/// A hook call, whichever client makes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookInput {
    /// What happens.
    pub(crate) event: HookEvent,
    /// The event in the client's own words.
    pub(crate) named: String,
    /// The session's id in the client's own words.
    pub(crate) session: String,
    /// The directory the agent works in.
    pub(crate) directory: String,
    /// The sub-agent that acts; `None`: the main agent.
    pub(crate) agent: Option<AgentId>,
    /// Whether a question reaches a person.
    pub(crate) asks: bool,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookEvent {
    /// A session begins, or goes on after its text was cut short.
    SessionStart,
    /// A person says something.
    Prompt,
    /// A tool is about to run.
    BeforeTool(ToolUse),
    /// A tool has run.
    AfterTool(ToolUse, ToolEnd),
    /// The agent wants to stop.
    Stop {
        /// Whether it was told to go on just before.
        again: bool,
    },
    /// A sub-agent begins.
    AgentStart,
    /// The session ends.
    SessionEnd,
    /// Anything else.
    Other,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolUse {
    /// The client's own name of the tool.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) input: Value,
    /// A key that stands twice in them, as a pointer.
    pub(crate) doubled: Option<String>,
    /// The client's id of the call, where it has one.
    pub(crate) id: Option<String>,
}

/// How a tool call ended, in the client's own words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolEnd {
    /// With a result.
    Succeeded(Value),
    /// With an error.
    Failed(Value),
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether it succeeded.
    pub(crate) ok: bool,
    /// The exit code of a shell line, where it is known for sure.
    pub(crate) exit: Option<i64>,
    /// Bytes of its result.
    pub(crate) bytes: u64,
}
