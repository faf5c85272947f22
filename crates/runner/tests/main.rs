//! The tests of this crate from outside, as one program.

mod runs;
mod simulation;
mod support;
