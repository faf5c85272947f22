//! The tools of each client: what they are called elsewhere, and how their arguments are read.

use interlock_core::{call::ControlTool, tools::all_names};
use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

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
};
const SHELL_IN: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: Some("directory"),
};
const FOREIGN: Shape = Shape::Shell {
    dialect: Dialect::Foreign,
    line: "command",
    directory: None,
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
    places: &["path", "dir_path"],
    files: &["glob", "include"],
    contents: true,
};
/// Names files.
const GLOB: Shape = Shape::Search {
    places: &["path", "dir_path"],
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
    ("shell", BASH),
    ("shell_command", BASH),
    ("exec_command", BASH),
    ("local_shell", BASH),
    ("unified_exec", BASH),
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
];

const GEMINI: &[Row] = &[
    ("run_shell_command", SHELL_IN),
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
];

const COPILOT: &[Row] = &[
    ("bash", BASH),
    ("powershell", FOREIGN),
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
    ("Delete", Shape::Delete { path: "file_path" }),
    ("Grep", GREP),
    ("Task", Shape::SubAgent),
];

const OPENCODE: &[Row] = &[
    ("bash", BASH),
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
