//! Calls in several branches that wait for a person at once.

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, CallResult, ToolCall},
    command::{Answer, Command, CommandKind, TransitionRequest},
    decide,
    event::{Event, Merged, PromptEnd},
    evolve,
    machine::{Machine, Outcome},
    names::{AgentId, CallId, Digest, FramePath},
    pending::{asked_since, pending},
    run::Run,
};
use serde_json::json;

use crate::support::{call::call, started::started};

struct Played {
    machine: Machine,
    run: Run,
}

impl Played {
    /// Starts a run with two working branches, in which unlisted calls are asked about.
    fn new() -> Self {
        let work = json!({"policy": {"allowed_tools": ["Read"], "on_denied": "ask"}, "on": {}});
        let is_final = json!({"activity": {"final": {"outcome": "success"}}});
        let machine: Machine = serde_json::from_value(json!({
            "id": "m", "initial": "f",
            "limits": interlock_core::machine::Limits::default(),
            "states": {
                "f": {
                    "activity": {"parallel": {"over": {"branches": {
                        "a": {"initial": "a1", "terminal": "done"},
                        "b": {"initial": "b1", "terminal": "done"},
                    }}}},
                    "on": {"done": {"transitions": [{"target": {"state": "end"}}]}},
                },
                "a1": work, "b1": work, "done": is_final, "end": is_final,
            },
        }))
        .unwrap();
        let run = started(&machine);
        Self { machine, run }
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

    /// Proposes a call in a branch; a person is asked in the prompt of session `s`.
    fn proposes(&mut self, branch: &str, id: &str, tool: &str) {
        let mut facts = json!(CallFacts::default());
        facts["writes"] = json!([{"path": "/p/a", "relative": "a", "place": "project", "by": tool, "removes": false,
            "recursive": false, "lines": null, "before": null}]);
        let reply = self.ask(CommandKind::Propose(Box::new(ToolCall {
            kind: CallKind::Edit,
            digest: Digest::new(format!("of {tool}")),
            branch: Some(branch.to_owned()),
            prompts_in: Some("s".to_owned()),
            facts: serde_json::from_value(facts).unwrap(),
            ..call(id, tool)
        })));
        assert!(matches!(reply, Reply::Ask(_)), "{branch} {id}: {reply:?}");
    }

    /// Returns the branches of the pending requests.
    fn waiting(&self) -> Vec<String> {
        let all = pending(&self.machine, &self.run);
        all.iter().map(|one| one.path().to_string()).collect()
    }
}

#[test]
fn an_answer_without_a_name_is_for_one_place() {
    for (branches, meant) in [
        (&["a"][..], true),
        (&["a", "a"], true),
        (&["b", "b", "b"], true),
        (&["a", "b"], false),
        (&["a", "a", "b"], false),
        (&["a", "b", "a"], false),
        (&["b", "a", "a"], false),
        (&["a", "a", "a", "b"], false),
    ] {
        for yes in [true, false] {
            let mut played = Played::new();
            for (at, branch) in branches.iter().enumerate() {
                played.proposes(branch, &format!("c{at}"), &format!("Tool{at}"));
            }
            assert_eq!(played.waiting().len(), branches.len(), "{branches:?}");
            let answer = Answer {
                by: "ana".to_owned(),
                ..Answer::default()
            };
            let reply = match yes {
                true => played.ask(CommandKind::Approve(answer)),
                false => played.ask(CommandKind::Reject(answer)),
            };
            assert_eq!(reply == Reply::Accepted, meant, "{branches:?}: {reply:?}");
            assert_eq!(played.waiting().is_empty(), meant, "{branches:?}");
        }
    }
}

#[test]
fn the_name_of_a_state_means_every_call_that_waits_there() {
    for name in ["a", "f/a/a1"] {
        let mut played = Played::new();
        for (at, branch) in ["a", "b", "a"].into_iter().enumerate() {
            played.proposes(branch, &format!("c{at}"), &format!("Tool{at}"));
        }
        let reply = played.ask(CommandKind::Approve(Answer {
            by: "ana".to_owned(),
            path: Some(name.to_owned()),
            ..Answer::default()
        }));
        assert_eq!(reply, Reply::Accepted, "{name}");
        assert_eq!(played.waiting(), ["b"], "{name}");
    }
}

#[test]
fn a_call_that_runs_settles_no_question_of_another_branch() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let mut played = Played::new();
        played.proposes(first, "c1", "Write");
        played.proposes(second, "c2", "Write");
        assert_eq!(played.waiting(), [first, second]);
        // Its question is closed before it runs.
        played.ask(CommandKind::ClosePrompts {
            session: "s".to_owned(),
            agent: None,
            call: Some(CallId::new("c2")),
            why: PromptEnd::NextCall,
        });
        assert_eq!(played.waiting(), [second]);
        played.ask(CommandKind::Record(CallResult {
            id: Some(CallId::new("c1")),
            ok: true,
            exit: None,
            bytes: 0,
            wrote: Vec::new(),
            commands: Vec::new(),
            checked: interlock_core::substance::Checked::default(),
        }));
        assert_eq!(played.waiting(), [second], "{first}");
    }
}

/// Returns a call of `Read` by an agent in a branch.
fn reading(branch: Option<&str>, agent: Option<&str>, id: &str) -> CommandKind {
    CommandKind::Propose(Box::new(ToolCall {
        digest: Digest::new(id),
        agent: agent.map(AgentId::new),
        branch: branch.map(str::to_owned),
        ..call(id, "Read")
    }))
}

#[test]
fn who_has_stopped_and_comes_back_holds_its_branch_again() {
    let mut played = Played::new();
    let sub = || AgentId::new("sub");
    let reads = |played: &mut Played, agent: Option<&str>, id: &str| {
        let reply = played.ask(reading(Some("a"), agent, id));
        reply == Reply::Accepted
    };
    assert!(reads(&mut played, Some("sub"), "c1"));
    assert!(!reads(&mut played, Some("other"), "c2"), "it is held");
    played.ask(CommandKind::ReleaseAgent { agent: sub() });
    assert!(played.run.away.contains(&sub()));
    assert!(reads(&mut played, Some("sub"), "c3"), "it goes on");
    assert!(played.run.away.is_empty());
    assert!(!reads(&mut played, Some("other"), "c4"), "it is held again");
    played.ask(CommandKind::ReleaseAgent { agent: sub() });
    assert!(reads(&mut played, Some("other"), "c5"), "it is free");
    assert!(!reads(&mut played, Some("sub"), "c6"), "another has it now");
}

#[test]
fn the_end_of_a_call_is_taken_though_its_branch_is_over() {
    let mut played = Played::new();
    assert_eq!(played.ask(reading(Some("a"), None, "c1")), Reply::Accepted);
    // The fork has joined.
    let joined = Event::Joined {
        path: FramePath::root(),
        lines: Vec::new(),
        outcome: Outcome::Success,
        merged: Merged::default(),
        failed: 0,
        cause: None,
        next: None,
        may_part: false,
    };
    played.run = evolve(played.run.clone(), &joined);
    let reply = played.ask(CommandKind::Record(CallResult {
        id: Some(CallId::new("c1")),
        ok: true,
        exit: None,
        bytes: 1,
        wrote: Vec::new(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    }));
    assert_eq!(reply, Reply::Accepted);
    assert!(played.run.calls.is_empty());
}

#[test]
fn who_answers_nothing_is_told_what_was_answered_last() {
    let mut played = Played::new();
    for (number, by) in ["ana", "bob"].into_iter().enumerate() {
        played.proposes("a", &format!("c{number}"), &format!("Tool{number}"));
        let answer = Answer {
            by: by.to_owned(),
            ..Answer::default()
        };
        assert_eq!(played.ask(CommandKind::Reject(answer)), Reply::Accepted);
    }
    let Reply::Refused(refusal) = played.ask(CommandKind::Approve(Answer::default())) else {
        unreachable!("nothing waits");
    };
    assert!(refusal.message.contains("by bob"), "{refusal:?}");
}

#[test]
fn what_was_asked_since_a_moment_is_told_from_what_waited_before() {
    let mut played = Played::new();
    let since = |played: &Played, before: u64| -> Vec<String> {
        let all = asked_since(&played.machine, &played.run, before);
        all.iter().map(|one| one.path().to_string()).collect()
    };
    let start = played.run.seq;
    assert!(since(&played, start).is_empty());
    played.proposes("a", "c1", "Tool1");
    let second = played.run.seq;
    assert_eq!(since(&played, start), ["a"]);
    assert!(since(&played, second).is_empty());
    played.proposes("b", "c2", "Tool2");
    assert_eq!(since(&played, start), ["a", "b"]);
    assert_eq!(since(&played, second), ["b"]);
}

#[test]
fn an_answer_is_for_what_was_asked_before_the_person_looked() {
    let mut played = Played::new();
    let start = played.run.seq;
    played.proposes("a", "c1", "Tool1");
    let looked = played.run.seq;
    let answer = |before: u64| {
        CommandKind::Approve(Answer {
            by: "ana".to_owned(),
            before: Some(before),
            ..Answer::default()
        })
    };
    // Who has seen no event of it has not seen the request, whose number is the first after those.
    let refused = played.ask(answer(start));
    assert!(matches!(refused, Reply::Refused(_)), "{refused:?}");
    assert_eq!(played.waiting(), ["a"]);
    played.proposes("b", "c2", "Tool2");
    assert_eq!(played.ask(answer(looked)), Reply::Accepted);
    assert_eq!(played.waiting(), ["b"]);
}

#[test]
fn a_yes_in_one_branch_is_none_in_another() {
    let mut played = Played::new();
    played.proposes("a", "c1", "Write");
    let yes = Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    };
    assert_eq!(played.ask(CommandKind::Approve(yes)), Reply::Accepted);
    // The same call, with the same arguments, is asked about there.
    played.proposes("b", "c2", "Write");
    assert_eq!(played.waiting(), ["b"]);
}

#[test]
fn what_a_called_machine_asked_is_void_once_it_has_returned() {
    let machine: Machine = serde_json::from_value(json!({
        "id": "m", "initial": "call", "limits": interlock_core::machine::Limits::default(),
        "states": {
            "call": {"activity": {"call": {"machine": "sub"}}, "on": {"done": {"transitions": [{"target": {"state": "work"}, "approval": {}}]}}},
            "work": {"on": {}},
        },
        "machines": {"sub": {"id": "sub", "initial": "s", "states": {"s": {
            "policy": {"allowed_tools": ["Read"], "on_denied": "ask"},
            "on": {"GO": {"transitions": [{"target": {"end": "success"}}]}},
        }}}},
    }))
    .unwrap();
    let run = started(&machine);
    let mut played = Played { machine, run };
    let asked = played.ask(CommandKind::Propose(Box::new(call("c1", "Write"))));
    assert!(matches!(asked, Reply::Ask(_)), "{asked:?}");
    assert_eq!(played.waiting(), ["sub"]);
    let go = TransitionRequest {
        event: "GO".to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    };
    assert_eq!(played.ask(CommandKind::Transition(go)), Reply::Accepted);
    // Only the transition of the state that called it is pending.
    assert_eq!(played.waiting(), [""]);
    assert!(played.run.requests.is_empty());
}
