//! Pinned definitions of tools, which must stay those that the run saw first.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_core::{
    command::{Command, CommandKind},
    event::ToolChange,
    names::RunId,
};
use interlock_project::now_ms;
use interlock_served::{
    ListedTool,
    pins::{by_name, change, is_accepted, name, pin},
};
use interlock_store::{EventLog as _, Home, StoreError, ToolPin, submit};

/// Pins by server and tool.
type Pinned = BTreeMap<(String, String), ToolPin>;

/// Pinned definitions, for all sessions of a run's servers.
#[derive(Debug, Clone)]
pub(super) struct PinnedTools(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Where they are stored next to the log; `None` if they are only in memory.
    run: Option<(Home, RunId)>,
    /// `None` if it has not been read yet.
    known: Option<Pinned>,
}

impl PinnedTools {
    pub(super) fn new(run: Option<(Home, RunId)>) -> Self {
        Self(Arc::new(Mutex::new(State { run, known: None })))
    }

    /// Stores present and future pins next to the log of `run`, unless a run already has them.
    pub(super) fn keep_with(&self, home: &Home, run: RunId) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.run.is_some() {
            return Ok(());
        }
        let seen = state.known.take().unwrap_or_default();
        state.run = Some((home.clone(), run));
        if !seen.is_empty() {
            let pins = state.add(BTreeMap::new(), seen.into_values().collect())?;
            state.known = Some(pins);
        }
        Ok(())
    }

    /// Returns the run that they are stored with.
    pub(super) fn run(&self) -> Option<String> {
        self.lock().run.as_ref().map(|(_, run)| run.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pins what is seen for the first time, and returns for each tool whether it has changed.
    pub(super) fn compare(
        &self,
        tools: &[ListedTool<'_>],
    ) -> Result<Vec<Option<ToolChange>>, StoreError> {
        let mut state = self.lock();
        let pins = match state.known.take() {
            Some(pins) => pins,
            None => state.read()?,
        };
        let seen: Vec<Option<ToolPin>> = tools.iter().map(pin).collect();
        let is_new = |pin: &&ToolPin| !pins.contains_key(&name(pin));
        let new: Vec<ToolPin> = seen.iter().flatten().filter(is_new).cloned().collect();
        let pins = if new.is_empty() {
            pins
        } else {
            state.add(pins, new)?
        };
        let mut changes = Vec::new();
        for (tool, seen) in tools.iter().zip(seen) {
            let pinned = pins.get(&(tool.server.to_owned(), tool.name.to_owned()));
            let changed = pinned.and_then(|pinned| change(pinned, seen.as_ref()));
            changes.push(match changed {
                Some(changed) if !state.is_accepted(&changed)? => Some(changed),
                _ => None,
            });
        }
        state.known = Some(pins);
        Ok(changes)
    }
}

impl State {
    fn read(&self) -> Result<Pinned, StoreError> {
        match &self.run {
            Some((home, run)) => Ok(by_name(home.open_run(run)?.folder().tool_pins()?)),
            None => Ok(BTreeMap::new()),
        }
    }

    fn add(&self, mut pins: Pinned, new: Vec<ToolPin>) -> Result<Pinned, StoreError> {
        match &self.run {
            Some((home, run)) => Ok(by_name(home.open_run(run)?.folder().pin_tools(new)?)),
            None => {
                pins.extend(by_name(new));
                Ok(pins)
            }
        }
    }

    /// Returns whether a person has accepted the definition since; an unaccepted change is recorded in the run.
    fn is_accepted(&self, change: &ToolChange) -> Result<bool, StoreError> {
        let Some((home, run)) = &self.run else {
            return Ok(false);
        };
        let mut log = home.open_run(run)?;
        let machine = log.machine()?;
        let mut run = log.load()?;
        if is_accepted(&run, change) {
            return Ok(true);
        }
        // In the log a person can see and accept it.
        let report = Command {
            at_ms: now_ms(),
            kind: CommandKind::ReportTool(change.clone()),
        };
        submit(&mut log, &machine, &mut run, &report)?;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_with_one_run_is_not_kept_with_another_later() {
        let home = Home::at("/nowhere");
        let pinned = PinnedTools::new(None);
        assert_eq!(pinned.run(), None);
        for run in ["r1", "r2"] {
            let kept = pinned.keep_with(&home, RunId::new(run));
            assert!(kept.is_ok(), "{kept:?}");
            assert_eq!(pinned.run().as_deref(), Some("r1"));
        }
    }
}
