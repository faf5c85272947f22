//! What a scripted model proposes, in no client's words.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// One thing a model wants done; paths are relative to the project.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// Reads a file.
    Read {
        /// The file.
        path: String,
    },
    /// Looks for a word in the files below a folder.
    Search {
        /// The word.
        word: String,
        /// The folder.
        folder: String,
    },
    /// Writes a file that is not there yet.
    Write {
        /// The file.
        path: String,
        /// All of it.
        content: String,
    },
    /// Replaces whole lines of a file.
    Edit {
        /// The file.
        path: String,
        /// The lines as they are, with their ends.
        old: String,
        /// The lines as they shall be, with their ends.
        new: String,
    },
    /// Runs a shell line.
    Shell {
        /// The line.
        line: String,
    },
    /// Has a sub-agent do something.
    Delegate {
        /// What it is to do.
        task: String,
    },
    /// Calls a tool of an MCP server.
    Tool {
        /// The server, by its name in the client's settings.
        server: String,
        /// The tool, in the server's words.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
}

impl Proposal {
    /// Reads `path`.
    pub fn read(path: &str) -> Proposal {
        let path = path.to_owned();
        Proposal::Read { path }
    }

    /// Looks for `word` in the files below `folder`.
    pub fn search(word: &str, folder: &str) -> Proposal {
        let (word, folder) = (word.to_owned(), folder.to_owned());
        Proposal::Search { word, folder }
    }

    /// Writes `content` to the new file `path`.
    pub fn write(path: &str, content: &str) -> Proposal {
        let (path, content) = (path.to_owned(), content.to_owned());
        Proposal::Write { path, content }
    }

    /// Replaces the lines `old` of `path` by `new`.
    pub fn edit(path: &str, old: &str, new: &str) -> Proposal {
        let (path, old, new) = (path.to_owned(), old.to_owned(), new.to_owned());
        Proposal::Edit { path, old, new }
    }

    /// Has a sub-agent do `task`.
    pub fn delegate(task: &str) -> Proposal {
        let task = task.to_owned();
        Proposal::Delegate { task }
    }

    /// Runs `line`.
    pub fn shell(line: &str) -> Proposal {
        let line = line.to_owned();
        Proposal::Shell { line }
    }

    /// Calls `tool` of `server`.
    pub fn tool(server: &str, tool: &str, arguments: Value) -> Proposal {
        let (server, tool) = (server.to_owned(), tool.to_owned());
        Proposal::Tool {
            server,
            tool,
            arguments,
        }
    }
}

/// The line that looks for `word` below `folder`, where a client offers nothing but a shell for it.
pub(crate) fn search_line(word: &str, folder: &str) -> String {
    format!("grep -rn {word} {folder}")
}

type Turn = dyn Fn(usize) -> Option<Proposal> + Send + Sync;

/// What the model proposes at each turn; one call a turn, the next when its result came back.
#[derive(Clone)]
pub struct Script(Arc<Turn>);

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script(..)")
    }
}

impl Script {
    /// One proposal after the other, then the end.
    pub fn calls(proposals: Vec<Proposal>) -> Script {
        Script::new(move |turn| proposals.get(turn).cloned())
    }

    /// Proposes by a function of the turn; a client may ask for the same turn more than once.
    pub fn new(propose: impl Fn(usize) -> Option<Proposal> + Send + Sync + 'static) -> Script {
        Script(Arc::new(propose))
    }

    pub(crate) fn turn(&self, turn: usize) -> Option<Proposal> {
        (self.0)(turn)
    }
}
