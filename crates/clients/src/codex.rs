//! Codex: the names of its tools.

use interlock_facts::Shape;
use interlock_shell::Dialect;

use crate::client::Tool;

const SHELL: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: Some("workdir"),
};

/// Codex's tools; its shell is seen as `Bash`, whatever the model calls it.
pub(crate) const TOOLS: &[Tool] = &[
    Tool::new("Bash", SHELL),
    Tool::new("shell_command", SHELL).known_as("Bash"),
    Tool::new(
        "exec_command",
        Shape::Shell {
            dialect: Dialect::Unknown,
            line: "cmd",
            directory: Some("workdir"),
        },
    )
    .known_as("Bash"),
    Tool::new("apply_patch", Shape::Patch { text: "command" }),
    Tool::new("spawn_agent", Shape::SubAgent).known_as("Task"),
    Tool::new("web_search", Shape::Other).known_as("WebSearch"),
    Tool::new("view_image", Shape::Read { paths: &["path"] }).known_as("Read"),
];
