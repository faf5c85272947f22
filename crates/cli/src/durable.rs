//! Runs that Interlock carries out itself: started, driven, and what came of them.

mod begin;
mod carry;
mod guard;
mod halted;
mod screen;
mod signals;
mod variables;

pub(crate) use begin::{begin, of_steps};
pub(crate) use carry::{Terms, carry};
