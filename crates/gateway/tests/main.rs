//! The tests of this crate from outside, as one program.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod gateway;
mod http;
mod interleaving;
