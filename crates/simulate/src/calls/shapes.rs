//! What the tools of each client are called and how their arguments are read.
//!
//! Stands here until the clients' own tables do.

use interlock_core::{call::ControlTool, tools::common_name};
use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

/// The clients whose tool names are known.
pub(super) const CLIENTS: [&str; 6] = [
    "claude-code",
    "codex",
    "gemini",
    "copilot",
    "cursor",
    "opencode",
];

/// Interlock's own tools, after either prefix.
const CONTROL: [(&str, ControlTool); 7] = [
    ("get_state", ControlTool::GetState),
    ("transition", ControlTool::Transition),
    ("list_workflows", ControlTool::ListWorkflows),
    ("start", ControlTool::Start),
    ("load_workflow", ControlTool::Start),
    ("pause", ControlTool::Pause),
    ("create_workflow", ControlTool::CreateWorkflow),
];

/// What a client writes before a tool of the server that `init` registers.
const SERVER: [(&str, &str); 6] = [
    ("claude-code", "mcp__interlock__"),
    ("codex", "mcp__interlock__"),
    ("gemini", "mcp_interlock_"),
    ("copilot", "interlock-"),
    ("cursor", "mcp__interlock__"),
    ("opencode", "interlock_"),
];

/// Returns the common name of a client's tool and how its arguments are read.
pub(super) fn tool(client: &str, name: &str) -> (Option<&'static str>, Shape) {
    if let Some(control) = control(client, name) {
        return (None, Shape::Control(control));
    }
    let common = common_name(name);
    if name == "delete_file" {
        return (common, Shape::Delete { path: "path" });
    }
    (common, shape(client, common.unwrap_or(name)))
}

fn control(client: &str, name: &str) -> Option<ControlTool> {
    let (_, server) = SERVER.iter().find(|(known, _)| *known == client)?;
    let own = name.strip_prefix(server)?;
    let tool = own
        .strip_prefix("interlock_")
        .or_else(|| own.strip_prefix("statewright_"))?;
    let found = CONTROL.iter().find(|(known, _)| *known == tool);
    found.map(|(_, control)| *control)
}

/// Returns how the arguments of a tool are read, by its common name.
fn shape(client: &str, common: &str) -> Shape {
    let camel = client == "opencode";
    let path = match client {
        "copilot" => "path",
        "opencode" => "filePath",
        _ => "file_path",
    };
    let fields = match client {
        "copilot" => EditFields {
            old: "old_str",
            new: "new_str",
            all: "replace_all",
        },
        _ if camel => EditFields::CAMEL,
        _ => EditFields::SNAKE,
    };
    match common {
        "Bash" => Shape::Shell {
            dialect: Dialect::Bash,
            line: "command",
            directory: (client != "claude-code").then_some("directory"),
        },
        "Edit" => Shape::Edit { path, fields },
        "MultiEdit" => Shape::MultiEdit {
            path,
            edits: "edits",
            fields,
        },
        "Write" => Shape::Write {
            path,
            content: if client == "copilot" {
                "file_text"
            } else {
                "content"
            },
        },
        "NotebookEdit" => Shape::Notebook {
            path: "notebook_path",
        },
        "apply_patch" => Shape::Patch {
            text: if camel { "patchText" } else { "command" },
        },
        "Read" => Shape::Read {
            paths: &["file_path", "absolute_path", "path", "filePath", "paths"],
        },
        "Grep" | "Glob" | "LS" => Shape::Read {
            paths: &["path", "dir_path"],
        },
        "Task" => Shape::SubAgent,
        _ => Shape::Other,
    }
}
