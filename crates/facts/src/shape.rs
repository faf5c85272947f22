//! How the arguments of a tool are to be read.

use interlock_core::call::{CallKind, ControlTool};
use interlock_shell::Dialect;

/// How the arguments of a tool are to be read: which of them holds what.
///
/// Each client's table of tools gives one to every name it knows.
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
        /// Holds the line.
        line: &'static str,
        /// Holds the directory it runs in, where the call can say so.
        directory: Option<&'static str>,
        /// Holds variables for the line, where the call can set some.
        environment: Option<&'static str>,
    },
    /// Replaces text in a file.
    Edit {
        /// Holds the file.
        path: &'static str,
        /// The rest.
        fields: EditFields,
    },
    /// Replaces several texts in a file, one after the other.
    MultiEdit {
        /// Holds the file.
        path: &'static str,
        /// Holds the list of edits.
        edits: &'static str,
        /// What each edit holds.
        fields: EditFields,
    },
    /// Writes a file whole.
    Write {
        /// Holds the file.
        path: &'static str,
        /// Holds its text.
        content: &'static str,
    },
    /// Changes a cell of a notebook.
    Notebook {
        /// Holds the file.
        path: &'static str,
    },
    /// Applies a patch that names its files.
    Patch {
        /// Holds the patch.
        text: &'static str,
    },
    /// Removes a file.
    Delete {
        /// Holds the file.
        path: &'static str,
    },
    /// Reads what these arguments name, if they are there.
    Read {
        /// Hold files, directories, or lists of them.
        paths: &'static [&'static str],
    },
    /// Looks through a directory and all below it.
    Search {
        /// Hold the directory; the working directory where they are not there.
        places: &'static [&'static str],
        /// Hold patterns of files, counted from that directory.
        files: &'static [&'static str],
        /// Whether it shows what files hold, and not their names alone.
        contents: bool,
    },
    /// Manages the conversation and touches nothing else.
    Conversation,
    /// Starts sub-agents, or has one go on, by another tool than the one that is named for it.
    SubAgents,
    /// Runs code that starts sub-agents and does nothing else.
    Script {
        /// Holds the code.
        text: &'static str,
    },
    /// Writes to an agent, which may be one of another session.
    Message {
        /// Holds its address.
        to: &'static str,
    },
    /// Has a prompt given to this session later.
    Prompt {
        /// Holds the prompt.
        text: &'static str,
    },
    /// Starts something that nothing holds to the run, in words that say why.
    Unheld(&'static str),
    /// Anything else.
    Other,
}

/// What the arguments of one replacement are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditFields {
    /// Holds the text that goes.
    pub old: &'static str,
    /// Holds the text that comes.
    pub new: &'static str,
    /// Tells whether every place is meant.
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
    /// Returns the kind the engine tells calls apart by.
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
