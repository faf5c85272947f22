//! Questions in a client's own prompt: recorded in the log, closed by later events, and opened only by their call.

use interlock_core::{
    Decision, Reply,
    call::{CallFacts, CallKind, CallResult, ToolCall},
    command::{Answer, Command, CommandKind, Consent, TransitionRequest},
    decide,
    event::{About, Event, PromptCall, PromptEnd},
    evolve,
    machine::Machine,
    names::{AgentId, CallId, Digest, RunId},
    pending::pending,
    question,
    run::{Run, Settlement},
};
use interlock_view::report::{Basis, meaning};
use serde_json::{Value, json};

fn machine() -> Machine {
    let to = |state: &str, approval: Value| json!({"branched": false, "transitions": [{"target": {"state": state}, "approval": approval, "guards": [{"inline": {"evidence": {"of": {"command": {"text": "npm test", "words": ["npm", "test"], "exit": 0}}, "since": "run_start"}}}]}]});
    let free =
        |state: &str| json!({"branched": false, "transitions": [{"target": {"state": state}}]});
    let mut ship = to("done", json!({"message": "Ship it?"}));
    ship["transitions"][0]["guards"] = json!([]);
    serde_json::from_value(json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Read"], "on_denied": "ask"},
                "on": {"SHIP": ship, "PROVEN": to("done", json!({})), "AWAY": free("away")},
            },
            "away": {"on": {"BACK": free("work")}},
            "done": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

struct Played {
    machine: Machine,
    run: Run,
    events: Vec<Event>,
    at_ms: u64,
}

impl Played {
    fn new() -> Self {
        let mut played = Self {
            machine: machine(),
            run: Run::new(RunId::new("r")),
            events: Vec::new(),
            at_ms: 1_000,
        };
        played.ask(CommandKind::Start {
            input: Default::default(),
            by: "ana".to_owned(),
            durable: None,
        });
        played
    }

    fn ask(&mut self, command: CommandKind) -> Decision {
        self.at_ms += 1;
        let command = Command {
            at_ms: self.at_ms,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in &decision.events {
            self.run = evolve(self.run.clone(), event);
            self.events.push(event.clone());
        }
        // The log contains the whole state.
        let replayed = self.events.iter().fold(Run::new(RunId::new("r")), evolve);
        assert_eq!(replayed, self.run);
        let kept: Run = serde_json::from_value(json!(self.run)).unwrap();
        assert_eq!(kept, self.run);
        decision
    }

    /// Asks about SHIP in the prompt of `call`; returns the question.
    fn asks(&mut self, session: &str, agent: Option<&str>, call: &str) -> Digest {
        let request = ship(agent, None);
        let asked = question(&self.machine, &self.run, &request).unwrap();
        let prompt = prompt(session, agent, call);
        let decision = self.ask(CommandKind::AskInPrompt { request, prompt });
        assert!(
            matches!(decision.reply, Reply::Pending { .. }),
            "{decision:?}"
        );
        asked.digest
    }

    fn proposes(&mut self, id: &str, tool: &str, writes: bool, session: Option<&str>) -> Decision {
        let call = call(id, tool, writes, session);
        self.ask(CommandKind::Propose(Box::new(call)))
    }

    fn closes(&mut self, session: &str, agent: Option<&str>, call: Option<&str>, why: PromptEnd) {
        self.ask(CommandKind::ClosePrompts {
            session: session.to_owned(),
            agent: agent.map(AgentId::new),
            call: call.map(CallId::new),
            why,
        });
    }

    fn ends(&mut self, id: &str) {
        self.ask(CommandKind::Record(CallResult {
            id: Some(CallId::new(id)),
            ok: true,
            exit: None,
            bytes: 0,
            wrote: Vec::new(),
            commands: Vec::new(),
            checked: interlock_core::substance::Checked::default(),
        }));
    }

    fn open(&self) -> Vec<String> {
        pending(&self.machine, &self.run)
            .iter()
            .map(|one| one.id().to_string())
            .collect()
    }

    fn state(&self) -> &str {
        self.run.root.at.as_str()
    }
}

fn ship(agent: Option<&str>, consent: Option<Digest>) -> TransitionRequest {
    TransitionRequest {
        event: "SHIP".to_owned(),
        data: serde_json::from_value(json!({"v": 1})).unwrap(),
        branch: None,
        agent: agent.map(AgentId::new),
        by: "agent".to_owned(),
        approved_by: consent.map(|question| Consent {
            by: "ana".to_owned(),
            question,
        }),
    }
}

fn prompt(session: &str, agent: Option<&str>, call: &str) -> PromptCall {
    PromptCall {
        session: session.to_owned(),
        agent: agent.map(AgentId::new),
        call: CallId::new(call),
    }
}

fn call(id: &str, tool: &str, writes: bool, session: Option<&str>) -> ToolCall {
    let files = if writes {
        json!([{"path": "/p/a", "relative": "a", "place": "project", "by": "Write", "removes": false, "recursive": false, "lines": null, "before": null}])
    } else {
        json!([])
    };
    let mut facts = json!(CallFacts::default());
    facts["writes"] = files;
    ToolCall {
        id: CallId::new(id),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: if writes {
            CallKind::Edit
        } else {
            CallKind::Other
        },
        digest: Digest::new(format!("of {tool}")),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: session.map(str::to_owned),
        facts: serde_json::from_value(facts).unwrap(),
    }
}

#[test]
fn a_question_in_a_prompt_is_open_and_stops_nothing() {
    let mut played = Played::new();
    let before = played.run.seq;
    played.asks("s", None, "t1");
    assert_eq!(played.run.seq, before + 1);
    assert!(matches!(
        played.events.last(),
        Some(Event::RequestOpened {
            about: About::Transition(_),
            prompt: Some(_),
            ..
        })
    ));
    let waiting = pending(&played.machine, &played.run);
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].is_in_prompt());
    assert_eq!(json!(waiting[0])["in_prompt"], true);
    let report = interlock_view::report(&played.machine, &played.run, None);
    assert_eq!(report.status.as_str(), "running");
    // A sub-agent that works at the same time continues.
    assert_eq!(
        played.proposes("t2", "Read", false, None).reply,
        Reply::Accepted
    );
}

#[test]
fn the_call_that_comes_is_the_yes_and_closes_it() {
    let mut played = Played::new();
    let asked = played.asks("s", None, "t1");
    let id = played.open()[0].clone();
    let decision = played.ask(CommandKind::Transition(ship(None, Some(asked))));
    assert_eq!(decision.reply, Reply::Accepted);
    assert_eq!(played.state(), "done");
    let granted = decision.events.iter().find_map(|event| match event {
        Event::RequestAnswered { id, yes: true, .. } => Some(id.clone()),
        _ => None,
    });
    assert_eq!(granted.unwrap().to_string(), id);
    assert_eq!(played.run.settled[0].how, Settlement::Approved);
    assert!(played.run.requests.is_empty());
}

#[test]
fn a_yes_counts_for_nothing_but_an_open_question_of_its_asker() {
    // Never asked; asked by another; asked about other data; refused in the meantime.
    let never = |played: &mut Played| {
        question(&played.machine, &played.run, &ship(None, None))
            .unwrap()
            .digest
    };
    let by_another = |played: &mut Played| played.asks("s", Some("sub"), "t1");
    let closed = |played: &mut Played| {
        let asked = played.asks("s", None, "t1");
        played.closes("s", None, Some("t2"), PromptEnd::NextCall);
        asked
    };
    let rejected = |played: &mut Played| {
        let asked = played.asks("s", None, "t1");
        let id = played.open().remove(0);
        played.ask(CommandKind::Reject(Answer {
            by: "ana".to_owned(),
            path: Some(id),
            ..Answer::default()
        }));
        asked
    };
    let left = |played: &mut Played| {
        let asked = played.asks("s", None, "t1");
        for event in ["AWAY", "BACK"] {
            played.ask(CommandKind::Transition(TransitionRequest {
                event: event.to_owned(),
                data: Default::default(),
                ..ship(None, None)
            }));
        }
        assert!(played.run.requests.is_empty());
        asked
    };
    // It is open, and the person answered another one.
    let of_another = |played: &mut Played| {
        played.asks("s", None, "t1");
        Digest::new("another")
    };
    let all: [&dyn Fn(&mut Played) -> Digest; 6] =
        [&never, &by_another, &closed, &rejected, &left, &of_another];
    for (number, forge) in all.into_iter().enumerate() {
        let mut played = Played::new();
        let asked = forge(&mut played);
        let decision = played.ask(CommandKind::Transition(ship(None, Some(asked))));
        assert!(
            matches!(decision.reply, Reply::Pending { .. }),
            "{number}: {decision:?}"
        );
        assert_eq!(played.state(), "work", "{number}");
    }
}

#[test]
fn of_more_than_64_questions_the_oldest_is_dropped() {
    let mut played = Played::new();
    for number in 0..64 {
        played.asks("s", Some(&format!("sub{number}")), &format!("t{number}"));
    }
    let open = played.open();
    assert_eq!(open.len(), 64);
    played.asks("s", Some("sub64"), "t64");
    let (kept, newest) = (played.open(), &open[1..]);
    assert_eq!((&kept[..63], kept.len()), (newest, 64));
}

#[test]
fn what_its_asker_does_next_closes_it() {
    let cases: [(Option<&str>, Option<&str>, PromptEnd, bool); 6] = [
        (None, Some("t2"), PromptEnd::NextCall, true),
        // The same call reported twice.
        (None, Some("t1"), PromptEnd::NextCall, false),
        (None, None, PromptEnd::TurnOver, true),
        // Another agent's.
        (Some("sub"), Some("t2"), PromptEnd::NextCall, false),
        (Some("sub"), None, PromptEnd::TurnOver, false),
        (Some("sub"), None, PromptEnd::SessionOver, true),
    ];
    for (agent, call, why, closes) in cases {
        let mut played = Played::new();
        played.asks("s", None, "t1");
        played.closes("another", agent, call, why);
        assert_eq!(played.open().len(), 1);
        played.closes("s", agent, call, why);
        assert_eq!(
            played.open().is_empty(),
            closes,
            "{agent:?} {call:?} {why:?}"
        );
        if closes {
            assert_eq!(played.run.settled[0].how, Settlement::Void);
            assert_eq!(played.state(), "work");
        }
    }
}

#[test]
fn a_person_may_answer_it_elsewhere() {
    let mut played = Played::new();
    played.asks("s", None, "t1");
    let id = played.open().remove(0);
    let decision = played.ask(CommandKind::Approve(Answer {
        by: "ana".to_owned(),
        path: Some(id),
        ..Answer::default()
    }));
    assert_eq!(decision.reply, Reply::Accepted);
    assert_eq!(played.state(), "done");
    assert_eq!(played.run.root.line.context["v"], 1);
}

#[test]
fn a_call_under_ask_is_open_until_it_runs_or_is_refused() {
    let mut played = Played::new();
    let asked = played.proposes("t1", "Write", true, Some("s"));
    assert!(matches!(asked.reply, Reply::Ask(_)));
    assert_eq!(played.open().len(), 1);
    // It ran, so the person said yes.
    played.ends("t1");
    assert!(played.open().is_empty());
    assert_eq!(played.run.settled[0].how, Settlement::Approved);
    // The approval is used up by the call.
    assert!(matches!(
        played.proposes("t2", "Write", true, Some("s")).reply,
        Reply::Ask(_)
    ));
    // The agent continues with another call: that means no.
    played.closes("s", None, Some("t3"), PromptEnd::NextCall);
    assert!(played.open().is_empty());
    assert_eq!(played.run.settled[1].how, Settlement::Void);
    // A person who is asked by `interlock approve` alone is still asked.
    played.proposes("t4", "Write", true, None);
    played.closes("s", None, Some("t5"), PromptEnd::NextCall);
    played.closes("s", None, None, PromptEnd::TurnOver);
    assert_eq!(played.open().len(), 1);
}

#[test]
fn calls_that_only_read_may_wait_beside_each_other() {
    let mut played = Played::new();
    played.proposes("t1", "WebFetch", false, Some("s"));
    played.closes("s", None, Some("t2"), PromptEnd::NextCall);
    played.proposes("t2", "WebSearch", false, Some("s"));
    assert_eq!(played.open().len(), 2);
    played.ends("t2");
    assert_eq!(played.open().len(), 1);
    played.closes("s", None, None, PromptEnd::TurnOver);
    assert!(played.open().is_empty());
}

#[test]
fn a_question_is_about_the_arguments_that_were_asked_about() {
    let mut played = Played::new();
    played.proposes("t1", "Write", true, Some("s"));
    played.proposes("t2", "Edit", true, Some("s"));
    // The first call is repeated with the arguments of the second.
    let again = played.proposes("t1", "Edit", true, Some("s"));
    let requested = |event: &Event| matches!(event, Event::RequestOpened { about: About::Call(grant), .. } if grant.call.id.as_str() == "t1");
    assert!(again.events.iter().any(requested), "{:?}", again.events);
    // An identical call is not asked about twice.
    let same = played.proposes("t2", "Edit", true, Some("s"));
    assert!(same.events.is_empty(), "{:?}", same.events);
}

#[test]
fn a_result_without_an_id_is_of_no_call_that_is_still_asked_about() {
    let mut played = Played::new();
    played.proposes("t1", "Read", false, None);
    played.proposes("t2", "Write", true, Some("s"));
    played.ask(CommandKind::Record(CallResult {
        id: None,
        ok: true,
        exit: None,
        bytes: 0,
        wrote: Vec::new(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    }));
    assert_eq!(played.open().len(), 1);
    let open: Vec<&str> = played
        .run
        .calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(open, ["t2"]);
}

#[test]
fn a_call_that_runs_with_other_arguments_is_no_yes() {
    let mut played = Played::new();
    played.proposes("t1", "Write", true, Some("s"));
    played.closes("s", None, Some("t1"), PromptEnd::OtherArguments);
    let before = played.run.last_write;
    played.ends("t1");
    assert_eq!(played.run.settled[0].how, Settlement::Void);
    // The call has run anyway: earlier evidence is for another text.
    assert!(played.run.last_write > before);
    assert!(matches!(
        played.proposes("t2", "Write", true, Some("s")).reply,
        Reply::Ask(_)
    ));
}

#[test]
fn what_a_yes_rests_on_is_told() {
    let played = Played::new();
    let path = interlock_core::names::FramePath::root();
    let meant = meaning(
        &played.machine,
        &played.run,
        &path,
        &"PROVEN".into(),
        Some(0),
    )
    .unwrap();
    assert_eq!(
        (meant.from.as_str(), meant.to),
        ("work", vec!["done".to_owned()])
    );
    assert_eq!(
        meant.bases,
        [Basis::Seen {
            what: "npm test".to_owned(),
            wanted: Some(0),
            exit: None,
            begun_seq: None,
            holds: false,
        }]
    );
    let meant = meaning(&played.machine, &played.run, &path, &"SHIP".into(), Some(0)).unwrap();
    assert!(meant.bases.is_empty());
}

#[test]
fn a_call_that_was_asked_about_twice_is_settled_by_the_one_that_runs() {
    for runs in ["t1", "t2"] {
        let mut played = Played::new();
        played.proposes("t1", "Write", true, Some("s"));
        // The same call again, before an answer: it is one question, shown in the newer prompt.
        played.proposes("t2", "Write", true, Some("s"));
        assert_eq!(played.open().len(), 1, "{runs}");
        let id = played.open().remove(0);
        played.ends(runs);
        assert!(played.open().is_empty(), "{runs}");
        let settled: Vec<(String, Settlement)> = played
            .run
            .settled
            .iter()
            .map(|one| (one.id.to_string(), one.how))
            .collect();
        assert_eq!(settled, [(id, Settlement::Approved)], "{runs}");
    }
}

#[test]
fn data_goes_with_an_answer_that_is_not_about_calls_alone() {
    let data: interlock_core::machine::Object = serde_json::from_value(json!({"w": 2})).unwrap();
    for (transition, call, taken) in [
        (true, true, true),
        (true, false, true),
        (false, true, false),
    ] {
        let mut played = Played::new();
        if call {
            played.proposes("t2", "Write", true, Some("s"));
        }
        if transition {
            played.asks("s", None, "t1");
        }
        let decision = played.ask(CommandKind::Approve(Answer {
            by: "ana".to_owned(),
            data: data.clone(),
            ..Answer::default()
        }));
        let accepted = decision.reply == Reply::Accepted;
        assert_eq!(accepted, taken, "{transition} {call}: {decision:?}");
        assert_eq!(played.state() == "done", taken, "{transition} {call}");
        let merged = played.run.root.line.context.get("w");
        assert_eq!(merged, taken.then_some(&json!(2)), "{transition} {call}");
    }
}

#[test]
fn a_question_is_another_with_any_other_data() {
    let played = Played::new();
    let digest = |data: &Value| {
        let request = TransitionRequest {
            data: serde_json::from_value(data.clone()).unwrap(),
            ..ship(None, None)
        };
        let asked = question(&played.machine, &played.run, &request);
        asked.unwrap().digest.to_string()
    };
    let all = [
        json!({}),
        json!({"a": 1}),
        json!({"a": 2}),
        json!({"a": "1"}),
        json!({"a": null}),
        json!({"b": 1}),
        json!({"a": 1, "b": 2}),
        json!({"a": 2, "b": 1}),
        json!({"a": {"b": 1}}),
        json!({"a": {"b": 2}}),
        json!({"a": [1, 2]}),
        json!({"a": [2, 1]}),
    ];
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            assert_ne!(digest(one), digest(other), "{one} {other}");
        }
    }
    // The order of keys does not matter.
    let turned: Value = serde_json::from_str(r#"{"b": {"d": 1, "c": 2}, "a": 3}"#).unwrap();
    assert_eq!(
        digest(&turned),
        digest(&json!({"a": 3, "b": {"c": 2, "d": 1}}))
    );
}

#[test]
fn a_yes_is_of_the_question_that_was_asked_and_of_no_other_there() {
    let mut played = Played::new();
    let mut request = ship(None, None);
    let first = question(&played.machine, &played.run, &request)
        .unwrap()
        .digest;
    request.data = serde_json::from_value(json!({"v": 2})).unwrap();
    let second = question(&played.machine, &played.run, &request)
        .unwrap()
        .digest;
    assert_ne!(first, second);
    played.asks("s", None, "t1");
    let prompt = prompt("s", None, "t2");
    let asking = CommandKind::AskInPrompt {
        request: request.clone(),
        prompt,
    };
    played.ask(asking);
    let open = played.open();
    request.approved_by = Some(Consent {
        by: "ana".to_owned(),
        question: second,
    });
    let decision = played.ask(CommandKind::Transition(request));
    let answered = decision.events.iter().find_map(|event| match event {
        Event::RequestAnswered { id, .. } => Some(id.to_string()),
        _ => None,
    });
    assert_eq!(answered.as_ref(), open.get(1));
}
