//! Programs of this machine: started in a group of their own, followed to their end, and ended with all they have started.
//!
//! Knows no run and no tool. What is left of a group when its leader has ended is ended too.
//! [`Cancel`] is how any thread ends what is under way, a program or anything else.

use std::{ffi::OsString, path::PathBuf};

mod cancel;
mod ends;
mod follow;
pub mod group;
mod pipe;
mod records;
mod search;
mod spawn;
pub mod table;
mod terminal;
mod waker;

pub use cancel::{Cancel, Stop};
pub use ends::HeadTail;
pub use follow::{Stream, run};
pub use group::end_leftovers;
pub use pipe::{InputPipe, OutputPipe};
pub use records::{GroupRecords, RecordError};
pub use search::find_program;
pub use spawn::StartError;
pub use terminal::{At, Terminal};

/// The variable that lets scripts of a person answer for them; no program that is started here gets it.
pub const PERSONS_TOKEN: &str = "INTERLOCK_TOKEN";

/// Bytes from which a text is too long to be one argument or one variable, its end included.
pub const WORD_BYTES_MAX: usize = 131_072;

/// A program to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file that is executed.
    pub file: PathBuf,
    /// Its arguments, its own name not among them.
    pub arguments: Vec<OsString>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Set over this process's environment, in order.
    pub environment: Vec<(String, String)>,
    /// What variables of the environment are called in the workflow, where it is otherwise.
    pub names: Vec<(String, String)>,
    /// What it reads.
    pub input: Input,
    /// Whether its standard error goes where its standard output goes.
    pub merged: bool,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
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
pub enum Input {
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
