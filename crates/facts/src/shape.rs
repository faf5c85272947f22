//! How the arguments of a tool are parsed.

use interlock_core::call::{CallKind, ControlTool};
use interlock_shell::Dialect;

/// How the arguments of a tool are parsed: the meaning of each.
///
/// Each client's table of tools assigns one to every known name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One of Interlock's own tools.
    Control(ControlTool),
    /// Starts a sub-agent.
    SubAgent,
    /// Runs a shell line.
    Shell {
        /// The shell.
        dialect: Dialect,
        /// Argument with the line.
        line: &'static str,
        /// Argument with the directory in which it runs, if the call can set it.
        directory: Option<&'static str>,
        /// Argument with variables for the line, if the call can set them.
        environment: Option<&'static str>,
    },
    /// Replaces text in a file.
    Edit {
        /// Argument with the file.
        path: &'static str,
        /// Fields of the replacement.
        fields: EditFields,
    },
    /// Replaces several texts in a file, one after the other.
    MultiEdit {
        /// Argument with the file.
        path: &'static str,
        /// Argument with the list of edits.
        edits: &'static str,
        /// Fields of each edit.
        fields: EditFields,
    },
    /// Writes an entire file.
    Write {
        /// Argument with the file.
        path: &'static str,
        /// Argument with its text.
        content: &'static str,
    },
    /// Changes a cell of a notebook.
    Notebook {
        /// Argument with the file.
        path: &'static str,
    },
    /// Applies a patch that names its files.
    Patch {
        /// Argument with the patch.
        text: &'static str,
    },
    /// Removes a file.
    Delete {
        /// Argument with the file.
        path: &'static str,
    },
    /// Reads what these arguments name, if given.
    Read {
        /// Arguments with files, directories, or lists of them.
        paths: &'static [&'static str],
    },
    /// Searches a directory recursively.
    Search {
        /// Arguments with the directory; by default the working directory.
        places: &'static [&'static str],
        /// Arguments with patterns of files, relative to that directory.
        files: &'static [&'static str],
        /// Whether it shows the contents of files, not only their names.
        contents: bool,
    },
    /// Only manages the conversation.
    Conversation,
    /// Starts or continues sub-agents, with another tool than the usual one.
    SubAgents,
    /// Runs code that only starts sub-agents.
    Script {
        /// Argument with the code.
        text: &'static str,
    },
    /// Sends a message to an agent, which may belong to another session.
    Message {
        /// Argument with its address.
        to: &'static str,
    },
    /// Schedules a prompt for this session.
    Prompt {
        /// Argument with the prompt.
        text: &'static str,
    },
    /// Starts something that the run cannot guard, with the reason.
    Unheld(&'static str),
    /// Anything else.
    Other,
}

/// Names of the fields of one replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditFields {
    /// Field with the text to replace.
    pub old: &'static str,
    /// Field with the new text.
    pub new: &'static str,
    /// Field that says whether to replace every occurrence.
    pub all: &'static str,
}

impl EditFields {
    /// Names that most clients use.
    pub const SNAKE: Self = Self {
        old: "old_string",
        new: "new_string",
        all: "replace_all",
    };
    /// Names of clients that give the number of replacements.
    pub const COUNTED: Self = Self {
        old: "old_string",
        new: "new_string",
        all: "expected_replacements",
    };
    /// Names in camel case.
    pub const CAMEL: Self = Self {
        old: "oldString",
        new: "newString",
        all: "replaceAll",
    };
}

impl Shape {
    /// Returns the kind by which the engine distinguishes calls.
    #[must_use]
    pub const fn kind(self) -> CallKind {
        match self {
            Self::Control(tool) => CallKind::Control(tool),
            Self::SubAgent | Self::SubAgents | Self::Script { .. } | Self::Message { .. } => {
                CallKind::SubAgent
            }
            Self::Conversation | Self::Prompt { .. } => CallKind::Conversation,
            Self::Shell { .. } => CallKind::Shell,
            Self::Edit { .. }
            | Self::MultiEdit { .. }
            | Self::Write { .. }
            | Self::Notebook { .. }
            | Self::Patch { .. }
            | Self::Delete { .. } => CallKind::Edit,
            Self::Read { .. } | Self::Search { .. } | Self::Unheld(_) | Self::Other => {
                CallKind::Other
            }
        }
    }
}
