//! Tool calls: the verdict before the call, and the record after it.

use super::{Answered, Decision, Reply, Work, passkeys};
use crate::{
    address::{self, Address, Bind},
    call::{CallKind, CallResult, ToolCall},
    command::{LineEnd, LineStart},
    event::{About, AllowSource, ApprovalKind, CallRecord, Event, PendingGrant},
    judge::{self, JudgeContext, Verdict, context_of},
    machine::Machine,
    names::FramePath,
    parts::PromptCall,
    refusal::{Code, Refusal},
    run::{OpenCall, Run},
    substance::Checked,
};

/// Judges a proposed call in an open run.
pub(super) fn propose(machine: &Machine, run: &Run, call: &ToolCall, at_ms: u64) -> Decision {
    let address = match place_of(machine, run, call) {
        Ok(address) => address,
        Err(refusal) => {
            return denied(call, FramePath::root(), Vec::new(), refusal);
        }
    };
    let mut events = Vec::new();
    // A sub-agent that looks for its tools first is bound by what it does with them.
    let binds = call.kind != CallKind::Conversation;
    if let Some(Bind { agent, path }) = address.bind.filter(|_| binds) {
        events.push(Event::AgentBound { agent, path });
    }
    let path = address.path;
    let Some(context) = context_of(machine, run, call, &path) else {
        let refusal = Refusal::new(
            Code::UnknownBranch,
            "the run is in a state that its machine does not have",
        );
        return denied(call, path, events, refusal);
    };
    match judge::judge(context) {
        Verdict::Allow => allowed(context, path, events),
        Verdict::Ask(refusal) => asked(context, path, events, refusal, at_ms),
        Verdict::Deny(refusal) => denied(call, path, events, refusal),
    }
}

/// Finds the frame that a call is for.
///
/// Even if every branch has a sub-agent, the main agent keeps the calls that belong to no branch: those of its control
/// tools and of the tool that starts sub-agents.
fn place_of(machine: &Machine, run: &Run, call: &ToolCall) -> Result<Address, Refusal> {
    let found = address::locate(machine, run, call.branch.as_deref(), call.agent.as_ref());
    let of_none = matches!(
        call.kind,
        CallKind::Control(_) | CallKind::SubAgent | CallKind::Conversation
    );
    match found {
        Err(refusal) if of_none && call.branch.is_none() && call.agent.is_none() => {
            address::above_branches(run)
                .map(|path| Address { path, bind: None })
                .ok_or(refusal)
        }
        found => found,
    }
}

fn allowed(context: JudgeContext<'_>, path: FramePath, mut events: Vec<Event>) -> Decision {
    let source = if matches!(context.call().kind, CallKind::Control(_)) {
        AllowSource::Control
    } else if let Some(grant) = context.grant() {
        events.push(Event::RequestUsed {
            path: path.clone(),
            id: grant.id(),
            question: grant.question.clone(),
        });
        AllowSource::Grant
    } else {
        AllowSource::Policy
    };
    events.push(Event::CallAllowed {
        path: path.clone(),
        call: record(context.call()),
        source,
        marks: judge::marks(context),
    });
    Decision {
        events,
        reply: Reply::Accepted,
        path,
    }
}

fn asked(
    context: JudgeContext<'_>,
    path: FramePath,
    mut events: Vec<Event>,
    refusal: Refusal,
    at_ms: u64,
) -> Decision {
    let (run, call) = (context.run(), context.call());
    let approval = context.state().approval;
    // Asked already; the client's own prompt may still let this very call run.
    let is_same = |open: &OpenCall| open.asked && open.id == call.id && open.digest == call.digest;
    let asked = context.is_asked(&path)
        && (approval == ApprovalKind::Passkey || run.calls.iter().any(is_same));
    // No prompt of a client carries an assertion.
    let session = call.prompts_in.as_ref();
    let session = session.filter(|_| approval == ApprovalKind::Person);
    if !asked {
        let grant = PendingGrant {
            call: record(call),
            refusal: refusal.clone(),
            marks: judge::marks(context),
            then: None,
        };
        events.push(Event::RequestOpened {
            path: path.clone(),
            question: call.digest.clone(),
            about: About::Call(Box::new(grant)),
            prompt: session.map(|session| PromptCall {
                session: session.clone(),
                agent: call.agent.clone(),
                call: call.id.clone(),
            }),
            approval,
            at_ms,
        });
    }
    let reply = match approval {
        ApprovalKind::Person => Reply::Ask(refusal),
        ApprovalKind::Passkey => Reply::Refused(passkeys::wanted_for(refusal)),
    };
    Decision {
        events,
        reply,
        path,
    }
}

fn denied(call: &ToolCall, path: FramePath, mut events: Vec<Event>, refusal: Refusal) -> Decision {
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

pub(super) fn record(call: &ToolCall) -> CallRecord {
    CallRecord {
        id: call.id.clone(),
        tool: call.tool.clone(),
        digest: call.digest.clone(),
        summary: call.summary.clone(),
        agent: call.agent.clone(),
    }
}

impl Work<'_> {
    /// Records the result of an allowed call, and raises the interrupts that it matched.
    pub(super) fn record(&mut self, result: &CallResult) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        let known = match &result.id {
            Some(id) => self.run.calls.iter().find(|call| call.id == *id),
            None => {
                let mut newest = self.run.calls.iter().rev();
                newest.find(|call| !call.asked && !call.told && !call.assumed)
            }
        };
        let Some(call) = known.filter(|call| !call.told).cloned() else {
            // Nothing was allowed under this id: there is nothing to record it against.
            return Ok(Reply::Accepted);
        };
        self.path = call.path.clone();
        let ended = call.line.clone().filter(|line| line.ended_seq.is_some());
        let settles = call.line.as_ref().is_some_and(|line| line.settles);
        // What was seen from beside the line counts, whatever the client says of it.
        let (exit, commands, checked) = match (&call.line, &ended) {
            (None, _) => (result.exit, result.commands.clone(), result.checked.clone()),
            (Some(line), None) if line.settles => (None, Vec::new(), Checked::default()),
            // What else was seen of it stands in the end of its line.
            (Some(line), _) => (line.exit, line.commands.clone(), Checked::default()),
        };
        let ok = match (&ended, exit) {
            (Some(_), Some(exit)) => exit == 0,
            _ => result.ok,
        };
        let wrote = match &ended {
            Some(line) if !line.unseen => Vec::new(),
            _ => result.wrote.clone(),
        };
        self.emit(Event::CallEnded {
            call: call.id.clone(),
            ok,
            exit,
            bytes: result.bytes,
            wrote: wrote.clone(),
            commands,
            checked,
            assumed: false,
            writes: call.marks.writes && !settles,
        });
        let foreseen = match &ended {
            // Raised by what was compared at its end, or by its exit code.
            Some(line) => line.unseen && line.exit.is_none(),
            // One that goes on raises when it ends.
            None => !settles && !call.assumed,
        };
        self.raise_after(&call, ok && foreseen, &wrote)?;
        Ok(Reply::Accepted)
    }

    /// Records how far the kernel confines a line that was started.
    pub(super) fn start_line(&mut self, start: &LineStart) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        self.emit(Event::LineConfined {
            call: start.call.clone(),
            level: start.level.clone(),
            unconfined: start.unconfined.clone(),
            settles: true,
        });
        Ok(Reply::Accepted)
    }

    /// Records how a line ended. Its evidence and its writes count from now on, whatever its client reports.
    pub(super) fn end_line(&mut self, end: &LineEnd) -> Answered {
        if self.run.is_over() {
            return Ok(Reply::Accepted);
        }
        self.open()?;
        let known = self.run.calls.iter().find(|call| call.id == end.call);
        let call = known.filter(|call| !call.line_has_ended()).cloned();
        self.emit(Event::LineEnded {
            call: end.call.clone(),
            exit: end.exit,
            wrote: end.wrote.clone(),
            commands: end.commands.clone(),
            unseen: end.unseen,
            checked: end.checked.clone(),
        });
        self.path = end.path.clone();
        match call.filter(|call| self.run.frame(&call.path).is_some()) {
            Some(call) => {
                let foreseen = end.unseen && end.exit == Some(0) && !call.assumed;
                self.raise_after(&call, foreseen, &end.wrote)?;
            }
            None => self.raise_seen(&end.path, &end.wrote)?,
        }
        Ok(Reply::Accepted)
    }
}
