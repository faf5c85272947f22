//! The tests of this crate from outside, as one program.

mod alone;
mod dialects;
mod differential;
mod entries;
mod proofs;
mod reading;
mod spots;
mod support;
mod total;
mod verdicts;
