//! Cursor: the names of its tools.

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

use crate::client::Tool;

/// Cursor's tools, as its documentation has them.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new(
        "Shell",
        Shape::Shell {
            dialect: Dialect::Unknown,
            line: "command",
            directory: Some("working_directory"),
        },
    )
    .known_as("Bash"),
    Tool::new(
        "Write",
        Shape::Write {
            path: "file_path",
            content: "content",
        },
    ),
    Tool::new(
        "Edit",
        Shape::Edit {
            path: "file_path",
            fields: EditFields::SNAKE,
        },
    ),
    Tool::new("Delete", Shape::Delete { path: "file_path" }).known_as("Write"),
    Tool::new(
        "Read",
        Shape::Read {
            paths: &["file_path", "path"],
        },
    ),
    Tool::new("Grep", Shape::Read { paths: &["path"] }),
    Tool::new("Glob", Shape::Read { paths: &["path"] }),
    Tool::new("LS", Shape::Read { paths: &["path"] }),
    Tool::new("Task", Shape::SubAgent),
];
