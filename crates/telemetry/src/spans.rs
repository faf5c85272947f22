//! Turns the events of a run into spans.

mod stages;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use interlock_core::{
    event::{
        About, AllowSource, CallRecord, Event, JoinedNext, RegionsStart, RequestKind, VoidReason,
    },
    machine::Outcome,
    names::{CallId, FramePath, StateName},
    refusal::Refusal,
};
use sha2::{Digest as _, Sha256};

use crate::span::{Attributes, Happened, Moment, Parent, RunLabel, Span, Value};
use stages::Attempt;

/// The number of calls that may be open at once; beyond it, the oldest is reported as it is.
const OPEN_CALLS_MAX: usize = 256;

/// Returns the spans of a run that have ended, in the order in which they ended.
pub fn spans(label: &RunLabel, events: impl IntoIterator<Item = Happened>) -> Vec<Span> {
    let mut maker = Maker::new(label);
    for happened in events {
        maker.take(&happened);
    }
    maker.ended
}

/// A span that has not ended.
struct Open {
    id: String,
    parent: Option<String>,
    /// The trace it is part of, if that is not the run's.
    trace: Option<String>,
    link: Option<Parent>,
    name: String,
    is_call_out: bool,
    began_ms: u64,
    attributes: Attributes,
    moments: Vec<Moment>,
}

struct OpenCall {
    id: CallId,
    path: FramePath,
    span: Open,
}

struct Maker<'a> {
    label: &'a RunLabel,
    trace: String,
    run: Option<Open>,
    states: BTreeMap<FramePath, Open>,
    attempts: BTreeMap<FramePath, Attempt>,
    calls: VecDeque<OpenCall>,
    ended: Vec<Span>,
    seq: u64,
    at_ms: u64,
}

impl<'a> Maker<'a> {
    fn new(label: &'a RunLabel) -> Self {
        let trace = match &label.parent {
            Some(parent) => parent.trace.clone(),
            None => id(&format!("trace/{}", label.run), 16),
        };
        Self {
            label,
            trace,
            run: None,
            states: BTreeMap::new(),
            attempts: BTreeMap::new(),
            calls: VecDeque::new(),
            ended: Vec::new(),
            seq: 0,
            at_ms: 0,
        }
    }

    fn take(&mut self, happened: &Happened) {
        (self.seq, self.at_ms) = (happened.seq, happened.at_ms);
        match &happened.event {
            Event::RunStarted {
                initial, hash, by, ..
            } => self.begin(initial, hash, by),
            Event::TransitionTaken { .. } | Event::InterruptRaised { .. } => {
                self.take_move(&happened.event);
            }
            Event::RegionPassed { path, to, .. } => {
                self.leave(path, None);
                self.enter(path, to);
            }
            Event::RegionsStarted { path, start } => {
                if matches!(start, RegionsStart::Split(_)) {
                    self.leave(path, None);
                }
                for (region, initial) in start.regions(path) {
                    self.enter(&region, initial);
                }
            }
            Event::MachineCalled {
                path,
                shown,
                initial,
                ..
            } => self.enter(&path.child(shown), initial),
            Event::RegionEnded { path, cause, .. } => {
                self.leave(path, cause.as_ref().map(|cause| cause.message.clone()));
            }
            Event::Joined {
                path, lines, next, ..
            } => self.join(path, lines, next.as_ref()),
            Event::MachineReturned { path, .. } => self.leave_below(path),
            Event::RunEnded { outcome, cause } => {
                let failed = (*outcome == Outcome::Failure).then(|| {
                    cause.as_ref().map_or_else(
                        || "the run failed".to_owned(),
                        |cause| cause.message.clone(),
                    )
                });
                let word = match outcome {
                    Outcome::Success => "completed",
                    Outcome::Failure => "failed",
                };
                self.end(word, failed);
            }
            Event::RunCancelled { .. } => self.end("cancelled", None),
            other => self.take_call(other),
        }
    }

    /// Leaves one state and enters another.
    fn take_move(&mut self, event: &Event) {
        match event {
            Event::TransitionTaken {
                path,
                event,
                to,
                by,
                data,
                ..
            } => {
                let mut more = vec![
                    ("interlock.event", text(event.as_str())),
                    ("interlock.to", text(to.as_str())),
                    ("interlock.by", text(by)),
                ];
                if self.label.content && !data.is_empty() {
                    let data = serde_json::to_string(data).unwrap_or_default();
                    more.push(("interlock.data", text(&data)));
                }
                self.note(path, "interlock.transition", more);
                self.leave(path, None);
                self.enter(path, to);
            }
            Event::InterruptRaised {
                path,
                interrupt,
                to,
                ..
            } => {
                let more = vec![
                    ("interlock.interrupt", text(interrupt.as_str())),
                    ("interlock.to", text(to.as_str())),
                ];
                self.note(path, "interlock.interrupt", more);
                self.leave(path, None);
                self.enter(path, to);
            }
            _ => {}
        }
    }

    fn take_call(&mut self, event: &Event) {
        match event {
            Event::CallAllowed {
                path, call, source, ..
            } => {
                let mut span = self.call(path, call, "allow");
                span.attributes
                    .push(("interlock.source", source_word(*source)));
                self.open_call(path, call, span);
            }
            Event::RequestOpened {
                path,
                about: About::Call(grant),
                ..
            } => {
                let mut span = self.call(path, &grant.call, "ask");
                span.attributes
                    .push(("interlock.code", text(grant.refusal.code.as_str())));
                self.open_call(path, &grant.call, span);
            }
            Event::CallDenied {
                path,
                call,
                refusal,
            } => self.deny(path, call, refusal),
            Event::LineConfined { call, level, .. } => {
                if let Some(open) = self.calls.iter_mut().find(|open| open.id == *call) {
                    let level = ("interlock.confinement", text(level));
                    open.span.attributes.push(level);
                }
            }
            Event::LineEnded {
                call,
                exit: Some(exit),
                ..
            } => {
                if let Some(open) = self.calls.iter_mut().find(|open| open.id == *call) {
                    let exit = ("process.exit.code", Value::Number(*exit));
                    open.span.attributes.push(exit);
                }
            }
            Event::CallEnded {
                call,
                ok,
                exit,
                bytes,
                assumed,
                ..
            } => self.end_call(call, *ok, *exit, *bytes, *assumed),
            other => self.take_answer(other),
        }
    }

    fn take_answer(&mut self, event: &Event) {
        match event {
            Event::TransitionRejected {
                path,
                event,
                refusal,
            } => {
                let more = vec![
                    ("interlock.event", text(event)),
                    ("interlock.code", text(refusal.code.as_str())),
                ];
                self.note(path, "interlock.transition_rejected", more);
            }
            Event::RequestOpened { path, about, .. } => {
                let more = match about {
                    About::Transition(asked) => {
                        vec![("interlock.event", text(asked.event.as_str()))]
                    }
                    About::Entry { .. } | About::Call(_) => Vec::new(),
                };
                self.note(path, "interlock.approval_requested", more);
            }
            Event::RequestAnswered {
                path,
                about,
                yes,
                by,
                note,
                ..
            } => {
                let name = match (about, yes) {
                    (RequestKind::Call, true) => "interlock.grant_issued",
                    (RequestKind::Call, false) => "interlock.grant_denied",
                    (_, true) => "interlock.approval_granted",
                    (_, false) => "interlock.approval_rejected",
                };
                self.answered(path, name, by, note.as_deref());
            }
            Event::RequestVoided {
                path,
                why: VoidReason::NoAnswer(_),
                ..
            } => self.answered(path, "interlock.grant_denied", "interlock", None),
            Event::RunPaused { by, .. } => {
                self.answered(&FramePath::root(), "interlock.paused", by, None);
            }
            Event::RunResumed { by } => {
                self.answered(&FramePath::root(), "interlock.resumed", by, None);
            }
            other => self.take_stage(other),
        }
    }

    fn begin(&mut self, initial: &StateName, hash: &str, by: &str) {
        let label = self.label;
        let agent = label.client.as_deref().unwrap_or(&label.workflow);
        let mut attributes = vec![
            ("gen_ai.operation.name", text("invoke_agent")),
            ("gen_ai.agent.name", text(agent)),
            ("gen_ai.workflow.name", text(&label.workflow)),
            ("interlock.run", text(&label.run)),
            ("interlock.workflow", text(&label.workflow)),
            ("interlock.machine.hash", text(hash)),
            ("interlock.by", text(by)),
        ];
        if let Some(session) = &label.session {
            attributes.push(("gen_ai.conversation.id", text(session)));
        }
        self.run = Some(Open {
            id: self.span_id("run"),
            parent: label.parent.as_ref().map(|parent| parent.span.clone()),
            trace: None,
            link: None,
            name: format!("invoke_agent {agent}"),
            is_call_out: false,
            began_ms: self.at_ms,
            attributes,
            moments: Vec::new(),
        });
        self.enter(&FramePath::root(), initial);
    }

    fn enter(&mut self, path: &FramePath, state: &StateName) {
        let above = path
            .split_last()
            .and_then(|(above, _)| self.states.get(&above));
        let parent = above.or(self.run.as_ref()).map(|open| open.id.clone());
        let mut attributes = vec![
            ("interlock.run", text(&self.label.run)),
            ("interlock.state", text(state.as_str())),
        ];
        if !path.is_root() {
            attributes.push(("interlock.branch", text(&path.to_string())));
        }
        let open = Open {
            id: self.span_id(&path.to_string()),
            parent,
            trace: None,
            link: None,
            name: format!("state {state}"),
            is_call_out: false,
            began_ms: self.at_ms,
            attributes,
            moments: Vec::new(),
        };
        self.states.insert(path.clone(), open);
    }

    /// Ends the visit at `path`, and everything below it.
    fn leave(&mut self, path: &FramePath, failure: Option<String>) {
        self.leave_below(path);
        self.lose_calls(|of| of == path);
        self.lose_attempt(path);
        if let Some(open) = self.states.remove(path) {
            self.close(open, failure);
        }
    }

    /// Leaves what is joined: all lines but the first, or all regions.
    fn join(&mut self, path: &FramePath, lines: &[String], next: Option<&JoinedNext>) {
        match lines.split_first() {
            Some((_, others)) => {
                for line in others {
                    self.leave(&path.child(line), None);
                }
            }
            None => self.leave_below(path),
        }
        if let Some(next) = next {
            self.leave(path, None);
            self.enter(path, &next.to);
        }
    }

    fn leave_below(&mut self, path: &FramePath) {
        self.lose_calls(|of| of != path && path.holds(of));
        let below: Vec<FramePath> = self
            .states
            .keys()
            .rev()
            .filter(|of| *of != path && path.holds(of))
            .cloned()
            .collect();
        for path in below {
            self.lose_attempt(&path);
            if let Some(open) = self.states.remove(&path) {
                self.close(open, None);
            }
        }
    }

    fn end(&mut self, status: &str, failure: Option<String>) {
        self.leave(&FramePath::root(), None);
        if let Some(mut run) = self.run.take() {
            run.attributes.push(("interlock.status", text(status)));
            self.close(run, failure);
        }
    }

    fn call(&self, path: &FramePath, call: &CallRecord, verdict: &'static str) -> Open {
        let attempt = self.attempts.get(path).map(|attempt| &attempt.span);
        let state = attempt.or_else(|| self.states.get(path));
        let parent = state.or(self.run.as_ref());
        let mut attributes = vec![
            ("gen_ai.operation.name", text("execute_tool")),
            ("gen_ai.tool.name", text(&call.tool)),
            ("gen_ai.tool.call.id", text(call.id.as_str())),
            ("interlock.run", text(&self.label.run)),
            ("interlock.verdict", text(verdict)),
        ];
        if let Some(agent) = &call.agent {
            attributes.push(("gen_ai.agent.id", text(agent.as_str())));
        }
        if self.label.content {
            attributes.push(("gen_ai.tool.call.arguments", text(&call.summary)));
        }
        let ours = parent.map(|open| open.id.clone());
        let theirs = self.label.calls.get(&call.id);
        let link = theirs.and(ours.clone()).map(|span| Parent {
            trace: self.trace.clone(),
            span,
        });
        Open {
            id: self.span_id(call.id.as_str()),
            parent: theirs.map(|theirs| theirs.span.clone()).or(ours),
            trace: theirs.map(|theirs| theirs.trace.clone()),
            link,
            name: format!("execute_tool {}", call.tool),
            is_call_out: false,
            began_ms: self.at_ms,
            attributes,
            moments: Vec::new(),
        }
    }

    fn open_call(&mut self, path: &FramePath, call: &CallRecord, span: Open) {
        if self.calls.len() >= OPEN_CALLS_MAX
            && let Some(lost) = self.calls.pop_front()
        {
            self.lose(lost);
        }
        self.calls.push_back(OpenCall {
            id: call.id.clone(),
            path: path.clone(),
            span,
        });
    }

    fn deny(&mut self, path: &FramePath, call: &CallRecord, refusal: &Refusal) {
        let mut span = self.call(path, call, "deny");
        let code = refusal.code.as_str();
        span.attributes.push(("interlock.code", text(code)));
        span.attributes.push(("error.type", text(code)));
        self.close(span, Some(code.to_owned()));
    }

    fn end_call(&mut self, id: &CallId, ok: bool, exit: Option<i64>, bytes: u64, assumed: bool) {
        let Some(at) = self.calls.iter().position(|open| open.id == *id) else {
            return;
        };
        let Some(mut call) = self.calls.remove(at) else {
            return;
        };
        let known = |name: &str| call.span.attributes.iter().any(|(of, _)| *of == name);
        let exit = exit.filter(|_| !known("process.exit.code"));
        let attributes = &mut call.span.attributes;
        if let Some(exit) = exit {
            attributes.push(("process.exit.code", Value::Number(exit)));
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        attributes.push(("interlock.result_bytes", Value::Number(bytes)));
        if assumed {
            attributes.push(("interlock.assumed", Value::Flag(true)));
        }
        if !ok {
            attributes.push(("error.type", text("tool_error")));
        }
        let failure = (!ok).then(|| "the call failed".to_owned());
        self.close(call.span, failure);
    }

    /// Ends the calls at paths whose outcome will not be seen in this visit.
    fn lose_calls(&mut self, of: impl Fn(&FramePath) -> bool) {
        let (lost, kept) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition(|open| of(&open.path));
        self.calls = kept;
        let lost: VecDeque<OpenCall> = lost;
        for call in lost {
            self.lose(call);
        }
    }

    fn lose(&mut self, mut call: OpenCall) {
        let unknown = ("interlock.outcome", text("unknown"));
        call.span.attributes.push(unknown);
        self.close(call.span, None);
    }

    fn answered(&mut self, path: &FramePath, name: &'static str, by: &str, note: Option<&str>) {
        let mut more = vec![("interlock.by", text(by))];
        if let (true, Some(note)) = (self.label.content, note) {
            more.push(("interlock.note", text(note)));
        }
        self.note(path, name, more);
    }

    fn note(&mut self, path: &FramePath, name: &'static str, attributes: Attributes) {
        let at_ms = self.at_ms;
        if let Some(open) = self.states.get_mut(path) {
            open.moments.push(Moment {
                name,
                at_ms,
                attributes,
            });
        }
    }

    fn close(&mut self, open: Open, failure: Option<String>) {
        self.ended.push(Span {
            trace: open.trace.unwrap_or_else(|| self.trace.clone()),
            id: open.id,
            parent: open.parent,
            link: open.link,
            name: open.name,
            is_call_out: open.is_call_out,
            began_ms: open.began_ms,
            // The clock may have been set back.
            ended_ms: self.at_ms.max(open.began_ms),
            ended_seq: self.seq,
            attributes: open.attributes,
            moments: open.moments,
            failure,
        });
    }

    /// Returns the id of the span that begins with this event.
    fn span_id(&self, what: &str) -> String {
        id(&format!("{}/{}/{what}", self.label.run, self.seq), 8)
    }
}

fn source_word(source: AllowSource) -> Value {
    text(match source {
        AllowSource::Policy => "policy",
        AllowSource::Grant => "grant",
        AllowSource::Stage => "stage",
        AllowSource::Mode => "mode",
        AllowSource::Control => "control",
    })
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Makes an id of `bytes` bytes that is always the same for the same text.
fn id(of: &str, bytes: usize) -> String {
    let digest = Sha256::digest(of.as_bytes());
    digest
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
