//! The tests of this crate from outside, as one program.

mod attempts;
mod plan;
mod run;
mod support;
