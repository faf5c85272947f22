//! The client side of MCP: messages, revisions of the protocol, and transports.
//!
//! This crate knows no run, no policy and no configuration. Forwarded content stays as written, including parts that are unknown
//! here.
//!
//! **Invariant.** Whatever is read is bounded; a server gets no token of the person; it is ended with everything that it started.

pub mod channel;
pub mod client;
pub mod era;
pub mod fields;
pub mod handshake;
pub mod headers;
pub mod lines;
pub mod message;
pub mod notes;
pub mod peer;
pub mod reconnect;
pub mod transport;
