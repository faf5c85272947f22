//! Folds an event into a run: the only way a run changes.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    event::{
        BranchOutcome, BranchStart, CallMarks, CallRecord, Event, How, InterruptHit,
        ProtectedChange, ToolChange,
    },
    machine::Object,
    names::{CallId, Digest, FramePath, StateName},
    run::{
        AcceptedTool, Child, Confined, Frame, Grant, Handling, Line, OpenCall, Parked, Pause,
        Phase, Run, Seen, Used,
    },
};

/// Open calls remembered at most; `decide` settles older ones first.
const OPEN_CALLS_MAX: usize = 256;
/// Changes of protected things that wait for a person at most.
const CHANGES_MAX: usize = 256;

/// Returns `run` as it is after `event`. Total; knows no machine.
#[must_use]
pub fn evolve(mut run: Run, event: &Event) -> Run {
    apply(&mut run, event);
    run.seq += 1;
    run
}

fn apply(run: &mut Run, event: &Event) {
    match event {
        Event::RunStarted {
            run: id,
            initial,
            context,
            at_ms,
            ..
        } => {
            run.id = id.clone();
            run.phase = Phase::Open;
            run.root = Frame::entering(None, initial.clone(), context.clone(), run.seq, *at_ms);
        }
        Event::CallAllowed {
            path, call, marks, ..
        } => allow(run, path, call, marks),
        Event::GrantRequested {
            path, call, marks, ..
        } => request_grant(run, path, call, marks),
        Event::GrantIssued { path, digest, by } => {
            if let Some(grant) = find_grant(run, path, digest) {
                grant.granted_by = Some(by.clone());
            }
        }
        Event::GrantDenied {
            path, digest, note, ..
        } => {
            drop_grant(run, path, digest);
            if let Some(frame) = run.frame_mut(path) {
                frame.note.clone_from(note);
            }
        }
        Event::GrantConsumed { path, digest } => drop_grant(run, path, digest),
        Event::CallEnded {
            call,
            ok,
            exit,
            bytes,
            wrote,
            ..
        } => {
            end_call(run, call, *ok, *exit, *bytes);
            if !wrote.is_empty() {
                run.last_write = run.last_write.max(Some(run.seq));
            }
        }
        Event::LineConfined {
            call,
            level,
            not_held,
        } => {
            run.confined = Some(Confined {
                level: level.clone(),
                not_held: not_held.clone(),
            });
            if let Some(open) = run.calls.iter_mut().find(|open| open.id == *call) {
                open.line = Some(Line::default());
            }
        }
        Event::LineEnded { call, exit, wrote } => {
            if !wrote.is_empty() {
                run.last_write = run.last_write.max(Some(run.seq));
            }
            if let Some(open) = run.calls.iter_mut().find(|open| open.id == *call) {
                open.line = Some(Line {
                    exit: *exit,
                    wrote: wrote.clone(),
                });
            }
        }
        Event::AgentBound { agent, path } => {
            run.agents.insert(agent.clone(), path.clone());
        }
        Event::TransitionTaken {
            path,
            from,
            to,
            how,
            data,
            at_ms,
            ..
        } => {
            take_transition(run, path, from, to, *how, data, *at_ms);
        }
        Event::ApprovalRequested {
            path,
            event,
            index,
            data,
            message,
            by,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.parked = Some(Parked {
                    event: event.clone(),
                    index: *index,
                    data: data.clone(),
                    message: message.clone(),
                    by: by.clone(),
                });
                frame.note = None;
            }
        }
        Event::ApprovalGranted { path, .. } | Event::ApprovalDropped { path, .. } => {
            unpark(run, path, None)
        }
        Event::ApprovalRejected { path, note, .. } => unpark(run, path, note.as_ref()),
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
                frame.handling = Some(Handling {
                    interrupt: interrupt.clone(),
                    file: file.clone(),
                    return_to: from.clone(),
                });
            }
        }
        Event::InterruptQueued {
            path,
            interrupt,
            file,
        } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.queue.push_back(InterruptHit {
                    interrupt: interrupt.clone(),
                    file: file.clone(),
                });
            }
        }
        Event::InterruptDequeued { path } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.queue.pop_front();
            }
        }
        Event::ForkOpened { path, branches } => open_fork(run, path, branches),
        Event::MachineCalled {
            path,
            machine,
            shown,
            initial,
            context,
        } => {
            let (seq, ms) = entry(run, path);
            if let Some(frame) = run.frame_mut(path) {
                let child = Frame::entering(
                    Some(machine.clone()),
                    initial.clone(),
                    context.clone(),
                    seq,
                    ms,
                );
                frame.children = vec![Child::open(shown, child)];
            }
        }
        Event::BranchEnded {
            path,
            outcome,
            cause,
        } => {
            end_branch(run, path, *outcome);
            if let Some(child) = child_mut(run, path) {
                child.cause.clone_from(cause);
            }
        }
        Event::ForkJoined { path, merged, .. } | Event::MachineReturned { path, merged, .. } => {
            close_children(run, path, merged);
        }
        Event::ActivityEnded { path, output, .. } => {
            if let Some(frame) = run.frame_mut(path) {
                frame.output = output.clone();
            }
        }
        Event::RunPaused { by, reason } => {
            run.paused = Some(Pause {
                by: by.clone(),
                reason: reason.clone(),
            });
        }
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
        Event::RunCancelled { .. } => end_run(run, Phase::Cancelled),
        Event::RunEnded { outcome, cause } => {
            end_run(
                run,
                Phase::Ended {
                    outcome: *outcome,
                    cause: cause.clone(),
                },
            );
        }
        Event::CallDenied { .. } | Event::TransitionRejected { .. } => {}
    }
}

fn allow(run: &mut Run, path: &FramePath, call: &CallRecord, marks: &CallMarks) {
    if marks.counts {
        count(run, path, marks);
    }
    if marks.writes {
        run.last_write = Some(run.seq);
    }
    remember(run, path, call, marks, false);
}

fn request_grant(run: &mut Run, path: &FramePath, call: &CallRecord, marks: &CallMarks) {
    let Some(frame) = run.frame(path) else { return };
    let entered_seq = frame.entered_seq;
    run.grants.push(Grant {
        path: path.clone(),
        entered_seq,
        digest: call.digest.clone(),
        tool: call.tool.clone(),
        summary: call.summary.clone(),
        granted_by: None,
    });
    remember(run, path, call, marks, true);
}

fn count(run: &mut Run, path: &FramePath, marks: &CallMarks) {
    if let Some(frame) = run.frame_mut(path) {
        frame.used.calls += 1;
        frame.used.files.extend(marks.files.iter().cloned());
    }
}

fn remember(run: &mut Run, path: &FramePath, call: &CallRecord, marks: &CallMarks, asked: bool) {
    let Some(frame) = run.frame(path) else { return };
    let entered_seq = frame.entered_seq;
    if run.calls.len() >= OPEN_CALLS_MAX {
        run.calls.pop_front();
    }
    run.calls.push_back(OpenCall {
        id: call.id.clone(),
        path: path.clone(),
        entered_seq,
        begun_seq: run.seq,
        asked,
        digest: call.digest.clone(),
        marks: marks.clone(),
        line: None,
    });
}

fn end_call(run: &mut Run, id: &CallId, ok: bool, exit: Option<i64>, bytes: u64) {
    let Some(index) = run.calls.iter().position(|call| call.id == *id) else {
        return;
    };
    let Some(call) = run.calls.remove(index) else {
        return;
    };
    if call.asked {
        // The client's own prompt said yes: the call ran, so it counts from here.
        drop_grant(run, &call.path, &call.digest);
        count(run, &call.path, &call.marks);
        if call.marks.writes {
            run.last_write = Some(run.seq);
        }
    }
    if let Some(frame) = run
        .frame_mut(&call.path)
        .filter(|frame| frame.entered_seq == call.entered_seq)
    {
        frame.used.bytes = frame.used.bytes.saturating_add(bytes);
    }
    let begun_seq = call.begun_seq;
    for mark in &call.marks.evidence {
        let seen = match (call.marks.shell, exit) {
            (false, _) => Some(i64::from(!ok)),
            (true, Some(0)) if mark.proves_success => Some(0),
            // Success of a line that does not prove it says nothing either way.
            (true, Some(0)) => continue,
            (true, Some(exit)) if mark.proves_exit => Some(exit),
            (true, _) => None,
        };
        let newer = run
            .evidence
            .get(&mark.key)
            .is_none_or(|known| known.begun_seq <= begun_seq);
        if newer {
            run.evidence.insert(
                mark.key.clone(),
                Seen {
                    begun_seq,
                    exit: seen,
                },
            );
        }
    }
}

fn find_grant<'a>(run: &'a mut Run, path: &FramePath, digest: &Digest) -> Option<&'a mut Grant> {
    run.grants
        .iter_mut()
        .find(|grant| grant.path == *path && grant.digest == *digest)
}

fn drop_grant(run: &mut Run, path: &FramePath, digest: &Digest) {
    run.grants
        .retain(|grant| grant.path != *path || grant.digest != *digest);
}

fn take_transition(
    run: &mut Run,
    path: &FramePath,
    from: &StateName,
    to: &StateName,
    how: How,
    data: &Object,
    at_ms: u64,
) {
    let seq = run.seq;
    if let Some(frame) = run.frame_mut(path) {
        for (key, value) in data {
            frame.context.insert(key.clone(), value.clone());
        }
        if how == How::Returned {
            frame.handling = None;
        } else if from != to {
            frame.handling = None;
            frame.queue = VecDeque::new();
        }
        enter(frame, to, seq, at_ms);
    }
    forget_stay(run, path);
}

fn enter(frame: &mut Frame, to: &StateName, seq: u64, at_ms: u64) {
    frame.at = to.clone();
    frame.used = Used::default();
    frame.entered_seq = seq;
    frame.entered_ms = at_ms;
    frame.parked = None;
    frame.note = None;
    frame.children = Vec::new();
}

/// Drops grants of stays that are over.
fn forget_stay(run: &mut Run, path: &FramePath) {
    run.grants.retain(|grant| grant.path != *path);
}

fn unpark(run: &mut Run, path: &FramePath, note: Option<&String>) {
    if let Some(frame) = run.frame_mut(path) {
        frame.parked = None;
        frame.note = note.cloned();
    }
}

fn entry(run: &Run, path: &FramePath) -> (u64, u64) {
    (run.seq, run.frame(path).map_or(0, |frame| frame.entered_ms))
}

fn open_fork(run: &mut Run, path: &FramePath, branches: &[BranchStart]) {
    let (seq, ms) = entry(run, path);
    if let Some(frame) = run.frame_mut(path) {
        frame.children = branches
            .iter()
            .map(|branch| {
                let mut context = frame.context.clone();
                context.extend(branch.context.clone());
                let child = Frame::entering(
                    frame.machine.clone(),
                    branch.initial.clone(),
                    context,
                    seq,
                    ms,
                );
                Child::open(&branch.name, child)
            })
            .collect();
    }
}

fn child_mut<'a>(run: &'a mut Run, path: &FramePath) -> Option<&'a mut Child> {
    let (parent, name) = path.split_last()?;
    run.frame_mut(&parent)?
        .children
        .iter_mut()
        .find(|child| child.name == name)
}

fn end_branch(run: &mut Run, path: &FramePath, outcome: BranchOutcome) {
    if let Some(child) = child_mut(run, path) {
        child.ended = Some(outcome);
        child.frame.parked = None;
        child.frame.children = Vec::new();
    }
    release(run, path);
}

fn close_children(run: &mut Run, path: &FramePath, merged: &Object) {
    if let Some(frame) = run.frame_mut(path) {
        frame.children = Vec::new();
        frame.context.extend(merged.clone());
    }
    run.agents
        .retain(|_, bound| bound == path || !path.holds(bound));
    run.grants
        .retain(|grant| grant.path == *path || !path.holds(&grant.path));
}

fn release(run: &mut Run, path: &FramePath) {
    run.agents.retain(|_, bound| !path.holds(bound));
    run.grants.retain(|grant| !path.holds(&grant.path));
}

/// Keeps the newest report of each protected thing until a person has seen it.
fn report_protected(run: &mut Run, changes: &[ProtectedChange]) {
    for change in changes {
        run.changed.retain(|known| known.path != change.path);
        if run.changed.len() < CHANGES_MAX {
            run.changed.push(change.clone());
        }
    }
}

/// What a person has seen is from now on as it should be.
fn accept_changes(run: &mut Run) {
    for change in std::mem::take(&mut run.changed) {
        if !change.undone {
            run.accepted.insert(change.path, change.digest);
        }
    }
}

/// Keeps the newest report of each changed tool until a person has seen it.
fn report_tool(run: &mut Run, change: &ToolChange) {
    run.tools_changed
        .retain(|known| known.server != change.server || known.tool != change.tool);
    if run.tools_changed.len() < CHANGES_MAX {
        run.tools_changed.push(change.clone());
    }
}

fn accept_tool(run: &mut Run, server: &str, tool: &str, digest: &Digest) {
    run.tools_changed
        .retain(|known| known.server != server || known.tool != tool);
    run.tools_accepted
        .retain(|known| known.server != server || known.tool != tool);
    run.tools_accepted.push(AcceptedTool {
        server: server.to_owned(),
        tool: tool.to_owned(),
        digest: digest.clone(),
    });
}

fn end_run(run: &mut Run, phase: Phase) {
    run.phase = phase;
    run.paused = None;
    run.calls = VecDeque::new();
    run.agents = BTreeMap::new();
    run.grants = Vec::new();
    run.changed = Vec::new();
    run.tools_changed = Vec::new();
    run.tools_accepted = Vec::new();
}

impl Child {
    fn open(name: &str, frame: Frame) -> Self {
        Self {
            name: name.to_owned(),
            frame,
            ended: None,
            cause: None,
        }
    }
}
