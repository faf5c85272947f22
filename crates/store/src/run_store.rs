//! The operations of a store on one run.

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

/// An open run: its log, and the data that belongs to the log: pin, machines, messages and outputs.
///
/// The hashes of a log form a chain that begins with the pin. `load` may begin at a snapshot.
pub trait RunStore: EventLog + Debug + Send {
    /// Returns the run's id.
    fn run(&self) -> &RunId;

    /// Returns whether commands are decided on another machine, where people answer, too.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Returns which failures the run's events survive.
    fn durability(&self) -> Durability;

    /// Returns the name of the run.
    ///
    /// # Errors
    /// The pin cannot be read or was changed.
    fn name(&self) -> Result<Option<String>, StoreError>;

    /// Returns the workflow file with its text when the run began.
    ///
    /// # Errors
    /// The pin cannot be read or was changed.
    fn source(&self) -> Result<SourceFile, StoreError>;

    /// Returns the machine that the run follows, even if its file has changed since.
    ///
    /// # Errors
    /// The pin cannot be read, was changed, or does not match the first event.
    fn machine(&self) -> Result<Machine, StoreError>;

    /// Like [`RunStore::machine`], for a caller that has loaded the run.
    ///
    /// # Errors
    /// The same as those of [`RunStore::machine`].
    fn machine_of(&self, run: &Run) -> Result<Machine, StoreError>;

    /// Stores `machine`, sealed, for a run that is about to move to it.
    ///
    /// # Errors
    /// The machine cannot be written, or could not be read back.
    fn keep_machine(&self, machine: &Machine) -> Result<(), StoreError>;

    /// Checks the whole log and counts its events.
    ///
    /// # Errors
    /// The first event that differs from what was recorded, or the log cannot be read.
    fn verify(&self) -> Result<u64, VerifyError>;

    /// Returns the messages of models in this run, and the texts sent to them.
    fn messages(&self) -> Messages;

    /// Stores the text that a call returned.
    ///
    /// # Errors
    /// The text cannot be written.
    fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError>;

    /// Returns the stored text of a call; `None`: there is none.
    ///
    /// # Errors
    /// The text cannot be read.
    fn output(&self, call: &CallId) -> Result<Option<String>, StoreError>;

    /// Returns the run's folder on this machine.
    ///
    /// The folder holds data that concerns only this machine: scratch files, notes, the baseline, process groups.
    fn folder(&self) -> &RunFolder;

    /// Prepares for many appends through this one handle.
    ///
    /// The caller calls [`RunStore::tidy_up`] at the end.
    fn stay_open(&mut self);

    /// Sets how to wait while another process writes.
    ///
    /// `rest` is called with the number of earlier calls; if it returns `false`, waiting ends.
    fn wait_by(&mut self, rest: fn(i32) -> bool);

    /// Returns whether the opened store is still the one that other processes open.
    ///
    /// This is for logs that [stay open](RunStore::stay_open): their caches would hide damage to the store.
    fn is_in_place(&self) -> bool;

    /// Leaves the store in a form that the next process can open fast.
    fn tidy_up(&mut self);
}
