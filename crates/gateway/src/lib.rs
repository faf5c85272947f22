//! MCP servers behind a state machine, and the control tools by which an agent moves on.
//!
//! A [`session`] carries messages between a client and servers over links,
//! whatever transport drives those; it asks who governs before a call passes.
//! [`Control`] answers the control tools and knows no protocol. Nothing here
//! approves, deactivates, forces a state or replaces a workflow. Decides
//! nothing: the engine does.

mod answer;
mod arguments;
mod behind;
mod control;
pub mod downstream;
mod era;
mod error;
mod fields;
pub mod govern;
mod lines;
pub mod link;
mod live;
mod mcp_headers;
pub mod message;
pub mod metrics;
pub mod notes;
mod office;
mod origin;
mod peer;
mod refused;
pub mod serve;
pub mod session;
mod settings;
mod sse;
pub mod stdio;
mod tools;
pub mod upstream;

pub use answer::Answer;
pub use behind::Behind;
pub use control::{Control, Incoming};
pub use error::GatewayError;
pub use refused::Word;
pub use settings::{Settings, ToolPrefix, UnknownPrefix};
pub use tools::{ToolText, control_tool, instructions, listed_tools};

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
