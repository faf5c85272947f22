//! Why a server could not serve.

use std::io;

/// Why a server could not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The system gives no threads or no events.
    #[error("the server cannot start: {0}")]
    Start(#[source] io::Error),
    /// What a person has set cannot be used, or the system fails.
    #[error("{0}")]
    Settings(String),
    /// The client does not speak MCP, or stopped in the middle.
    #[error("the client broke off: {0}")]
    Client(String),
    /// The server stopped by itself: a bug.
    #[error("the server stopped: {0}; please report this")]
    Stopped(String),
}
