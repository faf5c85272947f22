//! The clients, and the names they have for their tools.

use std::{fmt, str::FromStr};

use interlock_core::call::ControlTool;
use interlock_facts::Shape;
use interlock_shell::Dialect;
use serde_json::Value;

use crate::{claude_code, codex, copilot, cursor, gemini, opencode};

/// An agent program with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientId {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
    /// opencode.
    Opencode,
}

/// No client has this id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown client `{wanted}`; known: {known}")]
pub struct UnknownClient {
    wanted: String,
    known: String,
}

impl ClientId {
    /// Every client, in the order they are listed.
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Copilot,
        Self::Cursor,
        Self::Opencode,
    ];

    /// Returns the id, as commands and files have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::Opencode => "opencode",
        }
    }

    const fn tools(self) -> &'static [Tool] {
        match self {
            Self::ClaudeCode => claude_code::TOOLS,
            Self::Codex => codex::TOOLS,
            Self::Gemini => gemini::TOOLS,
            Self::Copilot => copilot::TOOLS,
            Self::Cursor => cursor::TOOLS,
            Self::Opencode => opencode::TOOLS,
        }
    }

    /// What stands before the name of a tool of Interlock's own server.
    const fn own_server(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Codex => "mcp__interlock__",
            Self::Gemini => "mcp_interlock_",
            Self::Copilot => "interlock-",
            Self::Cursor => "MCP:",
            Self::Opencode => "interlock_",
        }
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ClientId {
    type Err = UnknownClient;

    fn from_str(text: &str) -> Result<Self, UnknownClient> {
        let found = Self::ALL.into_iter().find(|client| client.as_str() == text);
        found.ok_or_else(|| UnknownClient {
            wanted: text.to_owned(),
            known: Self::ALL.map(Self::as_str).join(", "),
        })
    }
}

/// One row of a client's table of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The client's own name.
    pub native: &'static str,
    /// The common name, where that is another.
    pub common: Option<&'static str>,
    /// How its arguments are to be read.
    pub shape: Shape,
}

impl Tool {
    pub(crate) const fn new(native: &'static str, shape: Shape) -> Self {
        Self {
            native,
            common: None,
            shape,
        }
    }

    pub(crate) const fn known_as(self, common: &'static str) -> Self {
        Self {
            common: Some(common),
            ..self
        }
    }
}

/// What a client's name for a tool means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recognised {
    /// The common name, where that is another.
    pub common: Option<&'static str>,
    /// How its arguments are to be read.
    pub shape: Shape,
}

/// The names of the control tools, and those that circulate for them.
const CONTROL: [(&str, ControlTool); 13] = [
    ("interlock_get_state", ControlTool::GetState),
    ("interlock_transition", ControlTool::Transition),
    ("interlock_list_workflows", ControlTool::ListWorkflows),
    ("interlock_start", ControlTool::Start),
    ("interlock_pause", ControlTool::Pause),
    ("interlock_create_workflow", ControlTool::CreateWorkflow),
    ("statewright_get_state", ControlTool::GetState),
    ("statewright_transition", ControlTool::Transition),
    ("statewright_list_workflows", ControlTool::ListWorkflows),
    ("statewright_load_workflow", ControlTool::Start),
    ("statewright_pause", ControlTool::Pause),
    ("statewright_start", ControlTool::Start),
    ("statewright_create_workflow", ControlTool::CreateWorkflow),
];

/// Finds the control tool of that name, as Interlock's own server lists it.
#[must_use]
pub fn control_tool(name: &str) -> Option<ControlTool> {
    CONTROL
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, tool)| *tool)
}

/// Says what a tool of `client` is, from its name, or else from its arguments.
///
/// A name in no table that carries a command line is taken for a shell of
/// which nothing is known.
#[must_use]
pub fn recognise(client: ClientId, name: &str, input: &Value) -> Recognised {
    let own = name.strip_prefix(client.own_server());
    if let Some(tool) = own.and_then(control_tool) {
        return Recognised {
            common: None,
            shape: Shape::Control(tool),
        };
    }
    if let Some(tool) = client.tools().iter().find(|tool| tool.native == name) {
        return Recognised {
            common: tool.common,
            shape: tool.shape,
        };
    }
    let line = ["command", "cmd", "script"]
        .into_iter()
        .find(|field| input.get(field).is_some_and(|value| !value.is_null()));
    let shape = match line {
        Some(line) if !is_of_server(client, name) => Shape::Shell {
            dialect: Dialect::Unknown,
            line,
            directory: None,
        },
        _ => Shape::Other,
    };
    Recognised {
        common: None,
        shape,
    }
}

/// Tells whether a name is that of a server's tool, whose arguments are its own.
fn is_of_server(client: ClientId, name: &str) -> bool {
    match client {
        ClientId::ClaudeCode | ClientId::Codex => name.starts_with("mcp__"),
        ClientId::Gemini => name.starts_with("mcp_"),
        ClientId::Copilot => name.contains('-'),
        ClientId::Cursor => name.starts_with("MCP:"),
        ClientId::Opencode => name.contains('_'),
    }
}
