//! MCP servers behind a state machine, and the control tools by which an agent moves on.
//!
//! A [`session`] carries messages between a client and servers over links,
//! whatever transport drives those; it asks who governs before a call passes.
//! [`Control`] answers the control tools and knows no protocol. Nothing here
//! approves, deactivates, forces a state or replaces a workflow. Decides
//! nothing: the engine does.

// The control tools: what a model sees, asks and is told.
mod answer;
mod arguments;
mod asks;
mod control;
mod live;
mod refused;
mod tools;

// Messages, and how they come and go: over standard streams and over HTTP, from clients and to servers.
pub mod downstream;
pub mod serve;
pub mod stdio;
mod streams;
pub mod upstream;

// One client's session with all servers, and what it is asked while requests are under way.
mod server_set;
pub mod session;

// Who governs a session: the one part of the protocol that knows a run.
pub mod govern;
mod governor_queue;

mod error;
pub mod metrics;
mod settings;

pub use answer::Answer;
pub use control::{Control, Incoming};
pub use error::GatewayError;
pub use interlock_mcp::{channel, message, notes};
pub(crate) use interlock_mcp::{era, fields, headers as mcp_headers, lines};
pub use refused::Word;
pub use server_set::ServerSet;
pub use settings::{Settings, StartedFor, ToolPrefix, UnknownPrefix};
pub use tools::{ToolText, control_tool, instructions, listed_tools};

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
