//! Submits a command: decides it and appends its events to the log.

use interlock_core::{
    Decision,
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Machine,
    run::Run,
};

use crate::{
    error::StoreError,
    log::{AppendError, EventLog},
};

/// Maximum number of times that a command is decided again because another writer was first.
const TRIES_MAX: u32 = 64;

/// Decides `command`, records its events, and folds them into `run`.
///
/// `run` is the run as loaded. If another writer was first, the run is loaded again and the command is decided again, so
/// that two processes never both take the last of anything. A returned decision has been recorded.
///
/// # Errors
/// The log cannot be read or written, or other writers were first too many times. The command is then not decided, and
/// `run` is as it was last loaded.
pub fn submit(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    command: &Command,
) -> Result<Decision, StoreError> {
    if rests_on_evidence(&command.kind) {
        look_at_files(log, machine, run, command.at_ms)?;
        look_at_frozen(log, machine, run, command.at_ms)?;
    }
    let decision = record(log, machine, run, &mut |_| Made::Once(command))?;
    let accepts = |event: &Event| matches!(event, Event::ProjectAccepted { .. });
    if decision.events.iter().any(accepts) {
        // Where it fails the files from before count, so that what differs from them is refused.
        let _ = log.freeze_now(machine);
    }
    Ok(decision)
}

/// Records the differences of frozen files, if they are not known yet.
fn look_at_frozen(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    at_ms: u64,
) -> Result<(), StoreError> {
    let Some(changes) = log.frozen_now(machine).filter(|now| *now != run.frozen) else {
        return Ok(());
    };
    let command = Command {
        at_ms,
        kind: CommandKind::ReportFrozen { changes },
    };
    record(log, machine, run, &mut |_| Made::Once(&command)).map(drop)
}

/// Returns whether the command evaluates guards.
const fn rests_on_evidence(command: &CommandKind) -> bool {
    matches!(
        command,
        CommandKind::Transition(_) | CommandKind::AskInPrompt { .. } | CommandKind::Approve(_)
    )
}

/// Records files that have changed since the last check without a call that was seen to change them.
fn look_at_files(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    at_ms: u64,
) -> Result<(), StoreError> {
    let files = log.files_changed_unseen(run);
    if files.is_empty() {
        return Ok(());
    }
    let command = CommandKind::ReportFiles {
        files,
        before: None,
    };
    let command = Command {
        at_ms,
        kind: command,
    };
    record(log, machine, run, &mut |_| Made::Once(&command)).map(drop)
}

/// Like [`submit`], for a command that depends on the run: it is made again for each decision.
///
/// `run` may be older than its log, which is detected when the events are recorded.
///
/// # Errors
/// As [`submit`].
pub fn submit_made(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    at_ms: u64,
    mut ask: impl FnMut(&Run) -> CommandKind,
) -> Result<Decision, StoreError> {
    record(log, machine, run, &mut |run| {
        let kind = ask(run);
        Made::ForRun(Box::new(Command { at_ms, kind }))
    })
}

/// A command to be decided.
enum Made<'a> {
    /// It does not depend on the run.
    Once(&'a Command),
    /// It was made for the run as it is.
    ForRun(Box<Command>),
}

fn record<'a>(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    make: &mut dyn FnMut(&Run) -> Made<'a>,
) -> Result<Decision, StoreError> {
    for _ in 0..TRIES_MAX {
        let made = make(run);
        let (command, only_now) = match &made {
            Made::Once(command) => (*command, false),
            Made::ForRun(command) => (&**command, true),
        };
        let recorded = match log.decide_there(run, command, only_now) {
            Some(decided) => decided,
            None => append(log, machine, run, command),
        };
        match recorded {
            Ok(decision) => return Ok(decision),
            Err(AppendError::Conflict { .. }) => *run = log.load()?,
            Err(AppendError::Store(error)) => return Err(error),
        }
    }
    Err(StoreError::Contended { tries: TRIES_MAX })
}

/// Decides a command here, and appends its events.
fn append(
    log: &mut dyn EventLog,
    machine: &Machine,
    run: &mut Run,
    command: &Command,
) -> Result<Decision, AppendError> {
    let decision = decide(machine, run, command);
    log.append(run.seq, command.at_ms, &decision.events)?;
    *run = decision.events.iter().fold(run.clone(), evolve);
    Ok(decision)
}
