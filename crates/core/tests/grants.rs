//! Grants of model stages under arbitrary commands in any order: each approval is used once, and for the call that it
//! was requested for.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    Decision, Reply,
    attempt::{FinishReason, MessageCall, MessageCallKind, ModelMessage, Usage},
    call::{CallFacts, CallKind, CallResult, ToolCall},
    command::{Answer, AvailableTool, Command, CommandKind, StageCommand},
    decide,
    event::{AllowSource, Event, NoAnswer},
    evolve,
    machine::{Machine, Object},
    names::{ApprovalId, CallId, Digest, FramePath, RunId},
    pending::pending,
    run::{DurableRun, Run},
    stage::{Step, step},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns a machine with a fork of two stages that may only read.
fn machine() -> Machine {
    let stage = json!({"stage": {
        "body": [{"plain": "work"}],
        "ending": {"tool": {"name": "submit", "schema": {}}},
        "turns_max": 50,
    }});
    let to =
        |state: &str| json!({"branched": false, "transitions": [{"target": {"state": state}}]});
    let reader = |end: &str| json!({"activity": stage, "policy": {"allowed_tools": ["Read"]}, "on": {"done": to(end)}});
    let last = json!({"activity": {"final": {"outcome": "success"}}});
    serde_json::from_value(json!({
        "id": "m", "initial": "both", "durable": true,
        "limits": interlock_core::machine::Limits::default(),
        "stages": {"grant_timeout_ms": 1000},
        "states": {
            "both": {
                "activity": {"parallel": {"join": "fail_fast", "merge": "captured", "over": {"branches": {
                    "left": {"initial": "a", "terminal": "a_done"},
                    "right": {"initial": "b", "terminal": "b_done"},
                }}}},
                "on": {"done": to("end"), "error": to("end")},
            },
            "a": reader("a_done"), "a_done": last, "b": reader("b_done"), "b_done": last, "end": last,
        },
    }))
    .unwrap()
}

/// A step of a test.
#[derive(Debug, Clone)]
enum Happens {
    /// The model of a stage sends a message with these calls; equal numbers are the same call.
    Message(bool, Vec<u8>),
    /// A person answers a request that is open, was answered, or never existed.
    Answer(bool, usize),
    /// A person answers without naming a request.
    AnswerWhatever(bool),
    /// The request is closed without an answer.
    Close(bool),
    /// A call is proposed with arguments other than those in the message.
    Forged(bool, u8),
    /// The process that ran it is gone.
    Lost,
    /// Time passes.
    Later,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (any::<bool>(), prop::collection::vec(0_u8..4, 1..4))
            .prop_map(|(left, calls)| Happens::Message(left, calls)),
        4 => (any::<bool>(), 0_usize..12).prop_map(|(yes, which)| Happens::Answer(yes, which)),
        1 => any::<bool>().prop_map(Happens::AnswerWhatever),
        1 => any::<bool>().prop_map(Happens::Close),
        2 => (any::<bool>(), 0_u8..4).prop_map(|(left, call)| Happens::Forged(left, call)),
        1 => Just(Happens::Lost),
        1 => Just(Happens::Later),
    ]
}

/// Call 0 reads, which is listed; the others are not.
fn tool(number: u8) -> &'static str {
    if number == 0 { "Read" } else { "Fetch" }
}

fn digest(number: u8) -> Digest {
    Digest::new(format!("digest-{number}"))
}

/// A run, its recorded events, and every request so far.
struct Played {
    machine: Machine,
    run: Run,
    events: Vec<Event>,
    /// The subject of each request.
    requests: BTreeMap<ApprovalId, (CallId, Digest)>,
    at_ms: u64,
}

impl Played {
    fn begun() -> Self {
        let mut played = Self {
            machine: machine(),
            run: Run::new(RunId::new("r")),
            events: Vec::new(),
            requests: BTreeMap::new(),
            at_ms: 1,
        };
        let started = played.ask(CommandKind::Start {
            input: Object::new(),
            by: "ana".to_owned(),
            durable: Some(DurableRun::default()),
        });
        assert_eq!(started.reply, Reply::Accepted);
        played.go_on();
        played
    }

    fn ask(&mut self, command: CommandKind) -> Decision {
        let at_ms = self.at_ms;
        let decision = decide(
            &self.machine,
            &self.run,
            &Command {
                at_ms,
                kind: command,
            },
        );
        for event in &decision.events {
            self.run = evolve(self.run.clone(), event);
            self.events.push(event.clone());
        }
        for one in pending(&self.machine, &self.run) {
            let Some(grant) = one.request.call() else {
                continue;
            };
            let about = (grant.call.id.clone(), one.digest().clone());
            let known = self
                .requests
                .entry(one.id())
                .or_insert_with(|| about.clone());
            assert_eq!(*known, about, "a request is about one call for good");
        }
        decision
    }

    fn ask_stage(&mut self, path: &FramePath, command: StageCommand) -> Decision {
        let frame = self.run.frame(path);
        let effect = frame.and_then(|frame| frame.stay.effect());
        let attempt = effect.map_or(1, |effect| effect.attempt);
        self.ask(CommandKind::Stage {
            path: path.clone(),
            attempt,
            command,
        })
    }

    fn path(left: bool) -> FramePath {
        FramePath::root().child(if left { "left" } else { "right" })
    }

    /// Performs what the stages need, until each waits for its model or a person.
    fn go_on(&mut self) {
        for path in [Self::path(true), Self::path(false)] {
            while let Some(command) = self.wanted(&path) {
                let decision = self.ask_stage(&path, command);
                assert!(!decision.events.is_empty(), "{decision:?}");
            }
        }
    }

    fn wanted(&self, path: &FramePath) -> Option<StageCommand> {
        let call = |at: usize| {
            let frame = self.run.frame(path)?;
            frame.stay.stage_attempt()?.calls.get(at).cloned()
        };
        Some(match step(&self.machine, &self.run, path)? {
            Step::Begin => StageCommand::Begin {
                tools: ["Read", "Fetch"].map(AvailableTool::own).to_vec(),
            },
            Step::Model { logged: false, .. } => StageCommand::CallModel {
                provider: "p".to_owned(),
                model: "m".to_owned(),
                request: Digest::new("request"),
            },
            Step::Propose(at) => {
                let call = call(at)?;
                StageCommand::Propose(Box::new(proposed(&call.id, &call.tool, &call.digest)))
            }
            Step::Run(places) => StageCommand::Record {
                result: CallResult {
                    id: Some(call(*places.first()?)?.id),
                    ok: true,
                    exit: None,
                    bytes: 1,
                    wrote: Vec::new(),
                    commands: Vec::new(),
                    checked: interlock_core::substance::Checked::default(),
                },
                code: None,
                ms: 1,
                told: Digest::new("told"),
            },
            _ => return None,
        })
    }

    fn happen(&mut self, what: &Happens) {
        match what {
            Happens::Message(left, calls) => {
                let path = Self::path(*left);
                if let Some(Step::Model { logged: true, .. }) =
                    step(&self.machine, &self.run, &path)
                {
                    self.ask_stage(&path, StageCommand::Message(Box::new(message(calls))));
                }
            }
            Happens::Answer(yes, which) => {
                let id = self.requests.keys().nth(*which).map(ToString::to_string);
                let id = id.unwrap_or_else(|| format!("a{which}"));
                self.answer(*yes, Some(id));
            }
            Happens::AnswerWhatever(yes) => self.answer(*yes, None),
            Happens::Close(left) => {
                let why = NoAnswer::NoChannel;
                self.ask_stage(&Self::path(*left), StageCommand::CloseGrant { why });
            }
            Happens::Forged(left, number) => self.forge(*left, *number),
            Happens::Lost => drop(self.ask(CommandKind::LoseEffects)),
            Happens::Later => {
                self.at_ms += 600;
                self.ask(CommandKind::Advance);
            }
        }
        self.go_on();
    }

    fn answer(&mut self, yes: bool, path: Option<String>) {
        let answer = Answer {
            by: "ana".to_owned(),
            path,
            ..Answer::default()
        };
        let command = if yes {
            CommandKind::Approve(answer)
        } else {
            CommandKind::Reject(answer)
        };
        self.ask(command);
    }

    /// Proposes a call under the id of another, like an attacker who knows about the approval.
    fn forge(&mut self, left: bool, number: u8) {
        let path = Self::path(left);
        let calls = self
            .run
            .frame(&path)
            .and_then(|frame| frame.stay.stage_attempt().cloned());
        for call in calls.iter().flat_map(|progress| &progress.calls) {
            if call.digest == digest(number) {
                continue;
            }
            let other = proposed(&call.id, tool(number), &digest(number));
            let decision = self.ask_stage(&path, StageCommand::Propose(Box::new(other)));
            assert!(decision.events.is_empty(), "{decision:?}");
            assert!(matches!(decision.reply, Reply::Refused(_)));
        }
    }
}

fn proposed(id: &CallId, tool: &str, digest: &Digest) -> ToolCall {
    ToolCall {
        id: id.clone(),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Other,
        digest: digest.clone(),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts::default(),
    }
}

fn message(calls: &[u8]) -> ModelMessage {
    let calls = calls.iter().map(|number| MessageCall {
        tool: tool(*number).to_owned(),
        digest: digest(*number),
        kind: MessageCallKind::Tool { reads: false },
    });
    ModelMessage {
        digest: Digest::new("message"),
        finish: FinishReason::ToolCalls,
        calls: calls.collect(),
        answer: None,
        usage: Usage::default(),
        ms: 1,
    }
}

/// Checks the recorded events against the requests.
fn check(played: &Played) {
    let mut used = BTreeSet::new();
    let mut granted = BTreeSet::new();
    let mut waiting: Option<(CallId, Digest)> = None;
    for (at, event) in played.events.iter().enumerate() {
        match event {
            Event::RequestAnswered {
                id,
                question,
                yes: true,
                ..
            } => {
                assert!(used.insert(id.clone()), "`{id}` was answered twice");
                let (call, asked) = &played.requests[id];
                assert_eq!(asked, question);
                let next = &played.events[at + 1];
                let same = matches!(next, Event::RequestUsed { id: of, question: same, .. }
                    if of == id && same == question);
                assert!(same, "a yes lies about: {next:?}");
                waiting = Some((call.clone(), question.clone()));
            }
            Event::RequestAnswered { id, .. } | Event::RequestVoided { id, .. } => {
                assert!(used.insert(id.clone()), "`{id}` was answered twice");
            }
            Event::ToolAllowed { call, source, .. } if *source == AllowSource::Grant => {
                let wanted = waiting.take().unwrap();
                assert_eq!(wanted, (call.id.clone(), call.digest.clone()));
                assert!(granted.insert(call.id.clone()), "`{}` ran twice", call.id);
            }
            Event::ToolAllowed { call, .. } => assert_eq!(call.tool, "Read"),
            _ => {}
        }
    }
    assert_eq!(waiting, None);
    let folded = played
        .events
        .iter()
        .fold(Run::new(RunId::new("r")), evolve_again);
    assert_eq!(json(&folded), json(&played.run));
}

fn evolve_again(run: Run, event: &Event) -> Run {
    // As read back after a crash.
    let text = serde_json::to_string(event).unwrap();
    evolve(run, &serde_json::from_str(&text).unwrap())
}

fn json(run: &Run) -> Value {
    serde_json::to_value(run).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn each_yes_is_used_once_for_the_call_it_was_asked_about(
        all in prop::collection::vec(happens(), 1..40),
    ) {
        let mut played = Played::begun();
        for what in &all {
            played.happen(what);
        }
        check(&played);
    }
}

#[test]
fn what_is_generated_reaches_all_that_is_checked() {
    // Enough steps reach approvals, denials and timeouts.
    let mut played = Played::begun();
    for what in [
        Happens::Message(true, vec![1, 0, 2]),
        Happens::Message(false, vec![1]),
        Happens::Answer(true, 0),
        Happens::Answer(true, 0),
        Happens::Answer(false, 2),
        Happens::Later,
        Happens::Later,
        Happens::Message(true, vec![1]),
    ] {
        played.happen(&what);
    }
    let count = |name: &str| {
        let events = played.events.iter();
        events.filter(|event| event.name() == name).count()
    };
    assert_eq!(count("GrantConsumed"), 1);
    assert_eq!(count("GrantDenied"), 2);
    assert_eq!(count("GrantRequested"), 4);
    check(&played);
}

#[test]
fn the_failure_that_ends_a_fork_cuts_off_its_other_branches() {
    let mut played = Played::begun();
    played.happen(&Happens::Message(false, vec![1]));
    assert_eq!(pending(&played.machine, &played.run).len(), 1);
    played.ask_stage(
        &Played::path(true),
        StageCommand::End {
            code: "timeout".to_owned(),
            message: "out of time".to_owned(),
        },
    );
    assert_eq!(pending(&played.machine, &played.run).len(), 0);
    let right = Played::path(false);
    let events = played.events.iter();
    let of_right: Vec<&str> = events
        .filter(|event| match event {
            Event::StageExited { path, .. } | Event::RegionEnded { path, .. } => *path == right,
            _ => false,
        })
        .map(Event::name)
        .collect();
    assert_eq!(of_right, ["StageExited", "BranchEnded"]);
}

/// Plays a message of two calls of `Read`, of which the first is proposed; returns the next step.
fn after_the_first_of_two(reads: bool, only_reads: bool) -> Option<Step> {
    let mut played = Played::begun();
    let path = Played::path(true);
    let mut said = message(&[0, 0]);
    for call in &mut said.calls {
        call.kind = MessageCallKind::Tool { reads };
    }
    played.ask_stage(&path, StageCommand::Message(Box::new(said)));
    let frame = played.run.frame(&path).unwrap();
    let first = frame.stay.stage_attempt().unwrap().calls[0].clone();
    let mut call = proposed(&first.id, &first.tool, &first.digest);
    call.facts.only_reads = only_reads;
    played.ask_stage(&path, StageCommand::Propose(Box::new(call)));
    step(&played.machine, &played.run, &path)
}

#[test]
fn what_only_reads_is_told_by_its_tool_and_its_facts_and_not_by_its_name() {
    assert_eq!(after_the_first_of_two(true, true), Some(Step::Propose(1)));
    assert_eq!(
        after_the_first_of_two(false, true),
        Some(Step::Run(vec![0]))
    );
    assert_eq!(
        after_the_first_of_two(true, false),
        Some(Step::Run(vec![0]))
    );
}
