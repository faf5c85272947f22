//! Errors of starting or running a server.

use std::io;

/// Why a server could not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The system provides no threads or no event loop.
    #[error("the server cannot start: {0}")]
    Start(#[source] io::Error),
    /// The configuration cannot be used, or the system fails.
    #[error("{0}")]
    Settings(String),
    /// The client does not speak MCP, or stopped in the middle of a message.
    #[error("the client broke off: {0}")]
    Client(String),
    /// The server stopped unexpectedly, which is a bug.
    #[error("the server stopped: {0}; please report this")]
    Stopped(String),
}
