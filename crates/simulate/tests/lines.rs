//! Whole output lines, byte for byte: the order of keys, nulls and codes are a contract.

use interlock_core::machine::Machine;
use interlock_simulate::{Scenario, Simulation};
use serde_json::{Value, json};

fn to(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}}]})
}

fn simulation() -> Simulation {
    let machine: Machine = serde_json::from_value(json!({
        "id": "w", "initial": "work", "context": {"n": null},
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Read", "Edit"], "iterations_max": 2},
                "on": {
                    "GO": to("end"),
                    "ASK": {"transitions": [{"target": {"state": "end"}, "approval": {"message": "Sure?"}}]},
                },
            },
            "check": {
                "policy": {"allowed_tools": ["Read"]},
                "on": {"OK": {"transitions": [{"target": "return"}]}},
            },
            "end": {"activity": {"final": {"outcome": "success"}}},
        },
        "interrupts": {"db": {"file_pattern": "db/*.sql", "target": "check"}},
    }))
    .unwrap();
    Simulation::new(machine, Scenario::default())
}

/// Submits `lines` and compares the answer to the last one.
fn check(lines: &[&str], expect: &str) {
    let mut simulation = simulation();
    let mut answer = String::new();
    for line in lines {
        answer = serde_json::to_string(&simulation.step(line).unwrap()).unwrap();
    }
    assert_eq!(answer, expect, "{lines:?}");
}

const GUARDS: &str = r#""events":[{"event":"GO","target":"end","ready":true},{"event":"ASK","target":"end","ready":true}]"#;

#[test]
fn a_report_line() {
    check(
        &[r#"{"state": {}}"#],
        &format!(
            r#"{{"ok":true,"code":null,"message":"now in `work`","state":"work","status":"running","context":{{"n":null}},"tools":["Read","Edit"],{GUARDS},"limits":{{"iterations":[0,2]}},"effects":[],"log":[]}}"#
        ),
    );
}

#[test]
fn a_tool_line_that_is_allowed() {
    check(
        &[r#"{"tool": "Read", "input": {"file_path": "a"}}"#],
        &format!(
            r#"{{"ok":true,"verdict":"allow","code":null,"message":"`Read` may run","state":"work","status":"running","context":{{"n":null}},"tools":["Read","Edit"],{GUARDS},"limits":{{"iterations":[1,2]}},"effects":[],"log":["CallAllowed"]}}"#
        ),
    );
}

#[test]
fn a_tool_line_that_is_denied() {
    check(
        &[r#"{"tool": "Grep", "input": {"pattern": "x"}}"#],
        &format!(
            r#"{{"ok":false,"verdict":"deny","code":"tool_not_allowed","message":"`Grep` is not allowed in `work`. Tools: Read, Edit. Transitions: GO -> end, ASK -> end (a person must approve).","state":"work","status":"running","context":{{"n":null}},"tools":["Read","Edit"],{GUARDS},"limits":{{"iterations":[0,2]}},"effects":[],"log":["CallDenied"]}}"#
        ),
    );
}

#[test]
fn the_line_that_parks_and_the_one_that_ends() {
    check(
        &[r#"{"transition": "ASK", "data": {"n": 1}}"#],
        &format!(
            r#"{{"ok":true,"code":null,"message":"a person has to approve this: Sure?","state":"work","status":"awaiting_approval","context":{{"n":null}},"tools":["Read","Edit"],{GUARDS},"limits":{{"iterations":[0,2]}},"effects":[],"log":["ApprovalRequested"]}}"#
        ),
    );
    check(
        &[
            r#"{"transition": "ASK", "data": {"n": 1}}"#,
            r#"{"approve": {"by": "ana", "data": {"m": 2}}}"#,
        ],
        r#"{"ok":true,"code":null,"message":"ana said yes; now in `end`, completed","state":"end","status":"completed","context":{"n":1,"m":2},"tools":null,"events":[],"limits":{},"effects":[],"log":["ApprovalGranted","TransitionTaken","RunCompleted"]}"#,
    );
}

#[test]
fn a_default_outcome_comes_before_the_next_command_but_not_before_a_report() {
    let edit = r#"{"tool": "Edit", "input": {"file_path": "db/1.sql", "old_string": "a", "new_string": "b"}}"#;
    let mut simulation = simulation();
    let step = |simulation: &mut Simulation, line: &str| {
        serde_json::to_value(simulation.step(line).unwrap()).unwrap()
    };
    step(&mut simulation, edit);
    let report = step(&mut simulation, r#"{"state": {}}"#);
    assert_eq!(report.get("state"), Some(&json!("work")));
    let next = step(&mut simulation, r#"{"tool": "Edit", "input": {}}"#);
    assert_eq!(next.get("state"), Some(&json!("check")));
    let log = json!(["CallEnded", "InterruptRaised", "CallDenied"]);
    assert_eq!(next.get("log"), Some(&log));
}

#[test]
fn the_outcome_of_a_write_carries_the_notice() {
    let mut simulation = simulation();
    simulation
        .step(r#"{"tool": "Edit", "input": {"file_path": "db/1.sql", "old_string": "a", "new_string": "b"}}"#)
        .unwrap();
    let answer = simulation.step(r#"{"result": {"ok": true}}"#).unwrap();
    assert_eq!(
        answer.message,
        "`db/1.sql` matches the interrupt `db`: the run moved from `work` to `check`. \
         Tools: Read. Transitions: OK -> back to work."
    );
}

#[test]
fn a_bad_line_is_named_and_changes_nothing() {
    let mut simulation = simulation();
    simulation.step(r#"{"state": {}}"#).unwrap();
    simulation.skip();
    let error = simulation.step(r#"{"tol": "Read"}"#).unwrap_err();
    assert_eq!(error.line, 3);
    assert!(
        error.to_string().starts_with("line 3: unknown key `tol`"),
        "{error}"
    );
    let error = simulation
        .step(r#"{"tool": "Read", "input": {}, "client": "notepad"}"#)
        .unwrap_err();
    assert!(
        error.to_string().contains("unknown client `notepad`"),
        "{error}"
    );
}

#[test]
fn time_only_passes_when_told() {
    let machine: Machine = serde_json::from_value(json!({
        "id": "w", "initial": "nap",
        "states": {
            "nap": {"activity": {"wait": {"wait_ms": 90_000}}, "on": {"done": to("end")}},
            "end": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap();
    let mut simulation = Simulation::new(machine, Scenario::default());
    let mut status = |line: &str| {
        let answer = simulation.step(line).unwrap();
        (answer.report.status.as_str(), answer.report.effects.len())
    };
    assert_eq!(status(r#"{"state": {}}"#), ("waiting", 1));
    assert_eq!(status(r#"{"advance": "1m29s"}"#), ("waiting", 1));
    assert_eq!(status(r#"{"advance": "1s"}"#), ("completed", 0));
}
