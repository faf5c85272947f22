//! What a store does with one run.

use std::fmt::Debug;

use interlock_core::{
    machine::Machine,
    names::{CallId, RunId},
    run::Run,
};

use crate::{
    broken::VerifyError, durability::Durability, error::StoreError, folder::RunFolder,
    log::EventLog, messages::Messages, pin::SourceFile,
};

/// One run, open: its log, and what belongs to the log: pin, machines, messages and outputs.
///
/// A log is chained by its hashes, back to the pin. `load` may begin at a snapshot.
pub trait RunStore: EventLog + Debug + Send {
    /// Returns the run's id.
    fn run(&self) -> &RunId;

    /// Returns what the run's events survive.
    fn durability(&self) -> Durability;

    /// Returns what people call the run.
    ///
    /// # Errors
    /// The pin cannot be read or was changed.
    fn name(&self) -> Result<Option<String>, StoreError>;

    /// Returns the workflow file as it was when the run began.
    ///
    /// # Errors
    /// The pin cannot be read or was changed.
    fn source(&self) -> Result<SourceFile, StoreError>;

    /// Returns the machine that the run follows, whatever its file says today.
    ///
    /// # Errors
    /// The pin cannot be read, was changed, or is not what the first event names.
    fn machine(&self) -> Result<Machine, StoreError>;

    /// Returns the same for a caller that has loaded the run.
    ///
    /// # Errors
    /// Those of [`RunStore::machine`].
    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError>;

    /// Keeps `machine`, sealed, for a run that is about to move to it.
    ///
    /// # Errors
    /// It cannot be written, or not be read again.
    fn keep_machine(&self, machine: &Machine) -> Result<(), StoreError>;

    /// Checks the whole log and counts its events.
    ///
    /// # Errors
    /// The first event that is not as it was recorded, or the log cannot be read.
    fn verify(&self) -> Result<u64, VerifyError>;

    /// Returns what models said and what they were told in this run.
    fn messages(&self) -> Messages;

    /// Keeps the text that a call returned.
    ///
    /// # Errors
    /// It cannot be written.
    fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError>;

    /// Returns the text that was kept of a call; `None`: nothing was.
    ///
    /// # Errors
    /// It cannot be read.
    fn output(&self, call: &CallId) -> Result<Option<String>, StoreError>;

    /// Returns the run's folder on this machine.
    ///
    /// It has what concerns this machine alone: scratch, notes, the baseline, process groups.
    fn folder(&self) -> &RunFolder;

    /// Prepares for many appends through this one handle.
    ///
    /// The caller calls [`RunStore::tidy_up`] at the end.
    fn stay_open(&mut self);

    /// Sets how to wait while another process writes.
    ///
    /// `rest` is called with the number of times it was called before; `false` gives up.
    fn wait_by(&mut self, rest: fn(i32) -> bool);

    /// Tells whether what was opened is still what other processes open.
    ///
    /// For logs that [stay open](RunStore::stay_open): their caches would hide that the store was damaged.
    fn is_in_place(&self) -> bool;

    /// Leaves behind what the next process opens fast.
    fn tidy_up(&mut self);
}
