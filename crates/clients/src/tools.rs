//! The tools of each client: what they are called elsewhere, and how their arguments are read.

mod aliases;
mod argv;
mod claude_code;
mod codex;
mod compare;
mod copilot;
mod cursor;
mod editor;
mod gemini;
mod offer;
mod opencode;
mod patches;
mod rows;

use std::borrow::Cow;

use interlock_core::call::ControlTool;
use interlock_facts::Shape;
use interlock_tool_names::all_names;
use serde_json::Value;

use crate::{client::ClientId, served::own_tool};
use rows::{EDIT, Row};

/// The argument of every client that holds the line a shell is started for.
pub(crate) const LINE: &str = "command";

pub use compare::{MissingTool, lacks};
pub use offer::{conversation, knows, offered, offered_as, offers};

/// What is known of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The common name, when it has another than the client's own.
    pub common: Option<&'static str>,
    /// How its arguments are read.
    pub shape: Shape,
    /// Whether the client has no tool of this name, though another client has one.
    pub foreign: bool,
}

/// The control tools that are offered, by what follows their prefix.
pub(crate) const CONTROL_WORDS: [&str; 6] = [
    "get_state",
    "transition",
    "list_workflows",
    "start",
    "pause",
    "create_workflow",
];

/// The control tools, by what follows their prefix.
const CONTROL: [(&str, ControlTool); 7] = [
    ("get_state", ControlTool::GetState),
    ("transition", ControlTool::Transition),
    ("list_workflows", ControlTool::ListWorkflows),
    ("start", ControlTool::Start),
    ("load_workflow", ControlTool::Start),
    ("pause", ControlTool::Pause),
    ("create_workflow", ControlTool::CreateWorkflow),
];

/// Returns what is known of the tool that `client` calls `name`.
///
/// A name that is in no table of the client but in that of Claude Code is read
/// as that one, and stays foreign; any other is known to do nothing in particular.
#[must_use]
pub fn tool(client: ClientId, name: &str) -> Tool {
    if let Some(control) = control_tool(client, name) {
        return Tool {
            common: None,
            shape: Shape::Control(control),
            foreign: false,
        };
    }
    let own = find(table(client), name);
    let names = all_names(name);
    Tool {
        common: names.first().copied().filter(|common| *common != name),
        shape: own
            .or_else(|| find(claude_code::ROWS, name))
            .unwrap_or(Shape::Other),
        foreign: own.is_none() && !names.is_empty(),
    }
}

/// A call in the one form that its facts are found in.
#[derive(Debug, Clone)]
pub struct PlainCall<'a> {
    /// The name it is judged by.
    pub name: Cow<'a, str>,
    /// What is known of the tool.
    pub tool: Tool,
    /// The arguments, under the names that its shape reads.
    pub input: Cow<'a, Value>,
}

/// Brings a call into the one form that its facts are found in.
///
/// Clients have several names for one argument, and one tool in the clothes of another.
///
/// # Errors
/// An argument stands there twice under two names, with two values.
pub fn plain_call<'a>(
    client: ClientId,
    name: &'a str,
    input: &'a Value,
) -> Result<PlainCall<'a>, String> {
    if client == ClientId::Codex
        && let Some(patch) = patches::in_line(name, input)
    {
        return patch.map(|input| PlainCall {
            name: Cow::Borrowed("apply_patch"),
            tool: tool(client, "apply_patch"),
            input: Cow::Owned(input),
        });
    }
    if editor::NAMES.contains(&name) {
        let (work, shape) = editor::work(input)?;
        let foreign = client != ClientId::Copilot;
        return Ok(PlainCall {
            name: Cow::Borrowed(if foreign { name } else { work }),
            tool: Tool {
                common: foreign.then_some(work),
                shape,
                foreign,
            },
            input: Cow::Borrowed(input),
        });
    }
    let input = argv::joined(aliases::renamed(client, name, input)?, name);
    let replaces = |field: &str| input.get(field).is_some_and(Value::is_string);
    let tool = match tool(client, name) {
        // Cursor calls every change of a file so.
        known @ Tool {
            shape: Shape::Write { .. },
            ..
        } if client == ClientId::Cursor && replaces("old_string") => Tool {
            shape: EDIT,
            ..known
        },
        known => known,
    };
    Ok(PlainCall {
        name: Cow::Borrowed(name),
        tool,
        input,
    })
}

/// Returns which control tool `client` calls `name`; only the server `interlock` has any.
#[must_use]
pub fn control_tool(client: ClientId, name: &str) -> Option<ControlTool> {
    let own = own_tool(client, name)?;
    let rest = own
        .strip_prefix("interlock_")
        .or_else(|| own.strip_prefix("statewright_"))?;
    CONTROL
        .iter()
        .find(|(known, _)| *known == rest)
        .map(|(_, control)| *control)
}

/// Names a tool of the server `server`, which may only look like a control tool.
///
/// `a_b` and `c` may be joined to what `a` and `b_c` are joined to.
pub(crate) fn of_server(client: ClientId, name: String, server: &str) -> String {
    if server != "interlock" && control_tool(client, &name).is_some() {
        return format!("{server}:{name}");
    }
    name
}

const fn table(client: ClientId) -> &'static [Row] {
    match client {
        ClientId::ClaudeCode => claude_code::ROWS,
        ClientId::Codex => codex::ROWS,
        ClientId::Gemini => gemini::ROWS,
        ClientId::Copilot => copilot::ROWS,
        ClientId::Cursor => cursor::ROWS,
        ClientId::Opencode => opencode::ROWS,
    }
}

fn find(table: &[Row], name: &str) -> Option<Shape> {
    table
        .iter()
        .find(|row| row.name == name)
        .map(|row| row.shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_client_is_foreign() {
        for (client, name, foreign) in [
            (ClientId::ClaudeCode, "Read", false),
            (ClientId::ClaudeCode, "read", true),
            (ClientId::ClaudeCode, "run_shell_command", true),
            (ClientId::ClaudeCode, "mcp__docs__read", false),
            (ClientId::ClaudeCode, "Unheard", false),
            (ClientId::Codex, "Bash", false),
            (ClientId::Codex, "Read", true),
            (ClientId::Gemini, "read_file", false),
            (ClientId::Opencode, "read", false),
            (ClientId::Copilot, "view", false),
            (ClientId::Cursor, "read_file", true),
        ] {
            assert_eq!(
                tool(client, name).foreign,
                foreign,
                "{} {name}",
                client.word()
            );
        }
    }
}
