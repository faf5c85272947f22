//! The state of a run after any of its events.
//!
//! Looking at the past folds recorded events and runs nothing. Folds are cached at intervals, and so is the most recent
//! one, so that a step back or forth costs few events, whatever the length of the log.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use interlock_core::{event::Event, evolve, names::RunId, run::Run};
use interlock_graph::Trace;
use interlock_store::{EventLog as _, Recorded, RunLog, StoreError};

/// Number of events between two cached folds.
const STRIDE: u64 = 1_000;
/// Number of events between two cached folds near the most recent one, for steps back.
const STEP: u64 = 50;
/// Maximum number of runs whose folds are cached.
const RUNS_MAX: usize = 8;

/// A run after some of its events.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    /// The run at that moment.
    pub(crate) run: Run,
    /// The states entered and the transitions taken so far.
    pub(crate) trace: Trace,
    /// Time of the last event; 0 if there was none.
    pub(crate) at_ms: u64,
}

/// The cached folds, by run.
#[derive(Debug, Default)]
pub(crate) struct Histories(Mutex<Vec<(RunId, Arc<Mutex<History>>)>>);

#[derive(Debug)]
struct History {
    run: RunId,
    kept: BTreeMap<u64, Moment>,
    /// Folds in the most recent stride.
    near: BTreeMap<u64, Moment>,
    last: Option<Moment>,
}

impl Histories {
    /// Returns the run of `log` after its first `at` events, or after all if there are fewer.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn at(&self, log: &RunLog, at: u64) -> Result<Moment, StoreError> {
        let history = self.history(log.run());
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        history.at(|from| log.events(from).map(said), at)
    }

    /// Returns the cached folds of a run; those of the least recently used run are dropped.
    fn history(&self, run: &RunId) -> Arc<Mutex<History>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|(known, _)| known == run);
        let found = match place {
            Some(place) => all.remove(place),
            None => (run.clone(), Arc::new(Mutex::new(History::new(run.clone())))),
        };
        let history = Arc::clone(&found.1);
        all.push(found);
        let many = all.len().saturating_sub(RUNS_MAX);
        all.drain(..many);
        history
    }
}

/// An event and the time when it was recorded.
type TimedEvent = (Event, u64);

fn said(recorded: Result<Recorded, StoreError>) -> Result<TimedEvent, StoreError> {
    recorded.map(|recorded| (recorded.event, recorded.at_ms))
}

impl History {
    fn new(run: RunId) -> Self {
        Self {
            run,
            kept: BTreeMap::new(),
            near: BTreeMap::new(),
            last: None,
        }
    }

    /// Folds the first `at` events; `events` returns them starting with a given number.
    fn at<I: Iterator<Item = Result<TimedEvent, StoreError>>>(
        &mut self,
        events: impl FnOnce(u64) -> I,
        at: u64,
    ) -> Result<Moment, StoreError> {
        let stride = at / STRIDE;
        self.near.retain(|seq, _| seq / STRIDE == stride);
        let below = |folds: &BTreeMap<u64, Moment>| {
            let found = folds.range(..=at).next_back();
            found.map(|(_, moment)| moment.clone())
        };
        let last = self.last.take().filter(|moment| moment.run.seq <= at);
        let nearest = [below(&self.kept), below(&self.near), last]
            .into_iter()
            .flatten()
            .max_by_key(|moment| moment.run.seq);
        let mut moment = nearest.unwrap_or_else(|| Moment {
            run: Run::new(self.run.clone()),
            trace: Trace::default(),
            at_ms: 0,
        });
        if moment.run.seq < at {
            for said in events(moment.run.seq) {
                let (event, at_ms) = said?;
                moment.trace.follow(&event);
                moment.at_ms = at_ms;
                moment.run = evolve(moment.run, &event);
                let seq = moment.run.seq;
                if seq.is_multiple_of(STRIDE) {
                    self.kept.insert(seq, moment.clone());
                } else if seq.is_multiple_of(STEP) && seq / STRIDE == stride {
                    self.near.insert(seq, moment.clone());
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
    use std::{fs, path::Path};

    use interlock_core::machine::Object;
    use interlock_formats::{NoWorkflows, Source, load};
    use interlock_graph::Graph;
    use interlock_store::{Durability, Home, NewRun, SourceFile};

    use super::*;

    const FLOW: &str = "id: w\ninitial: a\nstates:\n  a: {on: {NEXT: b}}\n  b: {on: {BACK: a, DONE: end}}\n  end: {type: final}\n";
    /// Number of events in the log: several strides, and not a multiple of one.
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
        // Steps back and forth, jumps, both ends, and the edges of the strides.
        let walk = (0..40).map(|step| step * 977 % (EVENTS + 1));
        let back = (STRIDE - 2 * STEP - 7..STRIDE + 2 * STEP).rev();
        let edges = [0, 1, STRIDE - 1, STRIDE, STRIDE + 1, EVENTS - 1, EVENTS];
        let on = 2 * STRIDE - STEP - 3..2 * STRIDE + 3;
        let all = edges.into_iter().rev().chain(walk).chain(back).chain(on);
        for at in all.chain(edges) {
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

    /// Reads the recorded histories of every version of the log format.
    fn recorded() -> Vec<(String, Vec<Event>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories");
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "jsonl") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let (events, _) = text.trim_end().rsplit_once('\n').unwrap();
            let events = events
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            all.push((path.display().to_string(), events.collect()));
        }
        all
    }

    #[test]
    fn each_moment_of_each_recorded_history_is_the_fold_of_the_events_before_it() {
        let all = recorded();
        assert!(all.len() > 20, "{}", all.len());
        for (name, events) in all {
            let run = RunId::new("r");
            let mut folds = vec![Run::new(run.clone())];
            for event in &events {
                folds.push(evolve(folds.last().unwrap().clone(), event));
            }
            let mut history = History::new(run);
            // Forward, back, and jumps over the whole history.
            let count = folds.len();
            let jumps = (0..count).map(|step| step * 7 % count);
            for at in (0..count).chain((0..count).rev()).chain(jumps) {
                let of = |from: u64| {
                    let from = usize::try_from(from).unwrap();
                    let rest = events.get(from..).unwrap().iter().cloned();
                    rest.zip(1..).map(Ok)
                };
                let moment = history.at(of, u64::try_from(at).unwrap()).unwrap();
                assert_eq!(
                    Some(&moment.run),
                    folds.get(at),
                    "{name}, after {at} events"
                );
            }
        }
    }
}
