//! Tools of MCP servers as a run uses them, whether the gateway or a stage calls them.
//!
//! This crate turns a server's configuration into an address or a process to connect to, derives the facts of calls,
//! and compares the definition of each tool with the one that the run first saw. It makes no decisions.

mod calls;
pub mod pins;
mod reach;

use serde_json::Value;

pub use calls::{Files, Identity, ReadingOf, says_read_only};
pub use reach::reach;

/// A tool of a server, as it is listed to a client.
#[derive(Debug, Clone, Copy)]
pub struct ListedTool<'a> {
    /// The server's name in the configuration; empty for the wrapped server.
    pub server: &'a str,
    /// The tool's name on the server.
    pub name: &'a str,
    /// The tool's name as shown to the client.
    pub shown: &'a str,
    /// Its definition as the server last sent it; null if the server does not list the tool.
    pub definition: &'a Value,
}
