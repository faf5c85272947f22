//! A run as it was after any of its events.
//!
//! Looking at the past folds recorded events and runs nothing. Folds are kept at distances, and the last one
//! that was looked at, so that a step back or on costs few events, whatever the length of the log.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
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

/// The folds that are kept, by run.
#[derive(Debug, Default)]
pub(crate) struct Histories(Mutex<Vec<(RunId, Arc<Mutex<History>>)>>);

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
        let history = self.history(log.run());
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        history.at(log, at)
    }

    /// Returns what is kept of a run; that of the run that nobody looked at for longest goes.
    fn history(&self, run: &RunId) -> Arc<Mutex<History>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|(known, _)| known == run);
        let found = match place {
            Some(place) => all.remove(place),
            None => {
                let history = History {
                    run: run.clone(),
                    kept: BTreeMap::new(),
                    last: None,
                };
                (run.clone(), Arc::new(Mutex::new(history)))
            }
        };
        let history = Arc::clone(&found.1);
        all.push(found);
        let many = all.len().saturating_sub(RUNS_MAX);
        all.drain(..many);
        history
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use interlock_core::{event::Event, machine::Object};
    use interlock_formats::{NoWorkflows, Source, load};
    use interlock_graph::Graph;
    use interlock_store::{Durability, Home, NewRun, SourceFile};

    use super::*;

    const FLOW: &str = "id: w\ninitial: a\nstates:\n  a: {on: {NEXT: b}}\n  b: {on: {BACK: a, DONE: end}}\n  end: {type: final}\n";
    /// Events of the log: several strides, and not a whole number of them.
    const EVENTS: u64 = 2 * STRIDE + 321;

    fn started(home: &Home) -> RunLog {
        let file = SourceFile {
            name: "w.yaml".to_owned(),
            text: FLOW.to_owned(),
        };
        let source = Source {
            name: file.name.clone(),
            text: file.text.clone(),
        };
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let new = NewRun {
            machine: &loaded.machine,
            source: &file,
            project_root: "/p".as_ref(),
            name: None,
            durability: Durability::default(),
            at_ms: 1,
        };
        let mut log = home.start_run(&new, Object::new(), "me").unwrap().log;
        let begun = log.count().unwrap();
        let event = |seq: u64| match seq % 2 {
            0 => Event::RunResumed {
                by: "me".to_owned(),
            },
            _ => Event::RunPaused {
                by: "me".to_owned(),
                reason: Some(seq.to_string()),
            },
        };
        let events: Vec<Event> = (begun..EVENTS).map(event).collect();
        log.append(begun, 2, &events).unwrap();
        log
    }

    #[test]
    fn each_moment_is_the_fold_of_the_events_before_it_in_whatever_order_they_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let log = started(&Home::at(folder.path().join("state")));
        let machine = log.machine().unwrap();
        let events: Vec<Event> = log.events(0).map(|one| one.unwrap().event).collect();
        let mut folds = vec![Run::new(log.run().clone())];
        for event in &events {
            folds.push(evolve(folds.last().unwrap().clone(), event));
        }
        let histories = Histories::default();
        // Steps back and on, jumps, both ends, and the edges of the strides.
        let walk = (0..40).map(|step| step * 977 % (EVENTS + 1));
        let edges = [0, 1, STRIDE - 1, STRIDE, STRIDE + 1, EVENTS - 1, EVENTS];
        for at in edges.into_iter().rev().chain(walk).chain(edges) {
            let moment = histories.at(&log, at).unwrap();
            let place = usize::try_from(at).unwrap();
            assert_eq!(Some(&moment.run), folds.get(place), "after {at} events");
            if edges.contains(&at) {
                let before = events.get(..place).unwrap();
                let wanted = Graph::of(&machine, folds.get(place), before).marks();
                let found = Graph::at(&machine, Some(&moment.run), &moment.trace).marks();
                assert_eq!(found, wanted, "after {at} events");
            }
        }
        let beyond = histories.at(&log, EVENTS + 99).unwrap();
        assert_eq!(Some(&beyond.run), folds.last());
    }
}
