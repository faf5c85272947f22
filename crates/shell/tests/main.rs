//! The tests of this crate from outside, as one program.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed test panics")]

mod alone;
mod dialects;
mod differential;
mod entries;
mod proofs;
mod reading;
mod respelled;
mod spots;
mod support;
mod total;
mod verdicts;
