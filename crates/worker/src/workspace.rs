//! The files of runs, which move with them: recorded at the end of each step, and restored on another machine.
//!
//! They are one tar of everything below the run's project that git does not ignore. A tar from the database is not trusted: what
//! this module would not have written is refused, and nothing that exists is overwritten.

mod archive;
mod name;
mod pack;
mod ready;
mod recorder;
mod repository;
mod restore;
#[cfg(test)]
mod tests;

pub(crate) use ready::{Missing, UnreadyError, ready};
