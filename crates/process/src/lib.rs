//! Programs of this machine: started in a group of their own, followed to their end, and ended together with everything they
//! have started.
//!
//! Knows neither runs nor tools. Whatever is left of a group when its leader has ended is ended too.
//! A [`Cancel`] lets any thread end what is under way, a program or anything else.

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

/// The variable that lets a person's scripts answer for the person; no program that is started here gets it.
pub const PERSONS_TOKEN: &str = "INTERLOCK_TOKEN";

/// The number of bytes from which a text, including its terminator, is too long to be one argument or one variable.
pub const WORD_BYTES_MAX: usize = 131_072;

/// A program to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file that is executed.
    pub file: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<OsString>,
    /// The directory in which it starts.
    pub directory: PathBuf,
    /// Variables set in addition to this process's environment, in order.
    pub environment: Vec<(String, String)>,
    /// The names that the workflow uses for variables of the environment, where they differ.
    pub names: Vec<(String, String)>,
    /// What it reads.
    pub input: Input,
    /// Whether its standard error goes to its standard output.
    pub merged: bool,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
}

impl Program {
    /// Returns the workflow's name for a variable of the environment.
    fn written_name(&self, variable: &str) -> String {
        let mut names = self.names.iter();
        let found = names.find(|(name, _)| name == variable);
        found.map_or(variable, |(_, written)| written).to_owned()
    }
}

/// What a program reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The terminal if it may have one, otherwise nothing.
    Rule,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself, with this code.
    Code(u8),
    /// It was ended by this signal.
    Signal(i32),
    /// It took too long.
    TimedOut,
    /// It was stopped on request.
    Stopped,
    /// A person interrupted it at the terminal that it had.
    Interrupted,
}
