//! The list of runs, and what waits in them: read again only where a run has changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home, Listed, RunSummary, StoreError};
use serde::Serialize;

use crate::asks::count_asks;

/// How long a list counts as new.
const FRESH: Duration = Duration::from_millis(250);

/// A run in the list.
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
    /// How many things wait for a person.
    pub(crate) waiting: usize,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) damaged: Option<String>,
    #[serde(skip)]
    pub(crate) is_over: bool,
}

/// What was read of a run that had this many events.
#[derive(Debug, Clone, Copy)]
struct Known {
    events: u64,
    waiting: usize,
}

/// Reads the list of runs.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<RunId, Known>,
    newest: Option<(Instant, Arc<Vec<RunRow>>)>,
}

impl Board {
    /// Lists all runs, the newest first, as they were a moment ago; waits for the disk.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub(crate) fn rows(&self, home: &Home) -> Result<Arc<Vec<RunRow>>, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, rows)) = &state.newest
            && read.elapsed() < FRESH
        {
            return Ok(Arc::clone(rows));
        }
        let runs = home.list_runs()?;
        let mut known = BTreeMap::new();
        let mut rows = Vec::new();
        for run in &runs {
            let row = row(run);
            if row.is_over {
                rows.push(row);
                continue;
            }
            let before = state.known.get(&row.id).copied();
            let now = match before.filter(|known| known.events == row.events) {
                Some(known) => known,
                None => Known {
                    events: row.events,
                    waiting: waiting(home, &row.id),
                },
            };
            known.insert(row.id.clone(), now);
            let waiting = now.waiting;
            rows.push(RunRow { waiting, ..row });
        }
        let rows = Arc::new(rows);
        state.known = known;
        state.newest = Some((Instant::now(), Arc::clone(&rows)));
        Ok(rows)
    }

    /// Has the next list read anew.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).newest = None;
    }
}

/// Counts what waits in a run; one that cannot be read is listed as damaged next time.
fn waiting(home: &Home, run: &RunId) -> usize {
    let count = || -> Result<usize, StoreError> {
        let log = home.open_run(run)?;
        Ok(count_asks(&log.machine()?, &log.load()?))
    };
    count().unwrap_or_default()
}

/// Describes a run of the list.
pub(crate) fn row(run: &RunSummary) -> RunRow {
    match &run.listed {
        Listed::Known(card) => RunRow {
            id: run.id.clone(),
            name: card.name.clone(),
            workflow: card.workflow.to_string(),
            project: card.project_root.to_string_lossy().into_owned(),
            created_ms: card.created_ms,
            last_ms: card.last_ms,
            events: card.events,
            status: card.status.as_str(),
            state: card.state.clone(),
            waiting: 0,
            damaged: None,
            is_over: card.is_over(),
        },
        Listed::Damaged { why } => RunRow {
            id: run.id.clone(),
            name: None,
            workflow: String::new(),
            project: String::new(),
            created_ms: 0,
            last_ms: 0,
            events: 0,
            status: "damaged",
            state: Vec::new(),
            waiting: 0,
            damaged: Some(why.clone()),
            is_over: true,
        },
    }
}
