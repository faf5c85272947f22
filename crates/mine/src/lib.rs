//! A draft of a workflow from recorded sessions.
//!
//! What kind of work each call does is read from its facts; the order of the kinds is found by an inductive miner.
//! Where it finds none, no draft is made: a workflow that allows anything in any order promises nothing.

mod commands;
mod draft;
mod evidence;
mod level;
mod phases;
mod text;
mod tree;

pub use draft::{Draft, Grade, NoDraft, grade, mine};
pub use tree::{Tree, order};
