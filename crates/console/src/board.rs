//! Caches the list of runs and their pending requests; a run is read again only if it has changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use interlock_core::{names::RunId, pending::pending};
use interlock_store::{EventLog as _, Home, Listed, RunList, RunSummary, StoreError};
use interlock_view::report::standing;
use serde::Serialize;

use crate::protected;

/// Time for which a list counts as fresh.
const FRESH: Duration = Duration::from_millis(250);
/// Time for which an older list is returned while another request reads the next one.
const STALE: Duration = Duration::from_secs(2);

/// A row in the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunRow {
    pub(crate) id: RunId,
    pub(crate) name: Option<String>,
    pub(crate) workflow: String,
    pub(crate) project: String,
    pub(crate) created_ms: u64,
    pub(crate) last_ms: u64,
    pub(crate) events: u64,
    /// A word of `Status`, or `damaged`.
    pub(crate) status: &'static str,
    pub(crate) state: Vec<String>,
    /// Number of requests that wait for a person.
    pub(crate) waiting: usize,
    /// Why the run cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<String>,
    #[serde(skip)]
    pub(crate) is_over: bool,
}

/// The result of reading a run that had this many events.
#[derive(Debug, Clone, Copy)]
struct Known {
    events: u64,
    waiting: usize,
}

/// The cached list of runs.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Locked while a request reads the list.
    reading: Mutex<Reading>,
    newest: Mutex<Option<(Instant, Rows)>>,
}

/// All runs, the newest first.
type Rows = Arc<Vec<RunRow>>;

#[derive(Debug, Default)]
struct Reading {
    list: RunList,
    known: BTreeMap<RunId, Known>,
}

impl Board {
    /// Lists all runs, possibly slightly out of date; blocks on disk access.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub(crate) fn rows(&self, home: &Home) -> Result<Rows, StoreError> {
        let newest = lock(&self.newest).clone();
        let known = newest.filter(|(read, _)| read.elapsed() < STALE);
        let mut reading = match (known, self.reading.try_lock()) {
            (Some((read, rows)), _) if read.elapsed() < FRESH => return Ok(rows),
            // Another request is reading it.
            (Some((_, rows)), Err(TryLockError::WouldBlock)) => return Ok(rows),
            (_, Ok(reading)) => reading,
            (None, Err(TryLockError::WouldBlock)) => lock(&self.reading),
            (_, Err(TryLockError::Poisoned(poisoned))) => poisoned.into_inner(),
        };
        let rows = Arc::new(reading.read(home)?);
        *lock(&self.newest) = Some((Instant::now(), Arc::clone(&rows)));
        Ok(rows)
    }

    /// Invalidates the list, so that the next request reads it again.
    pub(crate) fn forget(&self) {
        *lock(&self.newest) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reading {
    fn read(&mut self, home: &Home) -> Result<Vec<RunRow>, StoreError> {
        let mut known = BTreeMap::new();
        let mut rows = Vec::new();
        for run in self.list.runs(home)? {
            let row = row(run);
            if row.is_over {
                rows.push(row);
                continue;
            }
            let before = self.known.get(&row.id).copied();
            let now = match before.filter(|known| known.events == row.events) {
                Some(known) => known,
                // A run that cannot be read is tried again the next time.
                None => match waiting(home, &row.id) {
                    Ok(waiting) => Known {
                        events: row.events,
                        waiting,
                    },
                    Err(_) => {
                        rows.push(row);
                        continue;
                    }
                },
            };
            known.insert(row.id.clone(), now);
            let waiting = now.waiting;
            rows.push(RunRow { waiting, ..row });
        }
        self.known = known;
        Ok(rows)
    }
}

/// Returns the number of requests in a run that wait for a person.
fn waiting(home: &Home, run: &RunId) -> Result<usize, StoreError> {
    let log = home.open_run(run)?;
    let run = log.load()?;
    let machine = log.machine_of(&run)?;
    Ok(pending(&machine, &run).len() + standing(&machine, &run).len() + protected::count(&run))
}

/// Returns the row for a run.
fn row(run: RunSummary) -> RunRow {
    match run.listed {
        Listed::Known(card) => RunRow {
            id: run.id,
            is_over: card.is_over(),
            name: card.name,
            workflow: card.workflow.to_string(),
            project: card.project_root.to_string_lossy().into_owned(),
            created_ms: card.created_ms,
            last_ms: card.last_ms,
            events: card.events,
            status: card.status.as_str(),
            state: card.state,
            waiting: 0,
            damaged: None,
        },
        Listed::Damaged { why } | Listed::Unreachable { why } => RunRow {
            id: run.id,
            name: None,
            workflow: String::new(),
            project: String::new(),
            created_ms: 0,
            last_ms: 0,
            events: 0,
            status: "damaged",
            state: Vec::new(),
            waiting: 0,
            damaged: Some(why),
            is_over: true,
        },
    }
}
