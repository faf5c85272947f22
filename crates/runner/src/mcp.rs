//! The MCP servers of a run, whose tools its stages and tool states call directly.
//!
//! Blocking, for plain threads. The run judges before whether a call is allowed; here a call goes to its server only if the tool
//! is selected and still has the definition that the run saw first.

mod inner;
mod launcher;
mod pending;
mod pinned;
mod result;
mod servers;
mod wanted;

pub use launcher::{Launcher, Note};
pub use pending::Call;
pub use result::{CallError, ToolResult};
pub use servers::{ServedTool, ToolServers, ToolServersSettings};
pub use wanted::WantedServer;
