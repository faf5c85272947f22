//! The processes of clients whose sessions open runs guard: below them nobody is a person.

use interlock_core::names::RunId;
use interlock_store::{ClientProcess, EventLog as _, Home, Listed, StoreError};

use crate::process;

/// A client's process whose session an open run guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The process.
    pub process: ClientProcess,
    /// The run.
    pub run: RunId,
}

/// Lists the processes of guarded clients, but for those in `own`: a person made a token below
/// them, so a script that plays the client itself is its person's own.
///
/// # Errors
/// The bindings of sessions cannot be read.
pub fn guarded_clients(home: &Home, own: &[ClientProcess]) -> Result<Vec<Guarded>, StoreError> {
    guarded_among(home, |process| !own.contains(process))
}

/// Finds a run that guards an agent and is open; one that cannot be read may be.
///
/// # Errors
/// The runs cannot be listed.
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

/// Finds the open run whose client is `pid` or above it.
///
/// # Errors
/// The bindings of sessions cannot be read, or it cannot be told which processes are above.
pub fn guarded_above(home: &Home, pid: u32) -> Result<Option<RunId>, StoreError> {
    let line = process::with_ancestors(pid).ok_or_else(|| StoreError::Unsafe {
        path: format!("/proc/{pid}").into(),
        why: "it cannot be told who it runs for".to_owned(),
    })?;
    let is_above = |client: &ClientProcess| line.iter().any(|process| process.client == *client);
    let found = guarded_among(home, is_above)?.into_iter().next();
    Ok(found.map(|guarded| guarded.run))
}

/// Lists the clients that are wanted and whose runs are open; no other run is read.
fn guarded_among(
    home: &Home,
    wanted: impl Fn(&ClientProcess) -> bool,
) -> Result<Vec<Guarded>, StoreError> {
    let mut guarded = Vec::new();
    for binding in home.bound_sessions()? {
        let binding = binding?;
        let Some(process) = binding.process.filter(|process| wanted(process)) else {
            continue;
        };
        // A run that cannot be read may be open.
        if !is_over(home, &binding.run).unwrap_or(false) {
            let run = binding.run;
            guarded.push(Guarded { process, run });
        }
    }
    Ok(guarded)
}

fn is_over(home: &Home, run: &RunId) -> Result<bool, StoreError> {
    Ok(home.open_run(run)?.load()?.is_over())
}
