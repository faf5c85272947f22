//! opencode: the names of its tools.

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

use crate::client::Tool;

/// opencode's tools, as its documentation has them.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new(
        "bash",
        Shape::Shell {
            dialect: Dialect::Unknown,
            line: "command",
            directory: Some("workdir"),
        },
    )
    .known_as("Bash"),
    Tool::new(
        "edit",
        Shape::Edit {
            path: "filePath",
            fields: EditFields::CAMEL,
        },
    )
    .known_as("Edit"),
    Tool::new(
        "multiedit",
        Shape::MultiEdit {
            path: "filePath",
            edits: "edits",
            fields: EditFields::CAMEL,
        },
    )
    .known_as("MultiEdit"),
    Tool::new(
        "write",
        Shape::Write {
            path: "filePath",
            content: "content",
        },
    )
    .known_as("Write"),
    Tool::new("patch", Shape::Patch { text: "patchText" }).known_as("apply_patch"),
    Tool::new("apply_patch", Shape::Patch { text: "patchText" }),
    Tool::new(
        "read",
        Shape::Read {
            paths: &["filePath"],
        },
    )
    .known_as("Read"),
    Tool::new("list", Shape::Read { paths: &["path"] }).known_as("LS"),
    Tool::new("grep", Shape::Read { paths: &["path"] }).known_as("Grep"),
    Tool::new("glob", Shape::Read { paths: &["path"] }).known_as("Glob"),
    Tool::new("webfetch", Shape::Other).known_as("WebFetch"),
    Tool::new("websearch", Shape::Other).known_as("WebSearch"),
    Tool::new("todowrite", Shape::Other).known_as("TodoWrite"),
    Tool::new("task", Shape::SubAgent).known_as("Task"),
];
