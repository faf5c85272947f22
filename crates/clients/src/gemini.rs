//! Gemini CLI: the names of its tools.

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

use crate::client::Tool;

const GREP: Shape = Shape::Read {
    paths: &["path", "dir_path"],
};

/// Gemini CLI's tools.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new(
        "run_shell_command",
        Shape::Shell {
            dialect: Dialect::Bash,
            line: "command",
            directory: Some("dir_path"),
        },
    )
    .known_as("Bash"),
    Tool::new(
        "replace",
        Shape::Edit {
            path: "file_path",
            fields: EditFields::REPEATED,
        },
    )
    .known_as("Edit"),
    Tool::new(
        "write_file",
        Shape::Write {
            path: "file_path",
            content: "content",
        },
    )
    .known_as("Write"),
    Tool::new(
        "read_file",
        Shape::Read {
            paths: &["file_path", "absolute_path"],
        },
    )
    .known_as("Read"),
    Tool::new(
        "read_many_files",
        Shape::Read {
            paths: &["paths", "include"],
        },
    )
    .known_as("Read"),
    Tool::new(
        "list_directory",
        Shape::Read {
            paths: &["path", "dir_path"],
        },
    )
    .known_as("LS"),
    Tool::new("glob", GREP).known_as("Glob"),
    Tool::new("search_file_content", GREP).known_as("Grep"),
    Tool::new("grep_search", GREP).known_as("Grep"),
    Tool::new("web_fetch", Shape::Other).known_as("WebFetch"),
    Tool::new("google_web_search", Shape::Other).known_as("WebSearch"),
    Tool::new("write_todos", Shape::Other).known_as("TodoWrite"),
    Tool::new("delegate_to_agent", Shape::SubAgent).known_as("Task"),
];
