//! The tests of this crate from outside, as one program.

mod codemie;
mod convert;
mod diagnostics;
mod flowstate;
mod loading;
mod pipeline;
mod robustness;
mod support;
