//! Deviations of a log from what was recorded.

use interlock_core::names::RunId;

use crate::error::StoreError;

/// The first event that differs from what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} {broken}")]
pub struct FirstBroken {
    /// Sequence number of the event.
    pub seq: u64,
    /// What is wrong with the event.
    pub broken: Broken,
}

/// What is wrong with an event of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is missing, although later events or a snapshot exist.
    #[error("is missing")]
    Missing,
    /// Its hash does not match its content and the previous hash.
    #[error("is not what was recorded there")]
    Hash,
    /// Its content is not an event known to this version.
    #[error("does not parse, unless a newer Interlock wrote it: {0}")]
    Unreadable(String),
    /// It belongs to another run.
    #[error("is of run `{0}`")]
    OfRun(RunId),
    /// It started with another machine than the pinned one.
    #[error("names another workflow than the pinned one")]
    OtherMachine,
    /// It is the first event, but not the start of the run.
    #[error("is `{0}` where the run should start")]
    NotAStart(&'static str),
    /// The snapshot made after it contradicts it.
    #[error("contradicts the snapshot made after it")]
    Snapshot,
}

/// Why a log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// An event differs from what was recorded.
    #[error(transparent)]
    Broken(#[from] FirstBroken),
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
