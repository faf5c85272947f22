//! Caches the alignments of two runs' events.

use std::sync::{Arc, Mutex, PoisonError};

use interlock_core::names::RunId;
use interlock_simulate::compare::{Alignment, fingerprint};
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Maximum number of alignments in the cache.
const KEPT_MAX: usize = 4;

/// A run and the part of it that is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) run: RunId,
    /// Number of its events that are compared.
    pub(crate) events: u64,
    /// The root of its project.
    pub(crate) project: String,
}

/// The most recent alignments.
#[derive(Debug, Default)]
pub(crate) struct Alignments(Mutex<Vec<Kept>>);

/// Two runs and their alignment.
type Kept = ((Side, Side), Arc<Alignment>);

impl Alignments {
    /// Aligns two runs; costly unless the result is cached.
    ///
    /// # Errors
    /// A log cannot be read.
    pub(crate) fn of(
        &self,
        left: (&Side, &RunLog),
        right: (&Side, &RunLog),
    ) -> Result<Arc<Alignment>, StoreError> {
        let key = (left.0.clone(), right.0.clone());
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept().iter().find(|(known, _)| *known == key) {
            return Ok(Arc::clone(found));
        }
        let made = Alignment::of(&prints(left)?, &prints(right)?);
        let made = Arc::new(made);
        let mut kept = kept();
        kept.push((key, Arc::clone(&made)));
        let many = kept.len().saturating_sub(KEPT_MAX);
        kept.drain(..many);
        Ok(made)
    }
}

fn prints((side, log): (&Side, &RunLog)) -> Result<Vec<u64>, StoreError> {
    let mut prints = Vec::new();
    for recorded in log.events(0) {
        let recorded = recorded?;
        if recorded.seq >= side.events {
            break;
        }
        prints.push(fingerprint(&recorded.event, &side.project));
    }
    Ok(prints)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use interlock_core::{event::Event, machine::Object};
    use interlock_formats::{NoWorkflows, Source, load};
    use interlock_store::{Durability, Home, NewRun, SourceFile};

    use super::*;

    const FLOW: &str = "id: w\ninitial: a\nstates:\n  a: {on: {NEXT: end}}\n  end: {type: final}\n";
    const EVENTS: u64 = 20_000;

    /// Returns a run that is paused for a different reason at each of `places`.
    fn long(home: &Home, places: &[u64]) -> (Side, RunLog) {
        let file = SourceFile {
            name: "w.yaml".to_owned(),
            text: FLOW.to_owned(),
        };
        let source = Source::new(file.name.clone(), file.text.clone());
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
        let event = |seq: u64| Event::RunPaused {
            by: "me".to_owned(),
            reason: Some(match places.contains(&seq) {
                true => format!("only here: {seq}"),
                false => (seq % 700).to_string(),
            }),
        };
        let events: Vec<Event> = (begun..EVENTS).map(event).collect();
        log.append(begun, 2, &events).unwrap();
        let side = Side {
            run: log.run().clone(),
            events: EVENTS,
            project: "/p".to_owned(),
        };
        (side, log)
    }

    #[test]
    fn long_runs_align_at_each_place_where_they_differ_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("state"));
        let places = [7, 4_444, 19_998];
        let (left, right) = (long(&home, &[]), long(&home, &places));
        let alignments = Alignments::default();
        let of = |left: &(Side, RunLog), right: &(Side, RunLog)| {
            alignments
                .of((&left.0, &left.1), (&right.0, &right.1))
                .unwrap()
        };
        let found = of(&left, &right);
        let rows: Vec<u64> = found.differences().map(|(row, _)| row).collect();
        assert_eq!((found.rows(), rows.as_slice()), (EVENTS, &places[..]));
        assert!(Arc::ptr_eq(&found, &of(&left, &right)));
        // Another number of events is another comparison, and old alignments are dropped.
        let mut shorter = long(&home, &[]);
        for events in 1..=5 {
            shorter.0.events = events;
            assert_eq!(of(&left, &shorter).differences().count(), 1);
        }
        assert_eq!(alignments.0.lock().unwrap().len(), KEPT_MAX);
        assert!(!Arc::ptr_eq(&found, &of(&left, &right)));
    }
}
