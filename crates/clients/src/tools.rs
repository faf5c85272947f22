//! The tools of each client: what they are called elsewhere, and how their arguments are read.

mod aliases;
mod argv;
mod editor;
mod patches;

use std::borrow::Cow;

use interlock_core::{call::ControlTool, tools::all_names};
use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;
use serde_json::Value;

use crate::{client::ClientId, served::gateway_prefix};

/// What is known of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The common name, when it has another than the client's own.
    pub common: Option<&'static str>,
    /// How its arguments are read.
    pub shape: Shape,
}

/// A row of a client's table: the client's own name, and how the arguments are read.
type Row = (&'static str, Shape);

const BASH: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: None,
    environment: None,
};
const SHELL_IN: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: Some("directory"),
    environment: None,
};
/// The client runs every line with bash, whatever shell its person has.
const BASH_IN: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: Some("directory"),
    environment: None,
};
/// Types into a program that runs, which may be a shell.
const TYPED: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "input",
    directory: None,
    environment: None,
};
const FOREIGN: Shape = Shape::Shell {
    dialect: Dialect::Foreign,
    line: "command",
    directory: None,
    environment: None,
};
/// Types into such a shell.
const TYPED_FOREIGN: Shape = Shape::Shell {
    dialect: Dialect::Foreign,
    line: "input",
    directory: None,
    environment: None,
};
const EDIT: Shape = Shape::Edit {
    path: "file_path",
    fields: EditFields::SNAKE,
};
const EDIT_COUNTED: Shape = Shape::Edit {
    path: "file_path",
    fields: EditFields::COUNTED,
};
const EDIT_CAMEL: Shape = Shape::Edit {
    path: "filePath",
    fields: EditFields::CAMEL,
};
const WRITE: Shape = Shape::Write {
    path: "file_path",
    content: "content",
};
const WRITE_CAMEL: Shape = Shape::Write {
    path: "filePath",
    content: "content",
};

/// Shows lines of files.
const GREP: Shape = Shape::Search {
    places: &["path", "paths", "dir_path"],
    files: &["glob", "include"],
    contents: true,
};
/// Names files.
const GLOB: Shape = Shape::Search {
    places: &["path", "paths", "dir_path"],
    files: &["pattern"],
    contents: false,
};

const CLAUDE_CODE: &[Row] = &[
    ("Bash", BASH),
    ("Monitor", BASH),
    ("PowerShell", FOREIGN),
    ("Edit", EDIT),
    ("Write", WRITE),
    (
        "MultiEdit",
        Shape::MultiEdit {
            path: "file_path",
            edits: "edits",
            fields: EditFields::SNAKE,
        },
    ),
    (
        "NotebookEdit",
        Shape::Notebook {
            path: "notebook_path",
        },
    ),
    (
        "Read",
        Shape::Read {
            paths: &["file_path"],
        },
    ),
    (
        "NotebookRead",
        Shape::Read {
            paths: &["notebook_path"],
        },
    ),
    ("Grep", GREP),
    ("Glob", GLOB),
    ("LS", Shape::Read { paths: &["path"] }),
    ("Task", Shape::SubAgent),
    ("Agent", Shape::SubAgent),
    ("apply_patch", Shape::Patch { text: "command" }),
];

const CODEX: &[Row] = &[
    ("Bash", BASH),
    ("shell", SHELL_IN),
    ("shell_command", SHELL_IN),
    ("exec_command", SHELL_IN),
    ("local_shell", SHELL_IN),
    ("unified_exec", SHELL_IN),
    ("container.exec", SHELL_IN),
    ("write_stdin", TYPED),
    ("apply_patch", Shape::Patch { text: "command" }),
    (
        "read_file",
        Shape::Read {
            paths: &["file_path", "path"],
        },
    ),
    ("view_image", Shape::Read { paths: &["path"] }),
    (
        "list_dir",
        Shape::Read {
            paths: &["dir_path", "path"],
        },
    ),
    ("grep_files", GREP),
    ("spawn_agent", Shape::SubAgent),
    ("send_input", Shape::SubAgent),
    ("wait_agent", Shape::SubAgent),
    ("resume_agent", Shape::SubAgent),
    ("close_agent", Shape::SubAgent),
];

const GEMINI: &[Row] = &[
    ("run_shell_command", BASH_IN),
    ("replace", EDIT_COUNTED),
    ("write_file", WRITE),
    (
        "read_file",
        Shape::Read {
            paths: &["file_path", "absolute_path"],
        },
    ),
    (
        "read_many_files",
        Shape::Read {
            paths: &["paths", "include"],
        },
    ),
    (
        "list_directory",
        Shape::Read {
            paths: &["dir_path", "path"],
        },
    ),
    ("search_file_content", GREP),
    ("grep_search", GREP),
    ("glob", GLOB),
    ("invoke_agent", Shape::SubAgent),
];

const COPILOT: &[Row] = &[
    ("bash", BASH_IN),
    ("write_bash", TYPED),
    ("powershell", FOREIGN),
    ("write_powershell", TYPED_FOREIGN),
    (
        "edit",
        Shape::Edit {
            path: "path",
            fields: EditFields {
                old: "old_str",
                new: "new_str",
                all: "replace_all",
            },
        },
    ),
    (
        "create",
        Shape::Write {
            path: "path",
            content: "file_text",
        },
    ),
    ("view", Shape::Read { paths: &["path"] }),
    ("grep", GREP),
    ("glob", GLOB),
    ("task", Shape::SubAgent),
    ("read_agent", Shape::SubAgent),
    ("list_agents", Shape::SubAgent),
    ("write_agent", Shape::SubAgent),
    ("apply_patch", Shape::Patch { text: "command" }),
];

const CURSOR: &[Row] = &[
    ("Shell", SHELL_IN),
    (
        "Read",
        Shape::Read {
            paths: &["file_path", "path"],
        },
    ),
    ("Write", WRITE),
    ("Edit", EDIT),
    ("StrReplace", EDIT),
    ("ApplyPatch", Shape::Patch { text: "command" }),
    (
        "EditNotebook",
        Shape::Notebook {
            path: "notebook_path",
        },
    ),
    ("Delete", Shape::Delete { path: "file_path" }),
    ("Grep", GREP),
    ("Glob", GLOB),
    ("LS", Shape::Read { paths: &["path"] }),
    ("Task", Shape::SubAgent),
];

const OPENCODE: &[Row] = &[
    ("bash", SHELL_IN),
    ("edit", EDIT_CAMEL),
    ("write", WRITE_CAMEL),
    (
        "multiedit",
        Shape::MultiEdit {
            path: "filePath",
            edits: "edits",
            fields: EditFields::CAMEL,
        },
    ),
    ("patch", Shape::Patch { text: "patchText" }),
    ("apply_patch", Shape::Patch { text: "patchText" }),
    (
        "read",
        Shape::Read {
            paths: &["filePath"],
        },
    ),
    ("grep", GREP),
    ("glob", GLOB),
    ("list", Shape::Read { paths: &["path"] }),
    ("task", Shape::SubAgent),
];

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
/// as that one; any other is known to do nothing in particular.
#[must_use]
pub fn tool(client: ClientId, name: &str) -> Tool {
    if let Some(control) = control_tool(client, name) {
        return Tool {
            common: None,
            shape: Shape::Control(control),
        };
    }
    let shape = find(table(client), name)
        .or_else(|| find(CLAUDE_CODE, name))
        .unwrap_or(Shape::Other);
    let common = all_names(name)
        .first()
        .copied()
        .filter(|common| *common != name);
    Tool { common, shape }
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
        let (name, shape) = editor::work(input)?;
        return Ok(PlainCall {
            name: Cow::Borrowed(name),
            tool: Tool {
                common: None,
                shape,
            },
            input: Cow::Borrowed(input),
        });
    }
    let input = argv::joined(aliases::renamed(client, name, input)?, name);
    let replaces = |field: &str| input.get(field).is_some_and(Value::is_string);
    let tool = match tool(client, name) {
        // Cursor calls every change of a file so.
        Tool {
            common,
            shape: Shape::Write { .. },
        } if client == ClientId::Cursor && replaces("old_string") => Tool {
            common,
            shape: EDIT,
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
    let own = name.strip_prefix(gateway_prefix(client))?;
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

/// Tells whether `client` has a tool of its own that it calls `name`.
pub(crate) fn is_known(client: ClientId, name: &str) -> bool {
    find(table(client), name).is_some()
}

const fn table(client: ClientId) -> &'static [Row] {
    match client {
        ClientId::ClaudeCode => CLAUDE_CODE,
        ClientId::Codex => CODEX,
        ClientId::Gemini => GEMINI,
        ClientId::Copilot => COPILOT,
        ClientId::Cursor => CURSOR,
        ClientId::Opencode => OPENCODE,
    }
}

fn find(table: &[Row], name: &str) -> Option<Shape> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, shape)| *shape)
}
