//! The open log of one run, independent of the store.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use interlock_core::{
    Decision, command::Command, event::Event, machine::Machine, run::Run, substance::FrozenChange,
};

use crate::{
    error::StoreError,
    log::{AppendError, EventLog, Recorded},
    run_store::RunStore,
};

/// The open log of one run.
///
/// It gives access to everything in [`RunStore`].
#[derive(Debug)]
pub struct RunLog(Box<dyn RunStore>);

impl RunLog {
    /// Wraps an open run.
    pub fn new(run: impl RunStore + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Prepares for many appends, as [`RunStore::stay_open`] does.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.0.stay_open();
        self
    }

    /// Sets how to wait for other writers, as [`RunStore::wait_by`] does.
    #[must_use]
    pub fn resting(mut self, rest: fn(i32) -> bool) -> Self {
        self.0.wait_by(rest);
        self
    }
}

impl Deref for RunLog {
    type Target = dyn RunStore;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for RunLog {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl EventLog for RunLog {
    fn append(
        &mut self,
        expected_seq: u64,
        at_ms: u64,
        events: &[Event],
    ) -> Result<(), AppendError> {
        self.0.append(expected_seq, at_ms, events)
    }

    fn decide_there(
        &mut self,
        run: &mut Run,
        command: &Command,
        only_now: bool,
    ) -> Option<Result<Decision, AppendError>> {
        self.0.decide_there(run, command, only_now)
    }

    fn load(&self) -> Result<Run, StoreError> {
        self.0.load()
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.0.count()
    }

    fn events(&self, from: u64) -> Box<dyn Iterator<Item = Result<Recorded, StoreError>> + '_> {
        self.0.events(from)
    }

    fn files_changed_unseen(&self, run: &Run) -> Vec<String> {
        self.0.files_changed_unseen(run)
    }

    fn frozen_now(&self, machine: &Machine) -> Option<Vec<FrozenChange>> {
        self.0.frozen_now(machine)
    }

    fn freeze_now(&self, machine: &Machine) -> Result<(), StoreError> {
        self.0.freeze_now(machine)
    }

    fn wait(&self, seen: u64, timeout: Duration) -> Result<bool, StoreError> {
        self.0.wait(seen, timeout)
    }
}
