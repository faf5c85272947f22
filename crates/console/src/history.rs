//! A run as it was after any of its events.
//!
//! Looking at the past folds recorded events and runs nothing. Folds are kept at distances, and the last one
//! that was looked at, so that a step back or on costs few events, whatever the length of the log.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use interlock_core::{evolve, names::RunId, run::Run};
use interlock_graph::Trace;
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Events between two folds that are kept.
const STRIDE: u64 = 1_000;
/// Runs whose folds are kept.
const RUNS_MAX: usize = 8;

/// A run after some of its events.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    /// The run as it was.
    pub(crate) run: Run,
    /// The states it had entered and the transitions it had taken.
    pub(crate) trace: Trace,
    /// When the last of the events was recorded; 0: there was none.
    pub(crate) at_ms: u64,
}

/// The folds that are kept.
#[derive(Debug, Default)]
pub(crate) struct Histories(Mutex<Vec<History>>);

#[derive(Debug)]
struct History {
    run: RunId,
    kept: BTreeMap<u64, Moment>,
    last: Option<Moment>,
}

impl Histories {
    /// Returns the run of `log` as it was after its first `at` events, or after all where there are fewer.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn at(&self, log: &RunLog, at: u64) -> Result<Moment, StoreError> {
        let mut history = self.take(log.run());
        let found = history.at(log, at);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.run != history.run);
        all.push(history);
        let many = all.len().saturating_sub(RUNS_MAX);
        all.drain(..many);
        found
    }

    /// Takes what is kept of a run: whoever looks at the same run meanwhile folds anew.
    fn take(&self, run: &RunId) -> History {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|one| one.run == *run);
        place
            .map(|place| all.remove(place))
            .unwrap_or_else(|| History {
                run: run.clone(),
                kept: BTreeMap::new(),
                last: None,
            })
    }
}

impl History {
    fn at(&mut self, log: &RunLog, at: u64) -> Result<Moment, StoreError> {
        let kept = self.kept.range(..=at).next_back().map(|(_, moment)| moment);
        let last = self.last.as_ref().filter(|moment| moment.run.seq <= at);
        let nearest = kept
            .into_iter()
            .chain(last)
            .max_by_key(|moment| moment.run.seq);
        let mut moment = nearest.cloned().unwrap_or_else(|| Moment {
            run: Run::new(self.run.clone()),
            trace: Trace::default(),
            at_ms: 0,
        });
        if moment.run.seq < at {
            for recorded in log.events(moment.run.seq) {
                let recorded = recorded?;
                moment.trace.follow(&recorded.event);
                moment.at_ms = recorded.at_ms;
                moment.run = evolve(moment.run, &recorded.event);
                if moment.run.seq.is_multiple_of(STRIDE) {
                    self.kept.insert(moment.run.seq, moment.clone());
                }
                if moment.run.seq >= at {
                    break;
                }
            }
        }
        self.last = Some(moment.clone());
        Ok(moment)
    }
}
