//! The tests of this crate from outside, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod runs;
mod simulation;
mod support;
