//! Proposals of a scripted model, independent of any client.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// An action that a model proposes; paths are relative to the project.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// Reads a file.
    Read {
        /// The file.
        path: String,
    },
    /// Searches for a word in the files below a folder.
    Search {
        /// The word.
        word: String,
        /// The folder.
        folder: String,
    },
    /// Writes a new file.
    Write {
        /// The file.
        path: String,
        /// Its whole content.
        content: String,
    },
    /// Replaces whole lines of a file.
    Edit {
        /// The file.
        path: String,
        /// The present lines, with line ends.
        old: String,
        /// The new lines, with line ends.
        new: String,
    },
    /// Runs a shell line.
    Shell {
        /// The line.
        line: String,
    },
    /// Delegates a task to a sub-agent.
    Delegate {
        /// The task.
        task: String,
    },
    /// Calls a tool of an MCP server.
    Tool {
        /// The server, by its name in the client's settings.
        server: String,
        /// The tool, by its name on the server.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
}

impl Proposal {
    /// Returns a proposal to read `path`.
    pub fn read(path: &str) -> Proposal {
        let path = path.to_owned();
        Proposal::Read { path }
    }

    /// Returns a proposal to search for `word` in the files below `folder`.
    pub fn search(word: &str, folder: &str) -> Proposal {
        let (word, folder) = (word.to_owned(), folder.to_owned());
        Proposal::Search { word, folder }
    }

    /// Returns a proposal to write `content` to the new file `path`.
    pub fn write(path: &str, content: &str) -> Proposal {
        let (path, content) = (path.to_owned(), content.to_owned());
        Proposal::Write { path, content }
    }

    /// Returns a proposal to replace the lines `old` of `path` by `new`.
    pub fn edit(path: &str, old: &str, new: &str) -> Proposal {
        let (path, old, new) = (path.to_owned(), old.to_owned(), new.to_owned());
        Proposal::Edit { path, old, new }
    }

    /// Returns a proposal to delegate `task` to a sub-agent.
    pub fn delegate(task: &str) -> Proposal {
        let task = task.to_owned();
        Proposal::Delegate { task }
    }

    /// Returns a proposal to run `line`.
    pub fn shell(line: &str) -> Proposal {
        let line = line.to_owned();
        Proposal::Shell { line }
    }

    /// Returns a proposal to call `tool` of `server`.
    pub fn tool(server: &str, tool: &str, arguments: Value) -> Proposal {
        let (server, tool) = (server.to_owned(), tool.to_owned());
        Proposal::Tool {
            server,
            tool,
            arguments,
        }
    }
}

/// Returns the line that searches for `word` below `folder`, for clients that can only use a shell for it.
pub(crate) fn search_line(word: &str, folder: &str) -> String {
    format!("grep -rn {word} {folder}")
}

type Turn = dyn Fn(usize) -> Option<Proposal> + Send + Sync;

/// The model's proposal at each turn: one call per turn, the next after its result.
#[derive(Clone)]
pub struct Script(Arc<Turn>);

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script(..)")
    }
}

impl Script {
    /// Makes the given proposals one after the other, then ends.
    pub fn calls(proposals: Vec<Proposal>) -> Script {
        Script::new(move |turn| proposals.get(turn).cloned())
    }

    /// Makes proposals by a function of the turn; a client may request the same turn more than once.
    pub fn new(propose: impl Fn(usize) -> Option<Proposal> + Send + Sync + 'static) -> Script {
        Script(Arc::new(propose))
    }

    pub(crate) fn turn(&self, turn: usize) -> Option<Proposal> {
        (self.0)(turn)
    }
}
