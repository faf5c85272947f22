//! Rows of the clients' tables of tools.

use interlock_facts::{EditFields, Shape};
use interlock_shell::Dialect;

/// A tool of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// The client's name of the tool.
    pub(super) name: &'static str,
    /// How its arguments are parsed.
    pub(super) shape: Shape,
    /// Whether the program was observed to offer it to its model without further settings.
    pub(super) offered: bool,
}

/// Creates a tool that the program was observed to offer.
pub(super) const fn offered(name: &'static str, shape: Shape) -> Row {
    Row {
        name,
        shape,
        offered: true,
    }
}

/// Creates a tool of other versions or of sessions with other settings, or a name that only its hooks use.
pub(super) const fn other(name: &'static str, shape: Shape) -> Row {
    Row {
        name,
        shape,
        offered: false,
    }
}

pub(super) const BASH: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: None,
    environment: None,
};
pub(super) const SHELL_IN: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "command",
    directory: Some("directory"),
    environment: None,
};
/// Runs every line with bash, whatever shell its person has.
pub(super) const BASH_IN: Shape = Shape::Shell {
    dialect: Dialect::Bash,
    line: "command",
    directory: Some("directory"),
    environment: None,
};
/// Types into a running program, which may be a shell.
pub(super) const TYPED: Shape = Shape::Shell {
    dialect: Dialect::Unknown,
    line: "input",
    directory: None,
    environment: None,
};
pub(super) const FOREIGN: Shape = Shape::Shell {
    dialect: Dialect::Foreign,
    line: "command",
    directory: None,
    environment: None,
};
/// Types into such a shell with another argument.
pub(super) const TYPED_FOREIGN: Shape = Shape::Shell {
    dialect: Dialect::Foreign,
    line: "input",
    directory: None,
    environment: None,
};
pub(super) const EDIT: Shape = Shape::Edit {
    path: "file_path",
    fields: EditFields::SNAKE,
};
pub(super) const EDIT_COUNTED: Shape = Shape::Edit {
    path: "file_path",
    fields: EditFields::COUNTED,
};
pub(super) const EDIT_CAMEL: Shape = Shape::Edit {
    path: "filePath",
    fields: EditFields::CAMEL,
};
pub(super) const WRITE: Shape = Shape::Write {
    path: "file_path",
    content: "content",
};
pub(super) const WRITE_CAMEL: Shape = Shape::Write {
    path: "filePath",
    content: "content",
};
pub(super) const PATCH: Shape = Shape::Patch { text: "command" };

/// Shows lines of files.
pub(super) const GREP: Shape = Shape::Search {
    places: &["path", "paths", "dir_path"],
    files: &["glob", "include"],
    contents: true,
};
/// Names files.
pub(super) const GLOB: Shape = Shape::Search {
    places: &["path", "paths", "dir_path"],
    files: &["pattern"],
    contents: false,
};

/// Accesses the web through the client, not from this machine's shell.
pub(super) const WEB: Shape = Shape::Other;
/// Reads what MCP servers offer besides their tools.
pub(super) const OF_SERVERS: Shape = Shape::Other;
/// Does something else, also on this machine: allowed if it is listed.
pub(super) const ELSE: Shape = Shape::Other;
/// Only affects the conversation: asks the person, keeps lists, finds tools, changes modes that Interlock ignores, and follows up
/// on calls that were judged when they began.
pub(super) const CONVERSATION: Shape = Shape::Conversation;

/// Reads instructions whose files may name commands, for which older clients call no hook.
pub(super) const SKILL: Shape = Shape::Unheld(
    "the commands in a skill's own file run as it is loaded, and older clients ask no hook about them",
);
/// Runs on the machines of the client's vendor.
pub(super) const REMOTE: Shape =
    Shape::Unheld("what it starts runs on another machine, where this run does not guard it");
/// Runs code in an interpreter of the client.
pub(super) const CODE: Shape =
    Shape::Unheld("which calls its code makes cannot be read before it runs");
