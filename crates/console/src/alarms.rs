//! Caches the events of each run that concern protected things; a run is read again only if it has changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use interlock_core::{event::Event, names::RunId, refusal::Code};
use interlock_store::{EventLog as _, Home, Recorded, StoreError};

/// Maximum number of runs in the cache.
const RUNS_MAX: usize = 1_000;

/// The alarms of a run when it had this many events.
type Known = (u64, Arc<Vec<Recorded>>);

/// The cached alarms, by run.
#[derive(Debug, Default)]
pub(crate) struct Alarms(Mutex<BTreeMap<RunId, Known>>);

impl Alarms {
    /// Returns the alarms of a run that has this many events.
    ///
    /// # Errors
    /// The run's log cannot be read.
    pub(crate) fn of(
        &self,
        home: &Home,
        run: &RunId,
        events: u64,
    ) -> Result<Arc<Vec<Recorded>>, StoreError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(run).cloned();
        if let Some((_, found)) = known.filter(|(known, _)| *known == events) {
            return Ok(found);
        }
        let found = Arc::new(read(home, run)?);
        let mut all = lock();
        if all.len() >= RUNS_MAX {
            all.pop_first();
        }
        all.insert(run.clone(), (events, Arc::clone(&found)));
        Ok(found)
    }
}

fn read(home: &Home, run: &RunId) -> Result<Vec<Recorded>, StoreError> {
    let log = home.open_run(run)?;
    let mut found = Vec::new();
    for recorded in log.events(0) {
        let recorded = recorded?;
        if is_alarm(&recorded.event) {
            found.push(recorded);
        }
    }
    Ok(found)
}

/// Returns whether an event concerns something protected.
fn is_alarm(event: &Event) -> bool {
    match event {
        Event::ProtectedChanged { .. }
        | Event::TokenSeen { .. }
        | Event::ConsoleRefused { .. }
        | Event::ToolChanged(_) => true,
        Event::CallDenied { refusal, .. } | Event::ToolDenied { refusal, .. } => {
            refusal.code == Code::Protected
        }
        _ => false,
    }
}
