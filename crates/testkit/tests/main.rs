//! Integration tests of this crate, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod e2e_claude_code;
mod e2e_real_clients;
mod scripted_model;
