//! Scripted MCP clients over standard streams and over HTTP, with messages exactly as a test writes them.

pub mod http;
pub mod listening;
pub mod stdio;
