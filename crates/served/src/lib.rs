//! Tools of MCP servers as a run sees them, whoever calls them: the gateway for a client, or a stage.
//!
//! How a configured server is reached, what a call of its tools would do, and whether a tool is still the one
//! that the run saw first. Judges nothing.

mod calls;
pub mod pins;
mod reach;

use serde_json::Value;

pub use calls::{Files, Identity, ReadingOf, says_read_only};
pub use reach::reach;

/// A tool of a server, as it may be listed.
#[derive(Debug, Clone, Copy)]
pub struct ListedTool<'a> {
    /// The name of the server in the configuration; empty: the one that is wrapped.
    pub server: &'a str,
    /// The server's own name of the tool.
    pub name: &'a str,
    /// The name under which it is called.
    pub shown: &'a str,
    /// Its definition as the server gave it last; null: the server lists no such tool.
    pub definition: &'a Value,
}
