//! Why a command did not succeed, and its exit code.

use std::process::ExitCode;

/// A command that did not do what was requested.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Everything has been printed; only the exit code remains.
    Said(Exit),
    /// One sentence for the person.
    Error(Exit, anyhow::Error),
}

/// The exit codes, which scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The workflow failed, something was refused, or errors were found.
    Failed,
    /// The command line or the input is invalid.
    Usage,
    /// Cancelled.
    Cancelled,
    /// It waits for a person.
    Waiting,
    /// Nothing is wrong, but not everything was determined.
    Undecided,
    /// Exit code of a workflow.
    Own(u8),
}

impl Exit {
    /// Returns the exit code of the process.
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
    /// Creates a usage error.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Error(Exit::Usage, error.into())
    }
}

/// Result of a command.
pub(crate) type Done = Result<(), Failure>;
