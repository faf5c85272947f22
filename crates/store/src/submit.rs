//! From a command to its events in the log.

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

/// How often a command is decided anew because another writer was first.
const TRIES_MAX: u32 = 64;

/// Answers `command`, records what happened and folds it into `run`.
///
/// `run` is as it was loaded. Where another writer was first it is loaded and
/// the command decided again, so that two never both take the last of anything.
/// What is answered has been recorded.
///
/// # Errors
/// The log cannot be read or written, or others were first too often. The
/// command then has no answer, and `run` is as it was last loaded.
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
    let decision = record(log, run, command.at_ms, |run| decide(machine, run, command))?;
    let accepts = |event: &Event| matches!(event, Event::ProjectAccepted { .. });
    if decision.events.iter().any(accepts) {
        // Where it fails the files from before count, so that what differs from them is refused.
        let _ = log.freeze_now(machine);
    }
    Ok(decision)
}

/// Records how frozen files differ, where that is not known yet.
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
    record(log, run, at_ms, |run| decide(machine, run, &command)).map(drop)
}

/// Tells whether guards are evaluated for what is asked.
const fn rests_on_evidence(command: &CommandKind) -> bool {
    matches!(
        command,
        CommandKind::Transition(_) | CommandKind::AskInPrompt { .. } | CommandKind::Approve(_)
    )
}

/// Records files that changed since the last check, where no call was seen to change them.
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
    record(log, run, at_ms, |run| decide(machine, run, &command)).map(drop)
}

/// The same where what is asked depends on the run: it is made anew with each decision.
///
/// `run` may be older than its log: that is noticed when the answer is recorded.
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
    record(log, run, at_ms, |run| {
        let command = ask(run);
        decide(
            machine,
            run,
            &Command {
                at_ms,
                kind: command,
            },
        )
    })
}

fn record(
    log: &mut dyn EventLog,
    run: &mut Run,
    at_ms: u64,
    mut decided: impl FnMut(&Run) -> Decision,
) -> Result<Decision, StoreError> {
    for _ in 0..TRIES_MAX {
        let decision = decided(run);
        match log.append(run.seq, at_ms, &decision.events) {
            Ok(()) => {
                *run = decision.events.iter().fold(run.clone(), evolve);
                return Ok(decision);
            }
            Err(AppendError::Conflict { .. }) => *run = log.load()?,
            Err(AppendError::Store(error)) => return Err(error),
        }
    }
    Err(StoreError::Contended { tries: TRIES_MAX })
}
