//! The client side of MCP: messages, the revisions of the protocol, and how servers are reached.
//!
//! Knows no run, no policy and no configuration. What passes is kept as it was written, also where it is not known here.
//!
//! **Invariant.** Whatever is read is bounded; a server gets no token of the person; it is ended with all that it started.

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
