//! The event log of one run, independent of the store.

use std::time::Duration;

use interlock_core::{
    Decision, command::Command, event::Event, machine::Machine, run::Run, substance::FrozenChange,
};

use crate::{chain::ChainHash, error::StoreError};

/// An event as recorded in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Sequence number, from 0.
    pub seq: u64,
    /// Time of the append, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event.
    pub event: Event,
    /// Previous hash; for the first event, that of the pinned workflow.
    pub prev: ChainHash,
    /// Hash of the event.
    pub hash: ChainHash,
}

/// Why events were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer was first.
    #[error("event {expected} was to be written and the log has {found} already")]
    Conflict {
        /// Sequence number at which the command was decided.
        expected: u64,
        /// Number of events in the log.
        found: u64,
    },
    /// The log could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An append-only log of one run's events.
///
/// INVARIANT: `append` writes all of its events or none, and only if `expected_seq` is the number of events
/// in the log.
pub trait EventLog {
    /// Appends `events` if the log has exactly `expected_seq` events.
    ///
    /// # Errors
    /// Another writer was first, or the log cannot be written. In both cases, nothing is recorded.
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError>;

    /// Has a command decided and recorded where the log is, and folds the events into `run`.
    ///
    /// `only_now`: the command was made for `run` as it is, and is refused if the log has other events. Returns `None` if
    /// commands are decided here and [appended](Self::append).
    fn decide_there(
        &mut self,
        _run: &mut Run,
        _command: &Command,
        _only_now: bool,
    ) -> Option<Result<Decision, AppendError>> {
        None
    }

    /// Folds the log into its run.
    ///
    /// # Errors
    /// The log cannot be read, or is damaged as far as it was read.
    fn load(&self) -> Result<Run, StoreError>;

    /// Counts the events.
    ///
    /// # Errors
    /// The log cannot be read.
    fn count(&self) -> Result<u64, StoreError>;

    /// Reads the events from number `from` on; stops after the first error.
    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_>;

    /// Names files of the project that changed unseen since the end of a check whose success still counts in `run`.
    fn files_changed_unseen(&self, _run: &Run) -> Vec<String> {
        Vec::new()
    }

    /// Returns the differences of frozen files; `None`: the run freezes none, or this store cannot tell.
    fn frozen_now(&self, _machine: &Machine) -> Option<Vec<FrozenChange>> {
        None
    }

    /// Stores the current state of frozen files, after a person's approval.
    ///
    /// # Errors
    /// The state cannot be stored.
    fn freeze_now(&self, _machine: &Machine) -> Result<(), StoreError> {
        Ok(())
    }

    /// Waits until the log has more than `seen` events; `false` if `timeout` passed first.
    ///
    /// To follow a log, read [`Self::events`], wait for more than the last one, and repeat.
    ///
    /// # Errors
    /// The log cannot be read.
    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError>;
}
