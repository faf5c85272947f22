//! Tool calls: the verdict before, the record after.

use super::{Answered, Decision, Reply, Work, address};
use crate::{
    briefing::teach,
    call::{CallKind, CallResult, ToolCall},
    command::{LineEnd, LineStart},
    event::{AllowSource, CallRecord, Event},
    judge::{self, Bench, Finding, Verdict},
    machine::Machine,
    names::FramePath,
    refusal::{Code, Refusal},
    run::{Frame, Run},
};

/// Judges a proposed call in an open run.
pub(super) fn propose(machine: &Machine, run: &Run, call: &ToolCall) -> Decision {
    let (address, found) =
        match address::locate(machine, run, call.branch.as_deref(), call.agent.as_ref()) {
            Ok(address) => {
                let found = bench_of(machine, run, call, &address.path);
                (address, found)
            }
            Err(refusal) => {
                return denied(machine, run, call, FramePath::root(), Vec::new(), refusal);
            }
        };
    let mut events = Vec::new();
    if let Some(agent) = address.bind {
        events.push(Event::AgentBound {
            agent,
            path: address.path.clone(),
        });
    }
    let path = address.path;
    let Some(bench) = found else {
        let refusal = Refusal::new(
            Code::UnknownBranch,
            "the run stands in a state its machine does not have",
        );
        return denied(machine, run, call, path, events, refusal);
    };
    match judge::judge(bench) {
        Verdict::Allow => allowed(bench, path, events),
        Verdict::Ask(refusal) => asked(bench, path, events, refusal),
        Verdict::Deny(refusal) => denied(machine, run, call, path, events, refusal),
    }
}

/// Finds what the shell rules say of a line proposed where the run stands.
///
/// `None` where the call is no shell line, or the run has no such place.
#[must_use]
pub fn shell_finding(machine: &Machine, run: &Run, call: &ToolCall) -> Option<Finding> {
    let address =
        address::locate(machine, run, call.branch.as_deref(), call.agent.as_ref()).ok()?;
    judge::find(bench_of(machine, run, call, &address.path)?)
}

pub(crate) fn bench_of<'a>(
    machine: &'a Machine,
    run: &'a Run,
    call: &'a ToolCall,
    path: &FramePath,
) -> Option<Bench<'a>> {
    let frame = run.frame(path)?;
    let state = machine
        .called(frame.machine.as_ref())?
        .states
        .get(&frame.at)?;
    let granted = granted(run, frame, path, call);
    Some(Bench {
        machine,
        run,
        frame,
        state,
        call,
        granted,
    })
}

fn granted(run: &Run, frame: &Frame, path: &FramePath, call: &ToolCall) -> bool {
    run.grants.iter().any(|grant| {
        grant.path == *path
            && grant.entered_seq == frame.entered_seq
            && grant.digest == call.digest
            && grant.granted_by.is_some()
    })
}

fn allowed(bench: Bench<'_>, path: FramePath, mut events: Vec<Event>) -> Decision {
    let source = if matches!(bench.call.kind, CallKind::Control(_)) {
        AllowSource::Control
    } else if bench.granted && !bench.call.is_listed(&bench.state.policy) {
        events.push(Event::GrantConsumed {
            path: path.clone(),
            digest: bench.call.digest.clone(),
        });
        AllowSource::Grant
    } else {
        AllowSource::Policy
    };
    events.push(Event::CallAllowed {
        path: path.clone(),
        call: record(bench.call),
        source,
        marks: judge::marks(bench),
    });
    Decision {
        events,
        reply: Reply::Accepted,
        path,
    }
}

fn asked(bench: Bench<'_>, path: FramePath, mut events: Vec<Event>, refusal: Refusal) -> Decision {
    let open = bench.run.grants.iter().any(|grant| {
        grant.path == path
            && grant.entered_seq == bench.frame.entered_seq
            && grant.digest == bench.call.digest
    });
    let refusal = taught(bench.machine, bench.run, &path, refusal);
    if !open {
        events.push(Event::GrantRequested {
            path: path.clone(),
            call: record(bench.call),
            refusal: refusal.clone(),
            marks: judge::marks(bench),
        });
    }
    Decision {
        events,
        reply: Reply::Ask(refusal),
        path,
    }
}

fn denied(
    machine: &Machine,
    run: &Run,
    call: &ToolCall,
    path: FramePath,
    mut events: Vec<Event>,
    refusal: Refusal,
) -> Decision {
    let refusal = taught(machine, run, &path, refusal);
    events.push(Event::CallDenied {
        path: path.clone(),
        call: record(call),
        refusal: refusal.clone(),
    });
    Decision {
        events,
        reply: Reply::Refused(refusal),
        path,
    }
}

/// Adds to a refusal what is possible instead.
fn taught(machine: &Machine, run: &Run, path: &FramePath, refusal: Refusal) -> Refusal {
    let teach = teach(machine, run, Some(path));
    let message = if teach.is_empty() {
        refusal.message
    } else {
        let stop = if refusal.message.ends_with(['.', '?', '!']) {
            ""
        } else {
            "."
        };
        format!("{}{stop} {teach}", refusal.message)
    };
    Refusal { message, ..refusal }
}

fn record(call: &ToolCall) -> CallRecord {
    CallRecord {
        id: call.id.clone(),
        tool: call.tool.clone(),
        digest: call.digest.clone(),
        summary: call.summary.clone(),
        agent: call.agent.clone(),
    }
}

impl Work<'_> {
    /// Records what became of an allowed call; raises the interrupts it matched.
    pub(super) fn record(&mut self, result: &CallResult) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        let known = match &result.id {
            Some(id) => self.run.calls.iter().find(|call| call.id == *id),
            None => self.run.calls.iter().rev().find(|call| !call.asked),
        };
        let Some(call) = known.cloned() else {
            // Nothing was allowed under this id: there is nothing to record it against.
            return Ok(Reply::Accepted);
        };
        self.path = call.path.clone();
        // What was seen from beside the line counts, whatever the client says of it.
        let (exit, mut wrote) = match &call.line {
            Some(line) => (line.exit, line.wrote.clone()),
            None => (result.exit, Vec::new()),
        };
        wrote.extend(result.wrote.iter().cloned());
        self.emit(Event::CallEnded {
            call: call.id.clone(),
            ok: result.ok,
            exit,
            bytes: result.bytes,
            wrote: wrote.clone(),
            assumed: false,
        });
        self.raise_after(&call, result.ok, &wrote)?;
        Ok(Reply::Accepted)
    }

    /// Records how far the kernel holds a line that was started.
    pub(super) fn start_line(&mut self, start: &LineStart) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        self.emit(Event::LineConfined {
            call: start.call.clone(),
            level: start.level.clone(),
            not_held: start.not_held.clone(),
        });
        Ok(Reply::Accepted)
    }

    /// Records how a line ended; what it wrote counts when its call ends, or now if that has.
    pub(super) fn end_line(&mut self, end: &LineEnd) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        self.emit(Event::LineEnded {
            call: end.call.clone(),
            exit: end.exit,
            wrote: end.wrote.clone(),
        });
        if self.run.calls.iter().all(|call| call.id != end.call) {
            self.path = end.path.clone();
            self.raise_seen(&end.path, &end.wrote)?;
        }
        Ok(Reply::Accepted)
    }
}
