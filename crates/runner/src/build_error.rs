//! Errors of assembling a run.

use interlock_project::ConfigError;
use interlock_store::StoreError;

use crate::embedded::EmbeddedError;

/// Why a run cannot be assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The workflow or the command line asks for something impossible; one sentence.
    #[error("{0}")]
    Usage(String),
    /// Something that the run needs is missing or unusable; one sentence.
    #[error("{0}")]
    Unusable(String),
    /// The path of Interlock's program is not known.
    #[error("the path of this program is unknown")]
    NoProgram,
    /// A configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log or the state directory cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run cannot be taken.
    #[error(transparent)]
    Take(#[from] EmbeddedError),
    /// The client of model providers cannot be started.
    #[error(transparent)]
    Start(#[from] std::io::Error),
}

impl BuildError {
    /// Returns whether the command line or the input is at fault.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}
