//! Drafts a workflow from recorded sessions.
//!
//! The kind of work of each call is derived from its facts; an inductive miner finds the order of the kinds. If there
//! is no order, no draft is made: a workflow that allows anything in any order guarantees nothing.

mod commands;
mod draft;
mod evidence;
mod level;
mod phases;
mod text;
mod tree;

pub use draft::{Draft, Grade, NoDraft, grade, mine};
pub use tree::{Tree, order};
