//! The tests of this crate from outside, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod codemie;
mod convert;
mod diagnostics;
mod flowstate;
mod loading;
mod pipeline;
mod robustness;
mod support;
