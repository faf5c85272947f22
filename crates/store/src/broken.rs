//! How a log is not as it was recorded.

use interlock_core::names::RunId;

use crate::error::StoreError;

/// The first event that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {broken}")]
pub struct FirstBroken {
    /// Its place in the log.
    pub seq: u64,
    /// What is wrong with it.
    pub broken: Broken,
}

/// What is wrong with an event of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is not there, and later ones or a snapshot are.
    #[error("is missing")]
    Missing,
    /// Its hash is not that of its content after the one before it.
    #[error("is not what was recorded there")]
    Hash,
    /// Its content is not an event this version knows.
    #[error("does not parse, unless a newer Interlock wrote it: {0}")]
    Unreadable(String),
    /// It belongs to another run.
    #[error("is of run `{0}`")]
    OfRun(RunId),
    /// It began with another machine than the pinned one.
    #[error("names another workflow than the pinned one")]
    OtherMachine,
    /// It stands first and is no start.
    #[error("is `{0}` where the run should start")]
    NotAStart(&'static str),
    /// The snapshot that was made after it says otherwise.
    #[error("contradicts the snapshot made after it")]
    Snapshot,
}

/// Why a log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// An event is not as it was recorded.
    #[error(transparent)]
    Broken(#[from] FirstBroken),
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
