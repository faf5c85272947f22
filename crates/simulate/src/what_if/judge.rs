//! Judges the steps of a log under two workflows.

use std::collections::BTreeMap;

use interlock_core::{
    command::{Answer, Command, CommandKind, Consent, LineEnd, TransitionRequest},
    decide,
    event::{About as Subject, CallRecord, Event, PromptCall},
    evolve,
    machine::Machine,
    names::{ApprovalId, FramePath, RunId},
    pending::pending,
    question,
    run::Run,
};
use interlock_view::report::state_paths;

use super::{
    About, Change, Difference, NotJudged, Outcome, Standing, WhatIf, Window,
    calls::{Proposal, merged, proposal},
    commands::{asked, branch_of, main_event, time_of},
    told::{self, Verdict, is_alike, says},
};
use crate::Scenario;

/// Name of the person whose approval is assumed because only the other workflow asks.
const ASSUMED: &str = "assumed";
/// Maximum number of requests whose ids under the other workflow are stored.
const IDS_MAX: usize = 4_096;

const OTHERWISE: &str = "asked again, the run's own workflow would answer otherwise: the log does not keep all that decided it";
const NO_STEP: &str = "what was asked cannot be told from the log";

/// Two runs side by side: as recorded, and under the other workflow.
pub(super) struct Judge<'a> {
    pinned: &'a Machine,
    other: &'a Machine,
    scenario: &'a Scenario,
    window: Window,
    then: Run,
    now: Run,
    /// Ids of open requests in the log, with those under the other workflow.
    ids: BTreeMap<ApprovalId, ApprovalId>,
    differing: u64,
    first: Option<u64>,
    differences: Vec<Difference>,
    judged: u64,
    unjudged: u64,
    not_judged: Vec<NotJudged>,
    over: Option<u64>,
}

/// The command of a step, which the run's own workflow answers as in the log.
struct Again {
    command: CommandKind,
    /// Events under the run's own workflow.
    old: Vec<Event>,
    lacks: &'static str,
    conclusive: bool,
}

/// Events under the other workflow.
#[derive(Default)]
struct Now {
    events: Vec<Event>,
    yes_assumed: bool,
    /// Whether there was nothing to ask, since its subject does not exist.
    skipped: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        pinned: &'a Machine,
        other: &'a Machine,
        scenario: &'a Scenario,
        window: Window,
    ) -> Self {
        Self {
            pinned,
            other,
            scenario,
            window,
            then: Run::new(RunId::new("")),
            now: Run::new(RunId::new("")),
            ids: BTreeMap::new(),
            differing: 0,
            first: None,
            differences: Vec::new(),
            judged: 0,
            unjudged: 0,
            not_judged: Vec::new(),
            over: None,
        }
    }

    /// Judges the first step of `ahead`, and returns its number of events.
    pub(super) fn step(&mut self, ahead: &[Event]) -> usize {
        let Some(first) = ahead.first() else {
            return 1;
        };
        if let Event::RunStarted { run, .. } = first
            && self.then.seq == 0
        {
            self.then = Run::new(run.clone());
            self.now = self.then.clone();
        }
        if self.over.is_some() {
            self.fold_then(first);
            return 1;
        }
        let used = match self.again(ahead) {
            Ok(again) => {
                let logged = ahead.get(..again.old.len()).unwrap_or(ahead);
                self.judge(&again, logged);
                logged.len()
            }
            Err(why) => {
                self.take_as_recorded(first, why);
                1
            }
        };
        if self.now.is_over() && !self.then.is_over() {
            self.over = Some(self.then.seq.saturating_sub(1));
        }
        used
    }

    pub(super) fn end(self) -> WhatIf {
        WhatIf {
            differing: self.differing,
            first: self.first,
            differences: self.differences,
            judged: self.judged,
            unjudged: self.unjudged,
            not_judged: self.not_judged,
            over: self.over,
            then: Standing::of(self.pinned, &self.then),
            now: Standing::of(self.other, &self.now),
        }
    }

    /// Finds the command that the run's own workflow answers as in the log.
    ///
    /// The error says why there is none.
    fn again(&self, ahead: &[Event]) -> Result<Again, &'static str> {
        let at_ms = time_of(ahead);
        let mut alike = None;
        let candidates = self.candidates(ahead);
        let none = if candidates.is_empty() {
            NO_STEP
        } else {
            OTHERWISE
        };
        for (command, lacks, conclusive) in candidates {
            let command = Command {
                at_ms,
                kind: command,
            };
            let old = decide(self.pinned, &self.then, &command).events;
            let Some(logged) = ahead.get(..old.len()).filter(|logged| !logged.is_empty()) else {
                continue;
            };
            let exact = logged == old;
            let similar = alike.is_none()
                && logged
                    .iter()
                    .zip(&old)
                    .all(|(one, other)| is_alike(one, other));
            let again = Again {
                command: command.kind,
                old,
                lacks,
                conclusive,
            };
            if exact {
                return Ok(again);
            }
            if similar {
                alike = Some(again);
            }
        }
        alike.ok_or(none)
    }

    /// Lists the possible commands, with what is unknown of each and whether an approval is conclusive.
    fn candidates(&self, ahead: &[Event]) -> Vec<(CommandKind, &'static str, bool)> {
        let Some((record, path, prompt)) = main_event(ahead).and_then(call_of) else {
            let asks = asked(self.pinned, &self.then, ahead);
            return asks.into_iter().map(|ask| (ask, "", true)).collect();
        };
        let Proposal {
            mut call,
            lacks,
            conclusive,
        } = proposal(self.scenario, record);
        call.prompts_in = prompt.map(|prompt| prompt.session.clone());
        let mut all = vec![(
            CommandKind::Propose(Box::new(call.clone())),
            lacks,
            conclusive,
        )];
        if let Some(branch) = branch_of(path) {
            call.branch = Some(branch);
            all.push((CommandKind::Propose(Box::new(call)), lacks, conclusive));
        }
        all
    }

    fn judge(&mut self, again: &Again, logged: &[Event]) {
        self.judged += 1;
        let seq = self.then.seq;
        let stood = (
            state_paths(self.pinned, &self.then).0,
            state_paths(self.other, &self.now).0,
        );
        let now = self.ask_other(again, logged);
        for event in logged {
            self.fold_then(event);
        }
        if !again.conclusive && told::verdict(&now.events) == Verdict::Passes {
            self.judged -= 1;
            self.note_unjudged(seq, what(&again.command), again.lacks);
            return;
        }
        let lines = |events: &[Event]| events.iter().filter_map(says).collect::<Vec<_>>();
        let (then_says, now_says) = (lines(logged), lines(&now.events));
        let differs = if now.skipped {
            let elsewhere =
                state_paths(self.pinned, &self.then) != state_paths(self.other, &self.now);
            logged.iter().any(told::moves) && elsewhere
        } else {
            then_says != now_says
        };
        if !differs {
            return;
        }
        let place = logged.iter().position(|event| says(event).is_some());
        let seq = seq + u64::try_from(place.unwrap_or_default()).unwrap_or_default();
        self.differing += 1;
        self.first.get_or_insert(seq);
        if seq < self.window.from || self.differences.len() >= self.window.limit {
            return;
        }
        let outcome = |events: &[Event], says: Vec<String>, state: Vec<String>| {
            let refusal = told::refusal(events);
            Outcome {
                says,
                code: refusal.as_ref().map(|refusal| refusal.code),
                message: refusal
                    .map(|refusal| refusal.message)
                    .or_else(|| told::question(events)),
                state,
            }
        };
        self.differences.push(Difference {
            seq,
            about: about(&again.command),
            what: what(&again.command),
            change: change(told::verdict(logged), told::verdict(&now.events)),
            then: outcome(logged, then_says, stood.0),
            now: outcome(&now.events, now_says, stood.1),
            yes_assumed: now.yes_assumed,
            lacks: again.lacks,
        });
    }

    /// Sends the same command to the other workflow, and folds its events.
    fn ask_other(&mut self, again: &Again, logged: &[Event]) -> Now {
        let Some(command) = self.translated(&again.command) else {
            return Now {
                skipped: true,
                ..Now::default()
            };
        };
        let at_ms = time_of(logged);
        let begun = self.now.seq;
        let new = decide_in(self.other, &self.now, at_ms, command.clone());
        let mut events = merged(logged, &again.old, new);
        for event in &events {
            self.fold_now(event);
        }
        self.pair_requests(logged, &events, begun);
        let asks = told::verdict(&events) == Verdict::Asks;
        let repeats = matches!(
            command,
            CommandKind::Propose(_) | CommandKind::Transition(_)
        );
        let yes_assumed = asks && repeats && told::verdict(logged) == Verdict::Passes;
        if yes_assumed && let Some(id) = opened(&events, begun).map(|(id, _)| id) {
            events.extend(self.assume_yes(id, command, at_ms));
        }
        Now {
            events,
            yes_assumed,
            skipped: false,
        }
    }

    /// Continues as if a person had approved at once.
    fn assume_yes(&mut self, id: ApprovalId, command: CommandKind, at_ms: u64) -> Vec<Event> {
        let yes = CommandKind::Approve(Answer {
            by: ASSUMED.to_owned(),
            path: Some(id.to_string()),
            ..Answer::default()
        });
        let mut all = Vec::new();
        let is_call = matches!(command, CommandKind::Propose(_));
        for command in [Some(yes), is_call.then_some(command)]
            .into_iter()
            .flatten()
        {
            for event in decide_in(self.other, &self.now, at_ms, command) {
                self.fold_now(&event);
                if !matches!(event, Event::RequestAnswered { .. }) {
                    all.push(event);
                }
            }
        }
        all
    }

    /// Records which request of the log corresponds to which under the other workflow.
    fn pair_requests(&mut self, logged: &[Event], events: &[Event], begun: u64) {
        let (Some((id, kind)), Some((other, other_kind))) =
            (opened(logged, self.then.seq), opened(events, begun))
        else {
            return;
        };
        if kind == other_kind {
            if self.ids.len() >= IDS_MAX {
                self.ids.pop_first();
            }
            self.ids.insert(id, other);
        }
    }

    /// Translates the command for the other run; returns `None` if its subject does not exist there.
    fn translated(&self, command: &CommandKind) -> Option<CommandKind> {
        let is_forked = self.now.open_leaves().iter().any(|leaf| !leaf.is_root());
        Some(match command {
            CommandKind::Approve(answer) => CommandKind::Approve(self.answer(answer)?),
            CommandKind::Reject(answer) => CommandKind::Reject(self.answer(answer)?),
            CommandKind::Propose(call) => {
                let mut call = call.clone();
                call.branch = call.branch.filter(|_| is_forked);
                CommandKind::Propose(call)
            }
            CommandKind::Transition(request) => {
                let plain = TransitionRequest {
                    branch: request.branch.clone().filter(|_| is_forked),
                    approved_by: None,
                    ..request.clone()
                };
                let consent = request.approved_by.as_ref().and_then(|consent| {
                    Some(Consent {
                        by: consent.by.clone(),
                        question: question(self.other, &self.now, &plain)?.digest,
                    })
                });
                CommandKind::Transition(TransitionRequest {
                    approved_by: consent,
                    ..plain
                })
            }
            CommandKind::EndLine(end) => {
                let path = |run: &Run| {
                    let open = run.calls.iter().find(|open| open.id == end.call);
                    open.map(|open| open.path.clone())
                };
                let path = match (path(&self.then), path(&self.now)) {
                    (Some(_), None) => return None,
                    (_, found) => found.unwrap_or_else(|| end.path.clone()),
                };
                CommandKind::EndLine(LineEnd {
                    path,
                    ..end.clone()
                })
            }
            command => command.clone(),
        })
    }

    fn answer(&self, answer: &Answer) -> Option<Answer> {
        let id = ApprovalId::from(answer.path.as_deref()?);
        let id = self.ids.get(&id)?;
        let open = pending(self.other, &self.now);
        open.iter().any(|one| one.id() == *id).then(|| Answer {
            path: Some(id.to_string()),
            ..answer.clone()
        })
    }

    /// Applies an event to both runs as recorded.
    fn take_as_recorded(&mut self, event: &Event, why: &'static str) {
        let seq = self.then.seq;
        if let Some(path) = path_of(event) {
            let at = |run: &Run| run.frame(path).map(|frame| frame.at.clone());
            if at(&self.then) == at(&self.now) {
                self.fold_now(event);
            }
            let words = describe(event);
            self.note_unjudged(seq, words, why);
        } else if let Event::RequestVoided { path, id, .. } = event {
            let known = self.ids.get(id).cloned();
            if let Some(id) = known.filter(|id| self.now.request(path, id).is_some()) {
                let mut event = event.clone();
                if let Event::RequestVoided { id: own, .. } = &mut event {
                    *own = id;
                }
                self.fold_now(&event);
            }
        } else {
            // What came from outside happens under any workflow.
            self.fold_now(event);
        }
        self.fold_then(event);
    }

    fn note_unjudged(&mut self, seq: u64, what: String, why: &'static str) {
        self.unjudged += 1;
        if seq >= self.window.from && self.not_judged.len() < self.window.limit {
            self.not_judged.push(NotJudged { seq, what, why });
        }
    }

    fn fold_then(&mut self, event: &Event) {
        fold(&mut self.then, event);
    }

    fn fold_now(&mut self, event: &Event) {
        fold(&mut self.now, event);
    }
}

fn fold(run: &mut Run, event: &Event) {
    let before = std::mem::replace(run, Run::new(RunId::new("")));
    *run = evolve(before, event);
}

fn decide_in(machine: &Machine, run: &Run, at_ms: u64, command: CommandKind) -> Vec<Event> {
    decide(
        machine,
        run,
        &Command {
            at_ms,
            kind: command,
        },
    )
    .events
}

/// Returns the call that an event is a verdict on, its frame, and the prompt about it.
fn call_of(event: &Event) -> Option<(&CallRecord, &FramePath, Option<&PromptCall>)> {
    match event {
        Event::CallAllowed { path, call, .. } | Event::CallDenied { path, call, .. } => {
            Some((call, path, None))
        }
        Event::RequestOpened {
            path,
            about: Subject::Call(grant),
            prompt,
            ..
        } => Some((&grant.call, path, prompt.as_ref())),
        _ => None,
    }
}

/// Returns the first request that `events` open, the first of which has the number `begun`.
fn opened(
    events: &[Event],
    begun: u64,
) -> Option<(ApprovalId, interlock_core::event::RequestKind)> {
    (begun..).zip(events).find_map(|(seq, event)| match event {
        Event::RequestOpened { about, .. } => Some((ApprovalId::of(seq), about.kind())),
        _ => None,
    })
}

/// Returns the frame of an event that follows from a decision; `None` if it came from outside.
fn path_of(event: &Event) -> Option<&FramePath> {
    match event {
        Event::CallAllowed { path, .. }
        | Event::CallDenied { path, .. }
        | Event::RequestOpened { path, .. }
        | Event::RequestAnswered { path, .. }
        | Event::TransitionTaken { path, .. }
        | Event::TransitionRejected { path, .. }
        | Event::InterruptRaised { path, .. }
        | Event::InterruptQueued { path, .. }
        | Event::InterruptDequeued { path }
        | Event::RegionsStarted { path, .. }
        | Event::RegionEnded { path, .. }
        | Event::Joined { path, .. }
        | Event::MachineCalled { path, .. }
        | Event::MachineReturned { path, .. }
        | Event::StageEntered { path, .. }
        | Event::ToolAllowed { path, .. }
        | Event::ToolDenied { path, .. }
        | Event::StageExited { path, .. }
        | Event::EffectStarted { path, .. }
        | Event::ActivityEnded { path, .. } => Some(path),
        _ => None,
    }
}

fn describe(event: &Event) -> String {
    match call_of(event) {
        Some((call, ..)) => format!("{} {}", call.tool, call.summary),
        None => says(event).unwrap_or_else(|| event.name().to_owned()),
    }
}

const fn change(then: Verdict, now: Verdict) -> Change {
    match (then, now) {
        (Verdict::Refused, Verdict::Refused) => Change::OtherReason,
        (_, Verdict::Refused) => Change::Refused,
        (Verdict::Asks, Verdict::Asks) | (Verdict::Passes | Verdict::Nothing, Verdict::Passes) => {
            Change::OtherWay
        }
        (_, Verdict::Asks) => Change::Asks,
        (Verdict::Refused | Verdict::Asks, Verdict::Passes) => Change::Possible,
        (_, Verdict::Nothing) => Change::Nothing,
    }
}

const fn about(command: &CommandKind) -> About {
    match command {
        CommandKind::Start { .. } => About::Start,
        CommandKind::Propose(_) => About::Call,
        CommandKind::Transition(_) | CommandKind::AskInPrompt { .. } => About::Transition,
        CommandKind::Approve(_) | CommandKind::Reject(_) => About::Answer,
        CommandKind::Finish | CommandKind::ReleaseAgent { .. } => About::Finish,
        _ => About::Result,
    }
}

fn what(command: &CommandKind) -> String {
    match command {
        CommandKind::Start { .. } => "the run begins".to_owned(),
        CommandKind::Propose(call) => format!("{} {}", call.tool, call.summary),
        CommandKind::Transition(request) | CommandKind::AskInPrompt { request, .. } => {
            request.event.clone()
        }
        CommandKind::Approve(answer) => format!("yes by {}", answer.by),
        CommandKind::Reject(answer) => format!("no by {}", answer.by),
        CommandKind::Finish => "the agent wants to end its work".to_owned(),
        CommandKind::ReleaseAgent { agent } => format!("sub-agent `{agent}` has stopped"),
        CommandKind::Record(result) => {
            let id = result.id.as_ref().map(ToString::to_string);
            format!("result of call {}", id.unwrap_or_default())
        }
        CommandKind::StartLine(start) => format!("start of the line of call {}", start.call),
        CommandKind::EndLine(end) => format!("end of the line of call {}", end.call),
        _ => String::new(),
    }
}
