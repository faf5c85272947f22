#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    command::{Command, CommandKind, TransitionRequest},
    decide, evolve,
    machine::{Machine, Object},
    names::{FramePath, RunId},
    run::Run,
};
use serde_json::{Value, json};

use crate::report;

fn to(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}}]})
}

fn machine() -> Machine {
    serde_json::from_value(json!({
        "id": "w", "initial": "a", "context": {"n": 1},
        "guards": {"many": {"field": {"field": "n", "op": "gt", "value": 2}}},
        "states": {
            "a": {
                "policy": {
                    "allowed_tools": ["Read", "Edit", "mcp__x__*", "mcp__y__z"],
                    "disallowed_tools": ["Edit", "mcp__y__*"],
                    "iterations_max": 3, "result_bytes_max": 100,
                },
                "on": {
                    "GO": to("b"),
                    "MAYBE": {"transitions": [{"target": {"state": "b"}, "guards": [{"named": "many"}]}]},
                    "SORT": {"branched": true, "transitions": [
                        {"target": {"state": "b"}, "guards": [{"named": "many"}]},
                        {"target": {"state": "a"}},
                    ]},
                    "FORK": to("a.FORK"),
                    "CALL": to("a.CALL"),
                    "BACK": {"transitions": [{"target": "return"}]},
                    "ASK": {"transitions": [{"target": {"state": "b"}, "approval": {}}]},
                },
            },
            "b": {"activity": {"final": {"outcome": "failure"}}},
            "one": {"policy": {"allowed_tools": []}, "on": {"DONE": to("end"), "ASK": {"transitions": [{"target": {"state": "end"}, "approval": {}}]}}},
            "two": {"on": {"DONE": to("end"), "ASK": {"transitions": [{"target": {"state": "end"}, "approval": {}}]}}},
            "end": {},
            "a.FORK": {
                "activity": {"parallel": {"over": {"branches": {
                    "left": {"initial": "one", "terminal": "end"},
                    "right": {"initial": "two", "terminal": "end"},
                }}}},
                "shown_as": "a",
                "on": {"done": to("a"), "error": to("b")},
            },
            "a.CALL": {
                "activity": {"call": {"machine": "sub"}},
                "shown_as": "a",
                "on": {"done": to("b")},
            },
        },
        "machines": {"sub": {"id": "sub-machine", "initial": "inner", "states": {
            "inner": {"on": {"DONE": to("over")}},
            "over": {"activity": {"final": {"outcome": "success"}}},
        }}},
    }))
    .unwrap()
}

/// Plays `steps` (`EVENT` or `branch:EVENT`) and returns the run.
fn play(machine: &Machine, steps: &[&str]) -> Run {
    let start = CommandKind::Start {
        input: Object::new(),
        by: "test".to_owned(),
        durable: None,
    };
    let asks = steps.iter().map(|step| match *step {
        "pause" => CommandKind::Pause {
            by: "ana".to_owned(),
            reason: None,
        },
        "cancel" => CommandKind::Cancel {
            by: "ana".to_owned(),
        },
        step => {
            let (branch, event) = step
                .split_once(':')
                .map_or((None, step), |(branch, event)| (Some(branch), event));
            CommandKind::Transition(TransitionRequest {
                event: event.to_owned(),
                data: Object::new(),
                branch: branch.map(str::to_owned),
                agent: None,
                by: "agent".to_owned(),
                approved_by: None,
            })
        }
    });
    let mut run = Run::new(RunId::new("r"));
    for command in std::iter::once(start).chain(asks) {
        let command = Command {
            at_ms: 0,
            kind: command,
        };
        for event in decide(machine, &run, &command).events {
            run = evolve(run, &event);
        }
    }
    run
}

fn check(steps: &[&str], focus: Option<&str>, expect: &Value) {
    let machine = machine();
    let run = play(&machine, steps);
    let focus = focus.map(|name| FramePath::root().child(name));
    let seen = serde_json::to_value(report(&machine, &run, focus.as_ref())).unwrap();
    for (key, wanted) in expect.as_object().unwrap() {
        assert_eq!(seen.get(key), Some(wanted), "{steps:?}: {key}");
    }
}

#[test]
fn keys_come_in_the_order_of_the_contract() {
    let machine = machine();
    let text = serde_json::to_string(&report(&machine, &play(&machine, &[]), None)).unwrap();
    let seen: Object = serde_json::from_str(&text).unwrap();
    let keys: Vec<&str> = seen.keys().map(String::as_str).collect();
    let order = [
        "state", "status", "context", "tools", "events", "limits", "effects",
    ];
    assert_eq!(keys, order);
}

#[test]
fn a_state_shows_its_tools_its_limits_and_where_its_events_lead() {
    check(
        &[],
        None,
        &json!({
            "state": "a", "status": "running", "context": {"n": 1},
            "tools": ["Read", "mcp__x__*"],
            "limits": {"iterations": [0, 3], "bytes": [0, 100]},
            "events": [
                {"event": "GO", "target": "b", "ready": true},
                {"event": "MAYBE", "target": "b", "ready": false},
                {"event": "SORT", "target": null, "targets": ["b", "a"], "ready": true},
                {"event": "FORK", "target": null, "targets": ["a", "b"], "ready": true},
                {"event": "CALL", "target": null, "targets": ["b"], "ready": true},
                {"event": "BACK", "target": null, "targets": [], "ready": false},
                {"event": "ASK", "target": "b", "ready": true},
            ],
            "effects": [],
        }),
    );
}

#[test]
fn an_ended_run_restricts_and_offers_nothing() {
    check(
        &["GO"],
        None,
        &json!({
            "state": "b", "status": "failed", "tools": null, "events": [], "limits": {},
        }),
    );
    check(
        &["cancel"],
        None,
        &json!({
            "state": "a", "status": "cancelled", "tools": null, "events": [], "limits": {},
        }),
    );
}

#[test]
fn branches_are_shown_below_the_state_that_forked() {
    check(
        &["FORK"],
        None,
        &json!({
            "state": ["a/left/one", "a/right/two"], "tools": [], "status": "running",
        }),
    );
    check(&["FORK"], Some("right"), &json!({"tools": null}));
    check(
        &["FORK", "DONE"],
        Some("left"),
        &json!({"state": "a/right/two", "tools": null}),
    );
    check(
        &["FORK", "cancel"],
        None,
        &json!({"state": ["a/left/one", "a/right/two"]}),
    );
}

#[test]
fn a_called_machine_is_shown_by_its_id() {
    check(
        &["CALL"],
        None,
        &json!({
            "state": "a/sub-machine/inner",
            "events": [{"event": "DONE", "target": "over", "ready": true}],
        }),
    );
}

#[test]
fn a_run_waits_for_a_person_once_no_branch_can_go_on() {
    check(
        &["ASK"],
        None,
        &json!({"status": "awaiting_approval", "state": "a"}),
    );
    check(&["FORK", "left:ASK"], None, &json!({"status": "running"}));
    check(
        &["FORK", "left:ASK", "right:ASK"],
        None,
        &json!({"status": "awaiting_approval"}),
    );
    check(
        &["FORK", "left:ASK", "right:DONE"],
        None,
        &json!({"status": "awaiting_approval"}),
    );
    check(&["ASK", "pause"], None, &json!({"status": "paused"}));
}
