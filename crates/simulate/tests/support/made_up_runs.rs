//! A machine that uses most features, and lines for it.

use interlock_core::machine::Machine;
use proptest::prelude::*;
use serde_json::{Value, json};

fn to(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}}]})
}

fn asked(state: &str) -> Value {
    json!({"transitions": [{"target": {"state": state}, "approval": {}}]})
}

/// Returns a machine with nested forks, a call, approvals, limits and interrupts.
pub(crate) fn machine() -> Machine {
    let call = |on: Value| json!({"activity": {"call": {"machine": "sub", "input": {"n": 1}}}, "shown_as": "work", "on": on});
    let fork = |shown: &str, join: &str, branches: Value, on: Value| json!({"activity": {"parallel": {"over": {"branches": branches}, "join": join}}, "shown_as": shown, "on": on});
    serde_json::from_value(json!({
        "id": "w", "initial": "work", "context": {"n": 0},
        "guards": {"big": {"field": {"field": "n", "op": "gte", "value": 2}}},
        "interrupts": {
            "db": {"file_pattern": "db/**", "target": "check"},
            "doc": {"file_pattern": "**/*.md", "target": "check"},
        },
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Read", "Edit"], "iterations_max": 4, "files_max": 2,
                           "result_bytes_max": 50, "on_denied": "ask"},
                "on": {
                    "FORK": to("fork"), "CALL": to("call"), "ASK": asked("work"),
                    "BIG": {"branched": true, "transitions": [
                        {"target": {"state": "done"}, "guards": [{"named": "big"}], "approval": {}},
                        {"target": {"state": "work"}},
                    ]},
                },
            },
            "check": {"on": {"OK": {"transitions": [{"target": "return"}]}, "LEAVE": to("work"), "ASK": asked("check")}},
            "one": {"policy": {"iterations_max": 2}, "on": {"GO": to("end"), "FORK": to("inner"), "FAIL": to("failed"), "ASK": asked("end")}},
            "two": {"on": {"GO": to("end"), "FAIL": to("failed")}, "safe_next": "two"},
            "end": {"on": {"MORE": to("one")}},
            "done": {"activity": {"final": {"outcome": "success"}}},
            "failed": {"activity": {"final": {"outcome": "failure"}}},
            "fork": fork("work", "all", json!({"left": {"initial": "one", "terminal": "end"}, "right": {"initial": "two", "terminal": "end"}}),
                json!({"done": to("work"), "error": to("work")})),
            "inner": fork("one", "any", json!({"a": {"initial": "two", "terminal": "end"}, "b": {"initial": "two", "terminal": "end"}}),
                json!({"done": to("end")})),
            "call": call(json!({"done": to("work")})),
        },
        "machines": {"sub": {"id": "sub", "initial": "s", "states": {
            "s": {"on": {"GO": to("over"), "AGAIN": to("deeper"), "FAIL": to("lost")}},
            "deeper": {"activity": {"call": {"machine": "sub"}}, "shown_as": "s", "on": {"done": to("over"), "error": to("s")}},
            "over": {"activity": {"final": {"outcome": "success"}}},
            "lost": {"activity": {"final": {"outcome": "failure"}}},
        }}},
    }))
    .unwrap()
}

/// Returns lines of `simulate` for runs of that machine.
pub(crate) fn lines() -> impl Strategy<Value = Vec<String>> {
    let event = prop::sample::select(vec![
        "FORK", "CALL", "ASK", "BIG", "OK", "LEAVE", "GO", "FAIL", "AGAIN", "MORE", "done",
        "error", "NOPE",
    ]);
    let branch = prop::option::weighted(
        0.3,
        prop::sample::select(vec![
            "left", "right", "left/a", "left/b", "a", "sub", "nowhere",
        ]),
    );
    let path = prop::sample::select(vec![
        "a.py",
        "b.py",
        "c.py",
        "db/1.sql",
        "README.md",
        "../x",
    ]);
    let with = |mut line: Value, branch: Option<&str>| {
        if let (Some(branch), Some(line)) = (branch, line.as_object_mut()) {
            line.insert("branch".to_owned(), json!(branch));
        }
        line.to_string()
    };
    let line = prop_oneof![
        6 => (event, branch.clone(), 0..4).prop_map(move |(event, branch, n)| {
            with(json!({"transition": event, "data": {"n": n}}), branch)
        }),
        6 => (prop::sample::select(vec!["Read", "Edit", "Write", "Grep", "Task"]), path.clone(), branch)
            .prop_map(move |(tool, path, branch)| with(json!({"tool": tool, "input": {
                "file_path": path, "old_string": "x", "new_string": "y", "content": "z\n", "pattern": "p",
            }}), branch)),
        3 => (any::<bool>(), 0..40_i64, path).prop_map(|(ok, bytes, path)| {
            json!({"result": {"ok": ok, "bytes": bytes, "wrote": [path]}}).to_string()
        }),
        2 => Just(r#"{"approve": {"by": "ana", "data": {"n": 3}}}"#.to_owned()),
        1 => Just(r#"{"reject": {"by": "ana", "note": "no"}}"#.to_owned()),
        1 => Just(r#"{"pause": {}}"#.to_owned()),
        2 => Just(r#"{"resume": {}}"#.to_owned()),
        1 => Just(r#"{"activity": {"done": 1}}"#.to_owned()),
        1 => Just(r#"{"advance": "1m"}"#.to_owned()),
    ];
    prop::collection::vec(line, 1..60)
}
