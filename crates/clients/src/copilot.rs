//! Copilot CLI: the names of its tools.

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

use crate::client::Tool;

const READ: Shape = Shape::Read { paths: &["path"] };

/// Copilot CLI's tools.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new(
        "bash",
        Shape::Shell {
            dialect: Dialect::Bash,
            line: "command",
            directory: None,
        },
    )
    .known_as("Bash"),
    Tool::new(
        "powershell",
        Shape::Shell {
            dialect: Dialect::Foreign,
            line: "command",
            directory: None,
        },
    )
    .known_as("Bash"),
    Tool::new(
        "edit",
        Shape::Edit {
            path: "path",
            fields: EditFields {
                old: "old_str",
                new: "new_str",
                all: "replace_all",
            },
        },
    )
    .known_as("Edit"),
    Tool::new(
        "create",
        Shape::Write {
            path: "path",
            content: "file_text",
        },
    )
    .known_as("Write"),
    Tool::new("view", READ).known_as("Read"),
    Tool::new("grep", READ).known_as("Grep"),
    Tool::new("glob", READ).known_as("Glob"),
    Tool::new("web_fetch", Shape::Other).known_as("WebFetch"),
    Tool::new("web_search", Shape::Other).known_as("WebSearch"),
    Tool::new("task", Shape::SubAgent).known_as("Task"),
];
