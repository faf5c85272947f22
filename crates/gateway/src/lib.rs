//! The control tools as an MCP server: how an agent asks where it stands and moves on.
//!
//! [`Control`] answers the tools and knows no protocol; the server around it
//! speaks MCP over stdio. Nothing here approves, deactivates, forces a state or
//! replaces a workflow. Decides nothing: the engine does.

mod answer;
mod arguments;
mod control;
pub mod downstream;
mod error;
pub mod govern;
mod lines;
pub mod link;
mod live;
mod mcp_headers;
pub mod message;
pub mod metrics;
pub mod notes;
mod refused;
pub mod serve;
mod server;
mod settings;
mod sse;
mod tools;
pub mod upstream;

pub use answer::Answer;
pub use control::{Control, Incoming};
pub use error::GatewayError;
pub use refused::Word;
pub use server::{serve, serve_stdio};
pub use settings::{Settings, ToolPrefix, UnknownPrefix};
pub use tools::{ToolText, control_tool, listed_tools};
