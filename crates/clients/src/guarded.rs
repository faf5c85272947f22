//! The processes of clients whose sessions open runs guard: below them nobody is a person.

use interlock_core::names::RunId;
use interlock_store::{ClientProcess, EventLog as _, Home, StoreError};

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
    let mut guarded = Vec::new();
    for binding in home.bound_sessions()? {
        let binding = binding?;
        let Some(process) = binding.process.filter(|process| !own.contains(process)) else {
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

/// Finds the open run whose client is `pid` or above it.
///
/// # Errors
/// The bindings of sessions cannot be read, or it cannot be told which processes are above.
pub fn guarded_above(home: &Home, pid: u32) -> Result<Option<RunId>, StoreError> {
    let unknown = || StoreError::Unsafe {
        path: format!("/proc/{pid}").into(),
        why: "it cannot be told who it runs for".to_owned(),
    };
    let own = process::look(pid).ok_or_else(unknown)?;
    let above = process::ancestors(pid).ok_or_else(unknown)?;
    // Its number may have been given to another process meanwhile.
    if process::look(pid).is_none_or(|now| now.client != own.client) {
        return Err(unknown());
    }
    let line: Vec<ClientProcess> = std::iter::once(own)
        .chain(above)
        .map(|process| process.client)
        .collect();
    for binding in home.bound_sessions()? {
        let binding = binding?;
        let is_above = binding
            .process
            .is_some_and(|process| line.contains(&process));
        // A run that cannot be read may be open.
        if is_above && !is_over(home, &binding.run).unwrap_or(false) {
            return Ok(Some(binding.run));
        }
    }
    Ok(None)
}
