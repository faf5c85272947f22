//! The transports by which clients reach a session.

pub mod http;
pub mod stdio;
