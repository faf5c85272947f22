//! The tools of each client: their common names, and how their arguments are parsed.

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

/// The argument, in every client, that contains the line of a shell.
pub(crate) const LINE: &str = "command";

pub use compare::{MissingTool, lacks};
pub use offer::{conversation, knows, offered, offered_as, offers};

/// A tool of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// Common name, if it differs from the client's own.
    pub common: Option<&'static str>,
    /// How its arguments are parsed.
    pub shape: Shape,
    /// Whether the client has no tool of this name, although another client has.
    pub foreign: bool,
}

/// Control tools that are offered, without their prefix.
pub(crate) const CONTROL_WORDS: [&str; 6] = [
    "get_state",
    "transition",
    "list_workflows",
    "start",
    "pause",
    "create_workflow",
];

/// Control tools, by their names without the prefix.
const CONTROL: [(&str, ControlTool); 7] = [
    ("get_state", ControlTool::GetState),
    ("transition", ControlTool::Transition),
    ("list_workflows", ControlTool::ListWorkflows),
    ("start", ControlTool::Start),
    ("load_workflow", ControlTool::Start),
    ("pause", ControlTool::Pause),
    ("create_workflow", ControlTool::CreateWorkflow),
];

/// Returns the tool that `client` calls `name`.
///
/// A name that is missing in the client's table but is in that of Claude Code is parsed as that tool, and marked as foreign; any
/// other name has no known effect.
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

/// A call in the common form, from which its facts are determined.
#[derive(Debug, Clone)]
pub struct PlainCall<'a> {
    /// Name by which it is judged.
    pub name: Cow<'a, str>,
    /// The tool.
    pub tool: Tool,
    /// Arguments under the names that the tool's shape uses.
    pub input: Cow<'a, Value>,
}

/// Converts a call to the common form from which its facts are determined.
///
/// Clients have several names for one argument, and several names for one tool.
///
/// # Errors
/// An argument is given under two names, with two values.
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
        // Cursor uses this name for every change of a file.
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

/// Names a tool of the server `server` that only looks like a control tool.
///
/// `a_b` and `c` give the same joined name as `a` and `b_c`.
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
