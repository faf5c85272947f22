//! MCP over HTTP, seen from outside: what is refused, how streams behave, and every revision from end to end.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod crowd;
mod far_end;
mod refusals;
mod scripted;
mod servers;
mod streams;
mod through;
mod world;
