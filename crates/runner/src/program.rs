//! One program: started in a group of its own, followed to its end.
//!
//! Knows no run and no tool. What is left of the group when the program has
//! ended is ended too.

use std::{ffi::OsString, path::PathBuf};

mod control;
mod follow;
mod group;
mod pipes;
mod record;
mod search;
mod spawn;
mod terminal;

pub(crate) use control::Control;
pub(crate) use record::GroupRecords;
pub use record::RecordError;
pub(crate) use search::find_program;
pub use spawn::StartError;
pub use terminal::Terminal;

pub(crate) use control::Stop;
pub use follow::Stream;
pub(crate) use follow::{At, run};
pub(crate) use group::end_leftovers;

/// Bytes from which a text is too long to be one argument or one variable, its end included.
pub(crate) const WORD_BYTES_MAX: usize = 131_072;

/// A program to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file that is executed.
    pub(crate) file: PathBuf,
    /// Its arguments, its own name not among them.
    pub(crate) arguments: Vec<OsString>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
    /// Set over this process's environment, in order.
    pub(crate) environment: Vec<(String, String)>,
    /// What variables of the environment are called in the workflow, where it is otherwise.
    pub(crate) names: Vec<(String, String)>,
    /// What it reads.
    pub(crate) input: Input,
    /// Whether its standard error goes where its standard output goes.
    pub(crate) merged: bool,
    /// How long it may take.
    pub(crate) timeout_ms: Option<u64>,
}

impl Program {
    /// Returns what the workflow calls a variable of the environment.
    fn written_name(&self, variable: &str) -> String {
        let mut names = self.names.iter();
        let found = names.find(|(name, _)| name == variable);
        found.map_or(variable, |(_, written)| written).to_owned()
    }
}

/// What a program reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// The terminal where it may have one, else nothing.
    Rule,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
    /// It took too long.
    TimedOut,
    /// Somebody had it stopped.
    Stopped,
    /// A person interrupted it at the terminal that it had.
    Interrupted,
}
