//! The interlock engine: a deterministic state machine between an agent and its tools.
//!
//! Pure: no input or output, no clock, no randomness, no async.

pub mod facts;
