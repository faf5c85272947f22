//! MCP servers behind a state machine, and the control tools with which an agent requests transitions.
//!
//! A [`session`] forwards messages between a client and servers over channels, whatever their transport; it asks its policy
//! before a call passes. [`Control`] answers the control tools and knows no protocol. Nothing here approves, deactivates, forces
//! a state or replaces a workflow. This crate decides nothing: the engine does.

// The control tools: definitions, arguments and answers.
mod answer;
mod arguments;
mod asks;
mod control;
mod live;
mod refused;
mod tools;

// Messages and their transports: over standard streams and over HTTP, from clients and to servers.
pub mod downstream;
pub mod serve;
pub mod stdio;
mod streams;
pub mod upstream;

// One client's session with all servers, and the questions that it is asked while requests are open.
mod server_set;
pub mod session;

// The policy of a session: the only part of the protocol that knows a run.
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
