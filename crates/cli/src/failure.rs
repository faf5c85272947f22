//! Why a command ended other than as asked, and with which exit code.

use std::process::ExitCode;

/// A command that did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Everything has been said already; only the exit code is left.
    Said(Exit),
    /// One sentence for the person.
    Error(Exit, anyhow::Error),
}

/// The exit codes, a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The workflow failed, something was refused, or errors were found.
    Failed,
    /// The command line, or the input, is not one of ours.
    Usage,
    /// Cancelled.
    Cancelled,
    /// It waits for a person.
    Waiting,
    /// Nothing is wrong, and not all of it was found out.
    Undecided,
    /// The code that a workflow ended with.
    Own(u8),
}

impl Exit {
    /// Returns the code that the process ends with.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Cancelled => 130,
            Self::Waiting => 75,
            Self::Undecided => 3,
            Self::Own(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Exit::Failed, error.into())
    }
}

impl Failure {
    /// Makes a usage error.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Error(Exit::Usage, error.into())
    }
}

/// What a command returns.
pub(crate) type Done = Result<(), Failure>;
