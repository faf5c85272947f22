//! The event log of one run, whatever keeps it.

use std::time::Duration;

use interlock_core::{event::Event, machine::Machine, run::Run, substance::FrozenChange};

use crate::{chain::ChainHash, error::StoreError};

/// An event as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its place in the log, from 0.
    pub seq: u64,
    /// When it was appended, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
    /// The hash before it; the pinned workflow's for the first event.
    pub prev: ChainHash,
    /// Its hash.
    pub hash: ChainHash,
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer was first.
    #[error("event {expected} was to be written and the log has {found} already")]
    Conflict {
        /// The sequence number the command was answered at.
        expected: u64,
        /// Events the log has.
        found: u64,
    },
    /// The log could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An append-only log of one run's events.
///
/// INVARIANT: `append` writes all of its events or none, and only where
/// `expected_seq` is the number of events the log has.
pub trait EventLog {
    /// Appends `events` when the log has exactly `expected_seq` of them.
    ///
    /// # Errors
    /// Another writer was first, or the log cannot be written: nothing is kept.
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError>;

    /// Folds the log to the run it stands for.
    ///
    /// # Errors
    /// The log cannot be read, or is damaged as far as it was read.
    fn load(&self) -> Result<Run, StoreError>;

    /// Counts the events.
    ///
    /// # Errors
    /// The log cannot be read.
    fn count(&self) -> Result<u64, StoreError>;

    /// Reads the events from number `from` on; ends after the first error.
    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_>;

    /// Names files of the project that changed, unseen, since a check ended whose success still stands in `run`.
    fn files_changed_unseen(&self, _run: &Run) -> Vec<String> {
        Vec::new()
    }

    /// Tells how frozen files differ from how they were; `None`: the run freezes none, or nobody can tell.
    fn frozen_now(&self, _machine: &Machine) -> Option<Vec<FrozenChange>> {
        None
    }

    /// Keeps how frozen files are now, since a person has approved.
    ///
    /// # Errors
    /// They cannot be kept.
    fn freeze_now(&self, _machine: &Machine) -> Result<(), StoreError> {
        Ok(())
    }

    /// Waits until the log has more than `seen` events; `false` when `timeout` came first.
    ///
    /// To follow a log: read [`Self::events`], wait beyond the last, repeat.
    ///
    /// # Errors
    /// The log cannot be read.
    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError>;
}
