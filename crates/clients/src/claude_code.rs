//! Claude Code: its tools, its hook input, its answers.

mod input;
mod output;
mod results;

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

use crate::client::Tool;

pub(crate) use input::read;
pub(crate) use output::write;
pub(crate) use results::outcome;

// The person's own shell runs it, which may be zsh.
const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: None,
};

/// Claude Code's tools. Those in no row are no shell and write no file.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new("Bash", SHELL),
    Tool::new("Monitor", SHELL).known_as("Bash"),
    Tool::new(
        "PowerShell",
        Shape::Shell {
            dialect: Dialect::Foreign,
            line: "command",
            directory: None,
        },
    )
    .known_as("Bash"),
    Tool::new(
        "Edit",
        Shape::Edit {
            path: "file_path",
            fields: EditFields::SNAKE,
        },
    ),
    Tool::new(
        "MultiEdit",
        Shape::MultiEdit {
            path: "file_path",
            edits: "edits",
            fields: EditFields::SNAKE,
        },
    ),
    Tool::new(
        "Write",
        Shape::Write {
            path: "file_path",
            content: "content",
        },
    ),
    Tool::new(
        "NotebookEdit",
        Shape::Notebook {
            path: "notebook_path",
        },
    ),
    Tool::new("apply_patch", Shape::Patch { text: "command" }),
    Tool::new(
        "Read",
        Shape::Read {
            paths: &["file_path"],
        },
    ),
    Tool::new(
        "NotebookRead",
        Shape::Read {
            paths: &["notebook_path"],
        },
    ),
    Tool::new("Grep", Shape::Read { paths: &["path"] }),
    Tool::new("Glob", Shape::Read { paths: &["path"] }),
    Tool::new("LS", Shape::Read { paths: &["path"] }),
    Tool::new("Task", Shape::SubAgent),
    Tool::new("Agent", Shape::SubAgent).known_as("Task"),
];
