//! Folds an event into a run. A run changes in no other way.

mod activities;
mod attempts;
mod calls;
mod changes;
mod conversation;
mod hooks;
mod join;
mod regions;
mod reopen;
mod requests;
mod stage;
mod substance;
mod written;

pub(crate) use stage::UPSTREAM;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use calls::{CallOutcome, allow, bind, end_call, end_line, remember, start_line};
use changes::{accept_changes, accept_tool, report_files, report_protected, report_tool};

use crate::{
    event::{Event, InterruptHit, TransitionKind},
    machine::Object,
    names::{FramePath, StateName},
    run::{Confined, Frame, Handling, Pause, Phase, Region, Run, RunKind, ShellLine, Stay},
};

/// Returns `run` after `event`. This function is total and needs no machine.
#[must_use]
pub fn evolve(mut run: Run, event: &Event) -> Run {
    fold(&mut run, event);
    run
}

/// Applies `event` to `run`.
pub(crate) fn fold(run: &mut Run, event: &Event) {
    apply(run, event);
    run.seq += 1;
}

fn apply(run: &mut Run, event: &Event) {
    match event {
        Event::RunStarted {
            run: id,
            initial,
            context,
            at_ms,
            kind,
            ..
        } => {
            run.id = id.clone();
            run.phase = Phase::Open;
            run.kind.clone_from(kind);
            hooks::on_entry(run);
            let context = Arc::new(context.clone());
            run.root = Frame::entering(None, initial.clone(), context, run.seq, *at_ms);
            if let RunKind::Durable(durable) = kind
                && let Some(input) = &durable.input
            {
                run.root.line.steps = 1;
                conversation::open(&mut run.root, input);
            }
        }
        Event::OutputKept { .. }
        | Event::OutputChanged { .. }
        | Event::PersonSaid { .. }
        | Event::HistoryCondensed { .. } => conversation::apply_conversation(run, event),
        Event::CallAllowed {
            path, call, marks, ..
        } => allow(run, path, call, marks),
        Event::RequestOpened { .. }
        | Event::RequestAnswered { .. }
        | Event::RequestVoided { .. }
        | Event::RequestUsed { .. } => requests::apply_request(run, event),
        Event::CallEnded {
            call,
            ok,
            exit,
            bytes,
            wrote,
            commands,
            checked,
            assumed,
            writes,
        } => {
            let outcome = CallOutcome {
                checked: Some(checked),
                ok: *ok,
                exit: *exit,
                commands,
                writes: *writes,
                assumed: *assumed,
            };
            written::count(run, call, wrote);
            end_call(run, call, outcome, *bytes);
            if !wrote.is_empty() {
                run.last_write = run.last_write.max(Some(run.seq));
            }
        }
        Event::LineConfined {
            call,
            level,
            unconfined,
            settles,
        } => {
            run.confined = Some(Confined {
                level: level.clone(),
                unconfined: unconfined.clone(),
            });
            start_line(run, call, *settles);
        }
        Event::LineEnded {
            call,
            exit,
            wrote,
            commands,
            unseen,
            checked,
        } => {
            let line = ShellLine {
                checked: checked.clone(),
                exit: *exit,
                wrote: wrote.clone(),
                commands: commands.clone(),
                unseen: *unseen,
                settles: false,
                ended_seq: None,
            };
            written::count(run, call, wrote);
            end_line(run, call, line);
        }
        Event::AgentBound { agent, path } => bind(run, agent, path),
        Event::AgentReleased { agent } => {
            if run.agents.contains_key(agent) {
                run.away.insert(agent.clone());
            }
        }
        Event::FinishRefused { attempt } => run.finish_refusals = *attempt,
        Event::TransitionTaken {
            path,
            event,
            from,
            to,
            how,
            data,
            at_ms,
            ..
        } => {
            if event.as_str() == "error"
                && let Some(frame) = run.frame_mut(path)
            {
                activities::catch(frame);
            }
            hooks::on_entry(run);
            run.finish_refusals = 0;
            take_transition(run, path, from, to, *how, data, *at_ms);
        }
        Event::InterruptRaised {
            path,
            interrupt,
            file,
            from,
            to,
            at_ms,
        } => {
            let seq = run.seq;
            if let Some(frame) = run.frame_mut(path) {
                enter(frame, to, seq, *at_ms);
                frame.line.handling = Some(Handling {
                    interrupt: interrupt.clone(),
                    file: file.clone(),
                    return_to: from.clone(),
                });
            }
            requests::forget_stay(run, path, *at_ms);
        }
        Event::InterruptQueued {
            path,
            interrupt,
            file,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.line.queue.push_back(InterruptHit {
                    interrupt: interrupt.clone(),
                    file: file.clone(),
                });
            }
        }
        Event::InterruptDequeued { path } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.line.queue.pop_front();
            }
        }
        Event::EffectStarted { .. }
        | Event::AttemptFailed { .. }
        | Event::EffectLost { .. }
        | Event::ActivityEnded { .. } => activities::apply_effect(run, event),
        Event::VariablesSet { values, .. } => activities::set_variables(&mut run.root, values),
        Event::MachineAdopted {
            hash,
            variables,
            at_ms,
            ..
        } => reopen::adopt(run, hash, variables, *at_ms),
        Event::RunReopened { at_ms, .. } => reopen::reopen(run, *at_ms),
        Event::RunPaused { by, reason } => {
            run.paused = Some(Pause {
                by: by.clone(),
                reason: reason.clone(),
            });
        }
        Event::FilesChanged { before, .. } => report_files(run, before.as_ref()),
        Event::ProjectAccepted { .. } => {
            run.approved = Some(run.seq);
            run.frozen.clear();
        }
        Event::FrozenCompared { changes } => run.frozen.clone_from(changes),
        Event::ProtectedChanged { changes } => report_protected(run, changes),
        Event::ToolChanged(change) => report_tool(run, change),
        Event::ToolAccepted {
            server,
            tool,
            digest,
            ..
        } => accept_tool(run, server, tool, digest),
        Event::RunResumed { .. } => {
            run.paused = None;
            accept_changes(run);
        }
        Event::RunCancelled { .. } => {
            requests::void_below(run, &FramePath::root(), "the run was cancelled");
            end_run(run, Phase::Cancelled);
        }
        Event::RunEnded { outcome, cause } => {
            requests::void_below(run, &FramePath::root(), "the run has ended");
            end_run(
                run,
                Phase::Ended {
                    outcome: *outcome,
                    cause: cause.clone(),
                },
            );
        }
        Event::ItemsListed { .. }
        | Event::RegionsStarted { .. }
        | Event::RegionReopened { .. }
        | Event::RegionWaits { .. }
        | Event::RegionPassed { .. }
        | Event::RegionEnded { .. }
        | Event::Joined { .. }
        | Event::Parted { .. }
        | Event::MachineCalled { .. }
        | Event::MachineReturned { .. } => regions::apply_region(run, event),
        Event::StageEntered { .. }
        | Event::StageStarted { .. }
        | Event::ModelCalled { .. }
        | Event::ModelResponded { .. }
        | Event::ModelFailed { .. }
        | Event::ToolAllowed { .. }
        | Event::ToolDenied { .. }
        | Event::ToolEnded { .. }
        | Event::CompletionRejected { .. }
        | Event::CompletionAccepted { .. }
        | Event::TurnEnded { .. }
        | Event::StageActed { .. }
        | Event::StageAsserted { .. }
        | Event::StageExited { .. }
        | Event::StageFailed { .. } => stage::apply_stage(run, event),
        Event::CallDenied { .. }
        | Event::TrustDecided { .. }
        | Event::TokenSeen { .. }
        | Event::ConsoleRefused { .. }
        | Event::ToolStarted { .. }
        | Event::TransitionSelected { .. }
        | Event::Noted { .. }
        | Event::TransitionRejected { .. }
        | Event::EffectSettled { .. } => {}
    }
}

fn take_transition(
    run: &mut Run,
    path: &FramePath,
    from: &StateName,
    to: &StateName,
    how: TransitionKind,
    data: &Object,
    at_ms: u64,
) {
    let seq = run.seq;
    if let Some(frame) = run.frame_mut(path) {
        merge(frame, data);
        if how == TransitionKind::Returned {
            frame.line.handling = None;
        } else if from != to {
            frame.line.handling = None;
            frame.line.queue = VecDeque::new();
        }
        enter(frame, to, seq, at_ms);
    }
    requests::forget_stay(run, path, at_ms);
}

fn enter(frame: &mut Frame, to: &StateName, seq: u64, at_ms: u64) {
    frame.at = to.clone();
    // Only lines with a conversation count what they enter; where several begin is not a state of the workflow.
    let counts = frame.line.dialogue.is_some() && !to.as_str().contains(':');
    frame.line.steps += u64::from(counts);
    frame.stay = Stay::begun(seq, at_ms);
    frame.regions = Vec::new();
}

fn merge(frame: &mut Frame, data: &Object) {
    if !data.is_empty() {
        Arc::make_mut(&mut frame.line.context).extend(data.clone());
    }
}

/// Stores a person's note where the agent will see it.
fn enter_note(run: &mut Run, path: &FramePath, note: Option<&str>) {
    if let Some(frame) = run.frame_mut(path) {
        frame.stay.note = note.map(str::to_owned);
    }
}

fn region_mut<'a>(run: &'a mut Run, path: &FramePath) -> Option<&'a mut Region> {
    let (parent, name) = path.split_last()?;
    run.frame_mut(&parent)?
        .regions
        .iter_mut()
        .find(|region| region.name == name)
        .map(Arc::make_mut)
}

fn end_run(run: &mut Run, phase: Phase) {
    run.phase = phase;
    run.paused = None;
    run.calls = VecDeque::new();
    run.agents = BTreeMap::new();
    run.away = BTreeSet::new();
    run.requests = Vec::new();
    run.changed = Vec::new();
    run.tools_changed = Vec::new();
    run.tools_accepted = Vec::new();
}
