#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    command::{Command, CommandKind},
    decide,
    event::{About, PendingTransition},
    evolve,
    machine::{Machine, Object},
    names::{FramePath, RunId},
    run::{Handling, Pause, Request, Run},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{BRIEFING_MAX, briefing, teach};

fn machine(states: &Value) -> Machine {
    serde_json::from_value(json!({"id": "w", "initial": "testing", "states": states})).unwrap()
}

fn started(machine: &Machine) -> Run {
    let command = Command {
        at_ms: 0,
        kind: CommandKind::Start {
            input: Object::new(),
            by: "test".to_owned(),
            durable: None,
        },
    };
    let run = Run::new(RunId::new("r"));
    let events = decide(machine, &run, &command).events;
    events.iter().fold(run, evolve)
}

fn to(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}}]})
}

fn page() -> Machine {
    machine(&json!({
        "testing": {
            "policy": {"allowed_tools": ["Read", "Bash"]},
            "instructions": "Run the test suite.",
            "on": {"DEPLOY": to("deploying"), "FAIL": to("failed")},
        },
        "deploying": {}, "failed": {"activity": {"final": {"outcome": "failure"}}},
    }))
}

#[test]
fn a_briefing_has_the_form_of_the_page() {
    let machine = page();
    assert_eq!(
        briefing(&machine, &started(&machine), None),
        "Phase: testing. Tools: Read, Bash.\n\
         Transitions: DEPLOY -> deploying, FAIL -> failed.\n\
         Instructions: Run the test suite."
    );
    assert_eq!(
        teach(&machine, &started(&machine), None),
        "Tools: Read, Bash. Transitions: DEPLOY -> deploying, FAIL -> failed."
    );
}

#[test]
fn every_bound_of_a_state_is_told() {
    let machine = machine(&json!({
        "testing": {
            "policy": {
                "iterations_max": 3, "edit_lines_max": 20, "files_max": 2, "result_bytes_max": 500,
                "allowed_commands": [{"text": "npm test", "words": ["npm", "test"]}],
                "blocked_env": ["SECRET"], "env_overrides": {"MODE": "x\ny"},
            },
            "safe_next": "next",
            "on": {
                "SHIP": {"branched": true, "transitions": [
                    {"target": {"state": "next"}, "guards": [{"named": "never"}], "approval": {}},
                    {"target": {"state": "testing"}},
                ]},
            },
        },
        "next": {},
    }));
    assert_eq!(
        briefing(&machine, &started(&machine), None),
        "Phase: testing. Tools: all.\n\
         Commands: npm test.\n\
         Left: calls 3 of 3, files to edit 2 of 2, bytes of results 500 of 500, 20 lines an edit.\n\
         Environment: MODE=x y, no SECRET.\n\
         Transitions: SHIP -> next (guard never does not hold yet; a person must approve) or testing, \
         any other event -> next."
    );
}

#[test]
fn what_stands_in_the_way_is_told() {
    let machine = page();
    let mut run = started(&machine);
    run.root.stay.request = Some(Box::new(Request {
        seq: 0,
        path: FramePath::root(),
        entered_seq: 0,
        about: About::Transition(PendingTransition {
            event: "DEPLOY".into(),
            index: 0,
            data: Object::new(),
            message: "Ship it?".to_owned(),
            by: "agent".to_owned(),
        }),
        question: "q".into(),
        prompt: None,
        approval: interlock_core::event::ApprovalKind::Person,
        at_ms: 0,
        granted: None,
    }));
    run.root.line.handling = Some(Handling {
        interrupt: "check".into(),
        file: "db/1.sql".to_owned(),
        return_to: "deploying".into(),
    });
    run.root.stay.note = Some("too early".to_owned());
    let text = briefing(&machine, &run, None);
    for part in [
        "approve DEPLOY (Ship it?)",
        "check because db/1.sql",
        "too early",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    run.paused = Some(Pause {
        by: "ana".to_owned(),
        reason: Some("lunch".to_owned()),
    });
    assert!(briefing(&machine, &run, None).contains("Paused by ana (lunch)"));
}

#[test]
fn guards_without_a_name_are_told_by_what_they_read() {
    let named = |name: &str| json!({ "named": name });
    let inline = |guard: Value| json!({ "inline": guard });
    let many: Vec<Value> = ["a", "b", "c", "d", "e", "f"].map(named).into();
    for (guard, wanted) in [
        (json!({"all": [named("a"), named("b")]}), "all of a, b"),
        (json!({"any": many}), "any of a, b, c, d, 2 more"),
        (json!({"not": named("a")}), "not a"),
        (
            json!({"not": inline(json!({"all": [named("a")]}))}),
            "not a composed guard",
        ),
        (
            json!({"any": [inline(json!({"not": named("a")})), named("b")]}),
            "any of a composed guard, b",
        ),
        (json!({"output": "ok"}), "on the output `ok`"),
        (json!({"code": 3}), "on code 3"),
        (json!("uncancelled"), "unless cancelled"),
    ] {
        let machine = machine(&json!({
            "testing": {"on": {"GO": {"transitions": [
                {"target": {"state": "testing"}, "guards": [inline(guard)]},
            ]}}},
        }));
        let told = briefing(&machine, &started(&machine), None);
        let way = format!("(guard {wanted} ");
        assert!(told.contains(&way), "{way} in {told}");
    }
}

#[test]
fn what_a_wildcard_does_not_cover_is_told() {
    for (policy, told) in [
        (
            json!({"disallowed_tools": ["Bash"]}),
            "Tools: all but not Bash.",
        ),
        (
            json!({"allowed_tools": ["mcp__x__*"], "disallowed_tools": ["mcp__x__y"]}),
            "Tools: mcp__x__* but not mcp__x__y.",
        ),
        (
            json!({"allowed_tools": ["Read"], "disallowed_tools": ["Bash"]}),
            "Tools: Read.",
        ),
        (
            json!({"allowed_tools": [], "disallowed_tools": ["Bash"]}),
            "Tools: none.",
        ),
    ] {
        let machine = machine(&json!({"testing": {"policy": policy}}));
        let text = teach(&machine, &started(&machine), None);
        assert_eq!(text, format!("{told} Transitions: none."));
    }
}

proptest! {
    #[test]
    fn a_briefing_keeps_its_size(
        tools in prop::collection::vec(".{0,80}", 0..60),
        commands in prop::collection::vec(".{0,80}", 0..60),
        events in prop::collection::vec(".{1,300}", 0..40),
        note in ".{0,3000}",
        why in ".{0,3000}",
    ) {
        let commands: Vec<Value> = commands.iter().map(|text| json!({"text": text, "words": []})).collect();
        let on: Object = events.iter().map(|event| (event.clone(), to("testing"))).collect();
        let machine = machine(&json!({
            "testing": {
                "policy": {
                    "allowed_tools": tools, "allowed_commands": commands, "iterations_max": u64::MAX,
                    "blocked_env": tools, "result_bytes_max": 1, "files_max": 1, "edit_lines_max": 1,
                },
                "on": on,
            },
        }));
        let mut run = started(&machine);
        run.root.stay.note = Some(note.clone());
        run.paused = Some(Pause { by: why.clone(), reason: Some(why) });
        run.root.line.handling = Some(Handling {
            interrupt: note.as_str().into(), file: note, return_to: "testing".into(),
        });
        let text = briefing(&machine, &run, None);
        prop_assert!(text.chars().count() <= BRIEFING_MAX, "{}", text.chars().count());
        prop_assert!(text.contains("Transitions: "));
    }
}
