//! Caches the model costs of runs by state, attempt and model; a run is read again only if it has changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use interlock_core::{
    attempt::Usage,
    event::Event,
    names::{FramePath, RunId},
};
use interlock_store::{EventLog as _, RunLog, StoreError};
use serde::Serialize;

use crate::history::Histories;

/// Maximum number of runs in the cache.
const RUNS_MAX: usize = 5_000;

/// The cost of one attempt with one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Spent {
    pub(crate) state: String,
    /// The path of its region.
    pub(crate) path: String,
    pub(crate) attempt: u32,
    pub(crate) model: String,
    /// Number of the model's answers.
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    /// Time spent waiting for the model, in milliseconds.
    pub(crate) ms: u64,
    /// Sequence number of the first answer.
    pub(crate) seq: u64,
}

/// The costs of a run when it had this many events.
type Known = (u64, Arc<Vec<Spent>>);

/// The cached costs, by run.
#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<BTreeMap<RunId, Known>>);

impl Costs {
    /// Returns the costs of the run of `log`; empty if Interlock called no model.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn of(
        &self,
        log: &RunLog,
        histories: &Histories,
    ) -> Result<Arc<Vec<Spent>>, StoreError> {
        let events = log.count()?;
        let known = self.lock().get(log.run()).cloned();
        if let Some((_, spent)) = known.filter(|(known, _)| *known == events) {
            return Ok(spent);
        }
        let spent = Arc::new(Self::until(log, histories, events)?);
        let mut all = self.lock();
        if all.len() >= RUNS_MAX {
            all.pop_first();
        }
        all.insert(log.run().clone(), (events, Arc::clone(&spent)));
        Ok(spent)
    }

    /// Returns the costs of the run of `log` after its first `at` events.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn until(
        log: &RunLog,
        histories: &Histories,
        at: u64,
    ) -> Result<Vec<Spent>, StoreError> {
        read(log, histories, at)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The current state, attempt and model of a region.
#[derive(Debug, Clone, Default)]
struct Stands {
    state: Option<String>,
    attempt: u32,
    model: String,
}

fn read(log: &RunLog, histories: &Histories, at: u64) -> Result<Vec<Spent>, StoreError> {
    let mut stands: BTreeMap<FramePath, Stands> = BTreeMap::new();
    let mut all: Vec<Spent> = Vec::new();
    for recorded in log.events(0) {
        let recorded = recorded?;
        if recorded.seq >= at {
            break;
        }
        match &recorded.event {
            Event::StageEntered {
                path,
                stage,
                attempt,
                ..
            } => {
                let now = stands.entry(path.clone()).or_default();
                now.state = Some(stage.to_string());
                now.attempt = *attempt;
            }
            Event::EffectStarted { path, attempt, .. } => {
                let now = stands.entry(path.clone()).or_default();
                now.state = None;
                now.attempt = *attempt;
            }
            Event::ModelCalled {
                path,
                provider,
                model,
                ..
            } => {
                let now = stands.entry(path.clone()).or_default();
                now.model = format!("{provider}/{model}");
            }
            Event::ModelResponded {
                path, usage, ms, ..
            } => {
                let now = stands.get(path).cloned().unwrap_or_default();
                let (state, spent) = (state(log, histories, path, &now, recorded.seq)?, *usage);
                add(&mut all, (state, path, now), (spent, *ms), recorded.seq);
            }
            Event::HistoryCondensed {
                path, usage, model, ..
            } => {
                let mut now = stands.get(path).cloned().unwrap_or_default();
                now.model.clone_from(model);
                let (state, spent) = (state(log, histories, path, &now, recorded.seq)?, *usage);
                add(&mut all, (state, path, now), (spent, 0), recorded.seq);
            }
            _ => {}
        }
    }
    Ok(all)
}

fn state(
    log: &RunLog,
    histories: &Histories,
    path: &FramePath,
    now: &Stands,
    seq: u64,
) -> Result<String, StoreError> {
    if let Some(state) = &now.state {
        return Ok(state.clone());
    }
    let run = histories.at(log, seq)?.run;
    let frame = run.frame(path);
    Ok(frame.map_or_else(String::new, |frame| frame.at.to_string()))
}

fn add(
    all: &mut Vec<Spent>,
    (state, path, now): (String, &FramePath, Stands),
    (usage, ms): (Usage, u64),
    seq: u64,
) {
    let path = path.to_string();
    let attempt = now.attempt.max(1);
    let same = |spent: &&mut Spent| {
        spent.state == state
            && spent.path == path
            && spent.attempt == attempt
            && spent.model == now.model
    };
    if let Some(spent) = all.iter_mut().find(same) {
        spent.usage = spent.usage.plus(usage);
        spent.turns += 1;
        spent.ms = spent.ms.saturating_add(ms);
        return;
    }
    all.push(Spent {
        state,
        path,
        attempt,
        model: now.model,
        turns: 1,
        usage,
        ms,
        seq,
    });
}

/// Returns the sum of the costs; `None` if there are none.
pub(crate) fn sum(all: &[Spent]) -> Option<Usage> {
    all.iter().map(|spent| spent.usage).reduce(Usage::plus)
}
