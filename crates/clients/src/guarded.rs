//! Client processes whose sessions are guarded by open runs: no process below them is a person.

use interlock_core::names::RunId;
use interlock_store::{
    Binding, ClientProcess, EventLog as _, Home, KnownSessions, Listed, StoreError,
};

use crate::process;

/// A client's process whose session an open run guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The process.
    pub process: ClientProcess,
    /// The run.
    pub run: RunId,
}

/// Lists the processes of guarded clients, except those in `own`: a person made a token below these, so a script that plays the
/// client itself acts for its person.
///
/// # Errors
/// Returns an error if the bindings of sessions cannot be read.
pub fn guarded_clients(home: &Home, own: &[ClientProcess]) -> Result<Vec<Guarded>, StoreError> {
    let mut guarded = Vec::new();
    for binding in home.bound_sessions()? {
        guarded.extend(guarding(home, &binding?, |process| !own.contains(process)));
    }
    Ok(guarded)
}

/// Finds an open run that guards an agent; a run that cannot be read counts as open.
///
/// # Errors
/// Returns an error if the runs cannot be listed.
pub fn open_guarded_run(home: &Home) -> Result<Option<RunId>, StoreError> {
    for run in home.list_runs()? {
        if matches!(&run.listed, Listed::Known(card) if card.is_over()) {
            continue;
        }
        let loaded = home.open_run(&run.id).and_then(|log| log.load());
        if !loaded.is_ok_and(|loaded| loaded.is_over() || loaded.is_durable()) {
            return Ok(Some(run.id));
        }
    }
    Ok(None)
}

/// Finds the open run whose client is `pid` or an ancestor of it; `known` contains the sessions as last read.
///
/// # Errors
/// Returns an error if the bindings of sessions or the ancestors of the process cannot be read.
pub fn guarded_above(
    home: &Home,
    known: &KnownSessions,
    pid: u32,
    now_ms: u64,
) -> Result<Option<RunId>, StoreError> {
    let line = process::with_ancestors(pid).ok_or_else(|| StoreError::Unsafe {
        path: format!("/proc/{pid}").into(),
        why: "it is unknown whom it runs for".to_owned(),
    })?;
    let is_above = |client: &ClientProcess| line.iter().any(|process| process.client == *client);
    let bindings = home.bound_sessions_since(known, now_ms)?;
    let mut found = bindings.iter();
    Ok(found.find_map(|binding| Some(guarding(home, binding, is_above)?.run)))
}

/// Returns the client of a binding if it is wanted and its run is open; the runs of other clients are not read.
fn guarding(
    home: &Home,
    binding: &Binding,
    wanted: impl Fn(&ClientProcess) -> bool,
) -> Option<Guarded> {
    let process = binding.process.as_ref().filter(|process| wanted(process))?;
    // A run that cannot be read counts as open.
    let is_over = is_over(home, &binding.run).unwrap_or(false);
    (!is_over).then(|| Guarded {
        process: process.clone(),
        run: binding.run.clone(),
    })
}

fn is_over(home: &Home, run: &RunId) -> Result<bool, StoreError> {
    Ok(home.open_run(run)?.load()?.is_over())
}
