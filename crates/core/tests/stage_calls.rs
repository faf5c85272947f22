//! Calls of a model stage: whose result is accepted, and the consequences of a crash during one.

use interlock_core::{
    Reply,
    attempt::{CallStatus, FinishReason, MessageCall, MessageCallKind, ModelMessage, Usage},
    call::{CallFacts, CallResult, ToolCall, WrittenPath},
    command::{
        ActivityOutcome, Answer, AvailableTool, CALLS_MAX, Command, CommandKind, EffectSettlement,
        EffectStatus, StageCommand, TransitionRequest,
    },
    decide, effects,
    event::{Event, NoAnswer},
    evolve,
    machine::{Machine, Outcome},
    names::{CallId, Digest, FramePath, RunId},
    pending::pending,
    run::{DurableRun, Run},
    stage::{Step, step},
};
use serde_json::json;

use crate::support::call::call;

/// The tools; `Look` and `Write` are not listed, so a person is asked.
const TOOLS: [(&str, bool); 4] = [
    ("Read", true),
    ("Edit", false),
    ("Look", true),
    ("Write", false),
];

fn reads(tool: &str) -> bool {
    TOOLS.iter().any(|(name, reads)| *name == tool && *reads)
}

/// Returns the commands of a stage until its model has answered with `message`.
fn first_message(message: ModelMessage) -> [StageCommand; 3] {
    let there = TOOLS.iter().map(|(name, _)| AvailableTool::own(name));
    [
        StageCommand::Begin {
            tools: there.collect(),
        },
        StageCommand::CallModel {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            request: Digest::new("r"),
        },
        StageCommand::Message(Box::new(message)),
    ]
}

struct Stage {
    machine: Machine,
    run: Run,
}

impl Stage {
    /// Starts a stage whose model has called these tools.
    fn called(tools: &[&str]) -> Self {
        let end = json!({"branched": false, "transitions": [{"target": {"state": "end"}}]});
        let machine: Machine = serde_json::from_value(json!({
            "id": "m", "initial": "s", "durable": true,
            "limits": interlock_core::machine::Limits::default(),
            "stages": {"grant_timeout_ms": 60000},
            "states": {
                "s": {
                    "activity": {"stage": {"body": [{"plain": "x"}], "ending": {"tool": {"name": "submit", "schema": {}}}, "turns_max": 9}},
                    "policy": {"allowed_tools": ["Read", "Edit"]},
                    "on": {"done": end, "STOP": {"branched": false, "transitions": [{"target": {"state": "review"}}]}},
                },
                "end": {"activity": {"final": {"outcome": "success"}}},
                "review": {"activity": "await", "on": {"BACK": {"branched": false, "transitions": [{"target": "return"}]}}},
            },
            "interrupts": {"schema": {"file_pattern": "db/*", "target": "review"}},
        }))
        .unwrap();
        let mut stage = Self {
            machine,
            run: Run::new(RunId::new("r")),
        };
        stage.accept(CommandKind::Start {
            input: Default::default(),
            by: "ana".to_owned(),
            durable: Some(DurableRun::default()),
        });
        let message = Stage::message(tools);
        for command in first_message(message) {
            assert_eq!(stage.asks(command), Reply::Accepted);
        }
        stage
    }

    /// Returns a message of the model that calls these tools.
    fn message(tools: &[&str]) -> ModelMessage {
        let calls = tools.iter().map(|tool| MessageCall {
            tool: (*tool).to_owned(),
            digest: Digest::new(format!("of {tool}")),
            kind: MessageCallKind::Tool { reads: reads(tool) },
        });
        ModelMessage {
            digest: Digest::new("m"),
            finish: FinishReason::ToolCalls,
            calls: calls.collect(),
            answer: None,
            usage: Usage::default(),
            ms: 1,
        }
    }

    fn ask(&mut self, command: CommandKind) -> Reply {
        let decision = decide(
            &self.machine,
            &self.run,
            &Command {
                at_ms: 1,
                kind: command,
            },
        );
        self.run = decision.events.iter().fold(self.run.clone(), evolve);
        decision.reply
    }

    /// Returns the events of a command at a given time.
    fn events(&mut self, at_ms: u64, command: CommandKind) -> Vec<Event> {
        let kind = command;
        let decision = decide(&self.machine, &self.run, &Command { at_ms, kind });
        assert!(
            !matches!(decision.reply, Reply::Refused(_)),
            "{:?}",
            decision.reply
        );
        self.run = decision.events.iter().fold(self.run.clone(), evolve);
        decision.events
    }

    fn accept(&mut self, command: CommandKind) {
        assert_eq!(self.ask(command), Reply::Accepted);
    }

    fn asks(&mut self, command: StageCommand) -> Reply {
        self.ask(CommandKind::Stage {
            path: FramePath::root(),
            attempt: 1,
            command,
        })
    }

    fn id(&self, at: usize) -> CallId {
        self.run.root.stay.stage_attempt().unwrap().calls[at]
            .id
            .clone()
    }

    /// Returns the call at `at`, as it is proposed.
    fn call(&self, at: usize, tool: &str) -> ToolCall {
        let mut facts = json!(CallFacts::default());
        facts["only_reads"] = json!(reads(tool));
        if !reads(tool) {
            facts["writes"] = json!([{"path": "/p/a", "relative": "a", "place": "project", "by": tool, "removes": false,
                "recursive": false, "lines": null, "before": null}]);
        }
        ToolCall {
            id: self.id(at),
            digest: Digest::new(format!("of {tool}")),
            facts: serde_json::from_value(facts).unwrap(),
            ..call("", tool)
        }
    }

    fn proposes(&mut self, at: usize, tool: &str) -> Reply {
        let call = self.call(at, tool);
        self.asks(StageCommand::Propose(Box::new(call)))
    }

    /// Runs the call at `at`, with a person's approval if necessary.
    fn runs(&mut self, at: usize, tool: &str) {
        if matches!(self.proposes(at, tool), Reply::Ask(_)) {
            self.accept(CommandKind::Approve(Answer {
                by: "ana".to_owned(),
                ..Answer::default()
            }));
        }
    }

    fn ends(&mut self, id: CallId) -> Reply {
        self.ends_having_written(id, &[])
    }

    fn ends_having_written(&mut self, id: CallId, paths: &[&str]) -> Reply {
        let wrote = paths.iter().map(|path| WrittenPath {
            path: format!("/p/{path}"),
            relative: Some((*path).to_owned()),
        });
        self.asks(StageCommand::Record {
            result: CallResult {
                id: Some(id),
                ok: true,
                exit: None,
                bytes: 1,
                wrote: wrote.collect(),
                commands: Vec::new(),
                checked: interlock_core::substance::Checked::default(),
            },
            code: None,
            ms: 1,
            told: Digest::new("t"),
        })
    }
}

#[test]
fn after_a_crash_a_person_is_asked_where_the_call_that_ran_may_have_written() {
    for (tools, asks) in [
        (&["Read"][..], false),
        (&["Edit"], true),
        (&["Look"], false),
        (&["Write"], true),
        (&["Read", "Edit"], true),
        (&["Read", "Write"], true),
        (&["Edit", "Read"], false),
        (&["Write", "Look"], false),
        (&["Read", "Look", "Edit"], true),
        (&["Edit", "Edit", "Read"], false),
    ] {
        let mut stage = Stage::called(tools);
        let (last, before) = tools.split_last().unwrap();
        for (at, tool) in before.iter().enumerate() {
            stage.runs(at, tool);
            let id = stage.id(at);
            assert_eq!(stage.ends(id), Reply::Accepted, "{tools:?}");
        }
        stage.runs(before.len(), last);
        stage.accept(CommandKind::LoseEffects);
        let status = &effects(&stage.machine, &stage.run)[0].status;
        assert_eq!(*status == EffectStatus::Lost, asks, "{tools:?}: {status:?}");
    }
}

#[test]
fn a_result_is_of_a_call_that_runs() {
    let mut stage = Stage::called(&["Read", "Write", "Read"]);
    let [first, second, third] = [0, 1, 2].map(|at| stage.id(at));
    let refuses = |stage: &mut Stage, id: &CallId, when: &str| {
        let before = stage.run.clone();
        let reply = stage.ends(id.clone());
        assert!(matches!(reply, Reply::Refused(_)), "{id} {when}: {reply:?}");
        assert_eq!(stage.run, before, "{id} {when}");
    };
    refuses(&mut stage, &first, "before it is judged");
    stage.runs(0, "Read");
    refuses(&mut stage, &second, "while another runs");
    refuses(&mut stage, &CallId::new("c9"), "unknown");
    assert_eq!(stage.ends(first.clone()), Reply::Accepted);
    refuses(&mut stage, &first, "a second time");
    assert!(matches!(stage.proposes(1, "Write"), Reply::Ask(_)));
    refuses(&mut stage, &second, "while a person is asked");
    stage.accept(CommandKind::Reject(Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    }));
    refuses(&mut stage, &second, "after a no");
    stage.runs(2, "Read");
    refuses(&mut stage, &second, "when the next one runs");
    assert_eq!(stage.ends(third), Reply::Accepted);
}

#[test]
fn a_result_that_raises_an_interrupt_is_taken_and_leads_out_of_the_stage() {
    for (path, at) in [("src/a", "s"), ("db/a", "review")] {
        let mut stage = Stage::called(&["Edit", "Read"]);
        stage.runs(0, "Edit");
        let id = stage.id(0);
        let reply = stage.ends_having_written(id, &[path]);
        assert_eq!(reply, Reply::Accepted, "{path}");
        assert_eq!(stage.run.root.at.as_str(), at, "{path}");
    }
}

/// Returns the outcome of the attempt that ended.
fn outcome(events: &[Event]) -> Option<&str> {
    events.iter().find_map(|event| match event {
        Event::StageExited { outcome, .. } => Some(outcome.as_str()),
        _ => None,
    })
}

#[test]
fn an_attempt_takes_only_what_is_for_it() {
    let end = |stage: &mut Stage, attempt: u32| {
        stage.ask(CommandKind::Stage {
            path: FramePath::root(),
            attempt,
            command: StageCommand::End {
                code: "model_error".to_owned(),
                message: "no".to_owned(),
            },
        })
    };
    let mut stage = Stage::called(&["Edit"]);
    let before = stage.run.clone();
    for attempt in [0, 2] {
        let reply = end(&mut stage, attempt);
        assert!(matches!(reply, Reply::Refused(_)), "{attempt}: {reply:?}");
    }
    assert_eq!(stage.run, before);
    // It was interrupted, and a person has not decided its result yet.
    stage.runs(0, "Edit");
    stage.accept(CommandKind::LoseEffects);
    let before = stage.run.clone();
    assert!(matches!(end(&mut stage, 1), Reply::Refused(_)));
    let id = stage.id(0);
    assert!(matches!(stage.ends(id), Reply::Refused(_)));
    assert_eq!(stage.run, before);
}

#[test]
fn an_output_from_outside_is_handed_in_as_the_model_would() {
    for (outcome_given, wanted) in [
        (ActivityOutcome::done(json!({"a": 1})), "ok"),
        (
            ActivityOutcome::Failed(interlock_core::event::Cause::new("timeout", "no")),
            "timeout",
        ),
    ] {
        let mut stage = Stage::called(&["Read"]);
        let events = stage.events(
            1,
            CommandKind::EndActivity {
                path: None,
                outcome: outcome_given,
            },
        );
        assert_eq!(outcome(&events), Some(wanted));
        let payload = events.iter().find_map(|event| match event {
            Event::StageExited { payload, .. } => Some(payload.clone()),
            _ => None,
        });
        let handed = payload.unwrap();
        assert_eq!(handed.is_object(), wanted == "ok", "{handed}");
    }
}

#[test]
fn a_person_says_what_became_of_a_call_that_was_cut_off() {
    for (how, ok, code) in [
        (EffectSettlement::Done(json!("it wrote")), true, None),
        (EffectSettlement::Failed(json!(1)), false, Some("failed")),
    ] {
        let mut stage = Stage::called(&["Edit", "Read"]);
        stage.runs(0, "Edit");
        stage.accept(CommandKind::LoseEffects);
        let events = stage.events(
            2,
            CommandKind::SettleEffect {
                path: None,
                how,
                by: "ana".to_owned(),
            },
        );
        let ended = events.iter().find_map(|event| match event {
            Event::ToolEnded { ok, code, .. } => Some((*ok, code.as_deref())),
            _ => None,
        });
        assert_eq!(ended, Some((ok, code)));
        // The message continues with its next call.
        assert_eq!(stage.proposes(1, "Read"), Reply::Accepted);
    }
}

#[test]
fn what_an_attempt_asked_is_over_with_it() {
    let ends: [fn() -> CommandKind; 2] = [
        || CommandKind::Stage {
            path: FramePath::root(),
            attempt: 1,
            command: StageCommand::End {
                code: "model_error".to_owned(),
                message: "no".to_owned(),
            },
        },
        || {
            CommandKind::Transition(TransitionRequest {
                event: "STOP".to_owned(),
                data: Default::default(),
                branch: None,
                agent: None,
                by: "ana".to_owned(),
                approved_by: None,
            })
        },
    ];
    for end in ends {
        let mut stage = Stage::called(&["Write"]);
        assert!(matches!(stage.proposes(0, "Write"), Reply::Ask(_)));
        assert_eq!(pending(&stage.machine, &stage.run).len(), 1);
        stage.events(2, end());
        assert!(pending(&stage.machine, &stage.run).is_empty());
        assert!(stage.run.requests.is_empty() && stage.run.calls.is_empty());
    }
}

#[test]
fn a_person_who_leaves_a_stage_cuts_off_its_attempt() {
    let mut stage = Stage::called(&["Read"]);
    let stop = TransitionRequest {
        event: "STOP".to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "ana".to_owned(),
        approved_by: None,
    };
    let events = stage.events(2, CommandKind::Transition(stop));
    assert_eq!(outcome(&events), Some("cancelled"));
    assert_eq!(stage.run.root.at.as_str(), "review");
    assert!(
        effects(&stage.machine, &stage.run)
            .iter()
            .all(|effect| effect.path != "s")
    );
}

#[test]
fn the_time_of_an_attempt_begins_anew_after_a_crash() {
    for crashes in [false, true] {
        let mut stage = Stage::called(&["Read"]);
        let mut timed = json!(stage.machine);
        timed["states"]["s"]["activity"]["stage"]["timeout_ms"] = json!(1_000);
        stage.machine = serde_json::from_value(timed).unwrap();
        if crashes {
            stage.events(900, CommandKind::LoseEffects);
        }
        let late = stage.events(1_500, CommandKind::Advance);
        assert_eq!(outcome(&late), (!crashes).then_some("timeout"));
        if crashes {
            assert!(stage.events(1_899, CommandKind::Advance).is_empty());
            let late = stage.events(1_900, CommandKind::Advance);
            assert_eq!(outcome(&late), Some("timeout"));
        }
    }
}

#[test]
fn while_a_person_is_asked_the_time_of_the_attempt_stands_still() {
    let mut stage = Stage::called(&["Write", "Read"]);
    let mut timed = json!(stage.machine);
    timed["states"]["s"]["activity"]["stage"]["timeout_ms"] = json!(1_000);
    stage.machine = serde_json::from_value(timed).unwrap();
    let mut facts = json!(CallFacts::default());
    facts["writes"] = json!([{"path": "/p/a", "relative": "a", "place": "project", "by": "Write", "removes": false,
        "recursive": false, "lines": null, "before": null}]);
    let call = ToolCall {
        id: stage.id(0),
        digest: Digest::new("of Write"),
        facts: serde_json::from_value(facts).unwrap(),
        ..call("", "Write")
    };
    // It began at 1, and a person is asked from 301 to 5,301.
    let asks = CommandKind::Stage {
        path: FramePath::root(),
        attempt: 1,
        command: StageCommand::Propose(Box::new(call)),
    };
    stage.events(301, asks);
    assert!(stage.events(5_000, CommandKind::Advance).is_empty());
    let yes = Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    };
    stage.events(5_301, CommandKind::Approve(yes));
    assert!(stage.events(6_000, CommandKind::Advance).is_empty());
    let late = stage.events(6_001, CommandKind::Advance);
    assert_eq!(outcome(&late), Some("timeout"));
}

#[test]
fn nothing_is_next_for_the_stage_of_a_run_that_is_over() {
    let mut stage = Stage::called(&["Read"]);
    let next = |stage: &Stage| step(&stage.machine, &stage.run, &FramePath::root());
    assert_eq!(next(&stage), Some(Step::Propose(0)));
    // Another region may have ended the run while this stage was working.
    let over = Event::RunEnded {
        outcome: Outcome::Failure,
        cause: None,
    };
    stage.run = evolve(stage.run, &over);
    assert_eq!(next(&stage), None);
}

#[test]
fn a_message_has_so_many_calls_and_no_more() {
    let stage = Stage::called(&[&["Read"; CALLS_MAX][..], &["Edit"]].concat());
    let calls = &stage.run.root.stay.stage_attempt().unwrap().calls;
    let taken = calls
        .iter()
        .filter(|call| call.status == CallStatus::Waiting);
    assert_eq!((taken.count(), calls.len()), (CALLS_MAX, CALLS_MAX + 1));
}

#[test]
fn nobody_answers_until_the_time_for_an_answer_is_over() {
    for (at_ms, closes) in [(60_000, false), (60_001, true)] {
        let mut stage = Stage::called(&["Write"]);
        assert!(matches!(stage.proposes(0, "Write"), Reply::Ask(_)));
        stage.events(at_ms, CommandKind::Advance);
        assert_eq!(stage.run.requests.is_empty(), closes, "{at_ms}");
    }
}

/// Begins an attempt of a stage with this body; returns the digest of the model's prompt, or the code of its end.
fn begun_with(body: &serde_json::Value, context: &serde_json::Value) -> Result<Digest, String> {
    let mut stage = Stage::called(&[]);
    let mut machine = json!(stage.machine);
    machine["states"]["s"]["activity"]["stage"]["body"] = body.clone();
    machine["context"] = context.clone();
    stage.machine = serde_json::from_value(machine).unwrap();
    stage.run = Run::new(RunId::new("r"));
    stage.accept(CommandKind::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: Some(DurableRun::default()),
    });
    let begins = CommandKind::Stage {
        path: FramePath::root(),
        attempt: 1,
        command: StageCommand::Begin { tools: Vec::new() },
    };
    let events = stage.events(2, begins);
    let given = events.iter().find_map(|event| match event {
        Event::StageStarted { body, .. } => Some(body.clone()),
        _ => None,
    });
    given.ok_or_else(|| outcome(&events).unwrap_or_default().to_owned())
}

#[test]
fn the_text_of_a_stage_knows_its_attempt_and_has_a_limit() {
    let hole = |key: &str| json!({"hole": {"key": key}});
    let own = json!([hole("stage"), {"plain": "/"}, hole("attempt"), {"plain": "/"}, hole("run")]);
    assert_eq!(begun_with(&own, &json!({})), Ok(Digest::of("s/1/r")));
    for (bytes, fits) in [(262_143, true), (262_144, true), (262_145, false)] {
        let text = "x".repeat(bytes);
        let found = begun_with(&json!([hole("v")]), &json!({"v": text}));
        assert_eq!(found.is_ok(), fits, "{bytes}");
    }
}

#[test]
fn only_what_the_stage_itself_asked_is_closed() {
    let mut stage = Stage::called(&["Write"]);
    let mut machine = json!(stage.machine);
    machine["states"]["fork"] = json!({
        "activity": {"parallel": {"over": {"branches": {
            "x": {"initial": "s", "terminal": ""}, "y": {"initial": "s", "terminal": ""},
        }}, "join": "settled"}},
        "on": {"done": {"branched": false, "transitions": [{"target": {"state": "end"}}]}},
    });
    machine["initial"] = json!("fork");
    stage.machine = serde_json::from_value(machine).unwrap();
    let (message, call) = (Stage::message(&["Write"]), stage.call(0, "Write"));
    stage.run = Run::new(RunId::new("r"));
    stage.accept(CommandKind::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: Some(DurableRun::default()),
    });
    let paths = ["x", "y"].map(|name| FramePath::root().child(name));
    let asks = |stage: &mut Stage, path: &FramePath, command: StageCommand| {
        stage.ask(CommandKind::Stage {
            path: path.clone(),
            attempt: 1,
            command,
        })
    };
    for path in &paths {
        for command in first_message(message.clone()) {
            assert_eq!(asks(&mut stage, path, command), Reply::Accepted);
        }
        let frame = stage.run.frame(path).unwrap();
        let id = frame.stay.stage_attempt().unwrap().calls[0].id.clone();
        let proposed = StageCommand::Propose(Box::new(ToolCall { id, ..call.clone() }));
        assert!(matches!(asks(&mut stage, path, proposed), Reply::Ask(_)));
    }
    let why = NoAnswer::Timeout;
    let closes = StageCommand::CloseGrant { why };
    assert_eq!(asks(&mut stage, &paths[1], closes), Reply::Accepted);
    let waiting = pending(&stage.machine, &stage.run);
    let waiting: Vec<&FramePath> = waiting.iter().map(|one| one.path()).collect();
    assert_eq!(waiting, [&paths[0]]);
}
