//! Evidence that must be newer than the last edit: an edit counts until it has ended.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, CallResult, ToolCall},
    command::{Ask, Command, TransitionRequest},
    decide, evolve,
    machine::Machine,
    names::{CallId, Digest, RunId},
    run::Run,
};
use serde_json::json;

fn machine() -> Machine {
    let checked = json!({"inline": {"evidence": {"of": {"tool": {"tool": "Check", "path": null}}, "since": "last_edit"}}});
    serde_json::from_value(json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Check", "Write"]},
                "on": {"DONE": {"branched": false, "transitions": [{"target": {"state": "done"}, "guards": [checked]}]}},
            },
            "done": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

fn call(id: &str) -> ToolCall {
    let writes = id.starts_with("write");
    let mut facts = json!(CallFacts::default());
    if writes {
        facts["writes"] = json!([{"path": "/p/a", "relative": "a", "place": "project", "by": "Write", "removes": false, "recursive": false, "lines": null, "before": null}]);
    }
    ToolCall {
        id: CallId::new(id),
        tool: if writes { "Write" } else { "Check" }.to_owned(),
        common: None,
        served_as: Vec::new(),
        kind: if writes {
            CallKind::Edit
        } else {
            CallKind::Other
        },
        digest: Digest::new(format!("of {id}")),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(facts).unwrap(),
    }
}

fn ended(id: &str) -> Ask {
    Ask::Record(CallResult {
        id: Some(CallId::new(id)),
        ok: true,
        exit: None,
        bytes: 0,
        wrote: Vec::new(),
        commands: Vec::new(),
    })
}

/// Plays calls that begin (`+id`) and end (`-id`); tells whether `DONE` is then allowed.
fn passes(steps: &str) -> bool {
    let machine = machine();
    let mut run = Run::new(RunId::new("r"));
    let mut ask = |ask: Ask| {
        let decision = decide(&machine, &run, &Command { at_ms: 1_000, ask });
        run = decision.events.iter().fold(run.clone(), evolve);
        decision.reply
    };
    ask(Ask::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        places: None,
        mode: None,
        opening: None,
    });
    for step in steps.split(' ') {
        let (sign, id) = step.split_at(1);
        let reply = match sign {
            "+" => ask(Ask::Propose(Box::new(call(id)))),
            _ => ask(ended(id)),
        };
        assert!(!matches!(reply, Reply::Refused(_)), "{step}: {reply:?}");
    }
    let reply = ask(Ask::Transition(TransitionRequest {
        event: "DONE".to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    }));
    !matches!(reply, Reply::Refused(_))
}

#[test]
fn an_edit_counts_until_it_has_ended() {
    for (steps, allowed) in [
        ("+check1 -check1", true),
        ("+write1 -write1 +check1 -check1", true),
        ("+check1 -check1 +write1 -write1", false),
        // It was allowed before the check, but its bytes may have landed after it.
        ("+write1 +check1 -check1 -write1", false),
        ("+write1 +check1 -write1 -check1", false),
        ("+write1 +check1 -check1 -write1 +check2 -check2", true),
    ] {
        assert_eq!(passes(steps), allowed, "{steps}");
    }
}
