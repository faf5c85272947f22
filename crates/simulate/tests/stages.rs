//! Model stages, line by line, on machines that no format produced.

use interlock_core::{
    event::{About, Event},
    machine::Machine,
};
use interlock_simulate::{OutputLine, Scenario, Simulation};
use serde_json::{Value, json};

/// Returns a machine in which Plan may only read and Execute may write, with a fork of two tests; all return an object.
fn machine() -> Machine {
    let stage = |body: &str, tool: &str, schema: Value| {
        json!({"stage": {
            "body": [{"plain": body}],
            "ending": {"tool": {"name": tool, "schema": schema}},
            "turns_max": 3,
            "timeout_ms": 1_800_000,
        }})
    };
    let to =
        |state: &str| json!({"branched": false, "transitions": [{"target": {"state": state}}]});
    serde_json::from_value(json!({
        "id": "m",
        "initial": "Plan",
        "durable": true,
        "limits": interlock_core::machine::Limits::default(),
        "stages": {"grant_timeout_ms": 60000},
        "states": {
            "Plan": {
                "activity": stage("plan", "submit_plan", json!({"type": "object", "required": ["steps"]})),
                "policy": {"allowed_tools": ["Read", "Grep"]},
                "retry": {"attempts": 2, "wait_ms": 1000, "backoff": "2", "wait_max_ms": 60000},
                "on": {"done": to("Work"), "CAP": to("failed")},
            },
            "Work": {
                "activity": {"parallel": {
                    "over": {"branches": {
                        "Test": {"initial": "Test", "terminal": "tested"},
                        "Lint": {"initial": "Lint", "terminal": "linted"},
                    }},
                    "join": "fail_fast",
                    "merge": "captured",
                    "fails_as": "sibling_failed",
                }},
                "on": {"done": to("end")},
            },
            "Test": {
                "activity": stage("test", "submit_test", json!({})),
                "policy": {"allowed_tools": ["Bash"], "allowed_commands": [{"text": "cargo test", "words": ["cargo", "test"]}]},
                "on": {"done": to("tested")},
            },
            "tested": {"activity": {"final": {"outcome": "success"}}},
            "Lint": {
                "activity": stage("lint", "submit_lint", json!({})),
                "on": {"done": to("linted")},
            },
            "linted": {"activity": {"final": {"outcome": "success"}}},
            "end": {"activity": {"final": {"outcome": "success"}}},
            "failed": {"activity": {"final": {"outcome": "failure"}}},
        },
    }))
    .unwrap()
}

struct Play(Simulation);

impl Play {
    fn say(&mut self, line: Value) -> Value {
        let line: OutputLine = self.0.step(&line.to_string()).unwrap();
        serde_json::to_value(&line).unwrap()
    }
}

fn play() -> Play {
    Play(Simulation::new(machine().seal(), Scenario::default()))
}

#[test]
fn calls_are_judged_in_order_and_a_payload_leads_on() {
    let mut play = play();
    let line = play.say(json!({"message": [
        {"tool": "Read", "input": {"file_path": "a.rs"}},
        {"tool": "Nope", "input": {}},
        {"tool": "Edit", "input": {"file_path": "a.rs", "old_string": "a", "new_string": "b"}},
        {"tool": "submit_plan", "input": {"steps": []}},
    ]}));
    assert_eq!(line["calls"][0]["verdict"], "allow", "{line}");
    assert_eq!(line["calls"][1]["code"], "unknown_tool", "{line}");
    assert_eq!(line["calls"][2]["verdict"], "ask", "{line}");
    assert_eq!(line["status"], "awaiting_approval", "{line}");
    let line = play.say(json!({"reject": {"by": "ana", "note": "not yet"}}));
    assert_eq!(line["calls"][0]["code"], "grant_denied", "{line}");
    assert_eq!(
        line["calls"][0]["message"], "denied: a person said no: not yet",
        "{line}"
    );
    assert_eq!(line["calls"][1]["verdict"], "allow", "{line}");
    assert_eq!(
        line["state"],
        json!(["Work/Test/Test", "Work/Lint/Lint"]),
        "{line}"
    );
    assert_eq!(
        line["context"]["upstream"],
        json!({"Plan": {"steps": []}}),
        "{line}"
    );
}

#[test]
fn a_grant_is_used_up_by_just_its_call() {
    let mut play = play();
    let edit = json!({"message": [{"tool": "Edit", "input": {"file_path": "a.rs", "old_string": "a", "new_string": "b"}}]});
    play.say(edit.clone());
    let line = play.say(json!({"approve": {"by": "ana"}}));
    let log = line["log"].clone();
    assert_eq!(
        log,
        json!(["GrantIssued", "GrantConsumed", "ToolAllowed", "ToolStarted"]),
        "{line}"
    );
    let line = play.say(edit);
    assert_eq!(line["calls"][0]["verdict"], "ask", "{line}");
}

#[test]
fn the_cap_ends_an_attempt_and_another_follows() {
    let mut play = play();
    for _ in 0..2 {
        play.say(json!({"message": [{"tool": "Read", "input": {"file_path": "a"}}]}));
    }
    let line = play.say(json!({"message": [{"tool": "submit_plan", "input": {"steps": 1, "x": 1}}, {"tool": "submit_plan", "input": {}}]}));
    assert_eq!(
        line["state"],
        json!(["Work/Test/Test", "Work/Lint/Lint"]),
        "{line}"
    );
    let mut play = self::play();
    for _ in 0..3 {
        play.say(json!({"message": [{"tool": "Read", "input": {"file_path": "a"}}]}));
    }
    // The last call's outcome comes with the next line, and so does the limit.
    let line = play.say(json!({"advance": "1s"}));
    assert!(
        line["log"]
            .as_array()
            .unwrap()
            .contains(&json!("AttemptFailed")),
        "{line}"
    );
    let line = play.say(json!({"advance": "1s"}));
    assert_eq!(line["effects"][0]["attempt"], 2, "{line}");
    for _ in 0..3 {
        play.say(json!({"message": [{"tool": "Read", "input": {"file_path": "a"}}]}));
    }
    let line = play.say(json!({"state": {}}));
    assert_eq!(line["status"], "running", "{line}");
    let line = play.say(json!({"advance": "1s"}));
    assert_eq!(line["status"], "failed", "{line}");
}

#[test]
fn a_message_without_calls_is_reminded_once() {
    let mut play = play();
    let line = play.say(json!({"message": []}));
    assert_eq!(line["status"], "running", "{line}");
    let line = play.say(json!({"message": []}));
    assert!(
        line["log"]
            .as_array()
            .unwrap()
            .contains(&json!("AttemptFailed")),
        "{line}"
    );
}

#[test]
fn branches_see_what_was_before_and_join_in_the_order_written() {
    let mut play = play();
    play.say(json!({"message": [{"tool": "submit_plan", "input": {"steps": [1]}}]}));
    let line = play.say(
        json!({"message": [{"tool": "submit_lint", "input": {"warnings": 0}}], "branch": "Lint"}),
    );
    assert_eq!(line["state"], json!("Work/Test/Test"), "{line}");
    let line = play.say(json!({"tool": "Bash", "input": {"command": "cargo test"}}));
    assert_eq!(line["verdict"], "allow", "{line}");
    let line = play.say(json!({"tool": "Bash", "input": {"command": "rm -rf src"}}));
    assert_eq!(line["verdict"], "deny", "{line}");
    let line = play.say(json!({"activity": {"done": {"passed": true}}}));
    assert_eq!(line["status"], "completed", "{line}");
    let upstream =
        json!({"Plan": {"steps": [1]}, "Test": {"passed": true}, "Lint": {"warnings": 0}});
    assert_eq!(
        line["context"]["upstream"].to_string(),
        upstream.to_string(),
        "{line}"
    );
}

#[test]
fn a_failed_sibling_cancels_the_other_and_fails_the_run() {
    let mut play = play();
    play.say(json!({"message": [{"tool": "submit_plan", "input": {"steps": [1]}}]}));
    let line = play.say(
        json!({"activity": {"path": "Test", "error": {"code": "model_error", "message": "gone"}}}),
    );
    assert_eq!(line["status"], "failed", "{line}");
    let exits = line["log"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|name| *name == "StageExited")
        .count();
    assert_eq!(exits, 2, "{line}");
}

#[test]
fn time_ends_a_request_and_an_attempt_but_not_while_a_person_is_asked() {
    let mut play = play();
    let edit = json!({"message": [{"tool": "Edit", "input": {"file_path": "a.rs", "old_string": "a", "new_string": "b"}}]});
    play.say(edit);
    let line = play.say(json!({"advance": "59s"}));
    assert_eq!(line["status"], "awaiting_approval", "{line}");
    let line = play.say(json!({"advance": "1s"}));
    assert_eq!(
        line["log"],
        json!(["GrantDenied", "ToolDenied", "TurnEnded"]),
        "{line}"
    );
    let line = play.say(json!({"advance": "1799s"}));
    assert_eq!(
        line["log"],
        json!([]),
        "the minute of waiting does not count: {line}"
    );
    let line = play.say(json!({"advance": "1s"}));
    assert!(
        line["log"]
            .as_array()
            .unwrap()
            .contains(&json!("AttemptFailed")),
        "{line}"
    );
}

#[test]
fn a_command_has_a_key_although_nobody_knows_what_it_does() {
    let mut machine = machine();
    let rules = machine.stages.get_or_insert_default();
    rules.mode = Some(interlock_core::machine::Mode::Allowlist);
    rules.allowlist = vec!["Bash:npm test".to_owned(), "Bash:git *".to_owned()];
    machine.initial = interlock_core::names::StateName::new("Lint");
    let machine = machine.seal();
    for (line, verdict) in [
        ("npm test", "allow"),
        ("npm test -- --watch && git status", "allow"),
        ("npm run x", "deny"),
        ("npm test; $X", "deny"),
        ("git status | tee a", "deny"),
    ] {
        let mut play = Play(Simulation::new(machine.clone(), Scenario::default()));
        let said = play.say(json!({"tool": "Bash", "input": {"command": line}}));
        assert_eq!(said["verdict"], verdict, "{line}: {said}");
    }
}

#[test]
fn a_refusal_of_a_call_says_what_it_is_about_and_by_whom_it_is() {
    let mut play = play();
    play.say(json!({"message": [
        {"tool": "Read", "input": {"file_path": "a\0b"}},
        {"tool": "Write", "input": {"file_path": "/project/.git/config", "content": ""}},
        {"tool": "Edit", "input": {"file_path": "a.rs", "old_string": "a", "new_string": "b"}},
    ]}));
    let refused: Vec<String> = play
        .0
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::ToolDenied {
                source, refusal, ..
            } => Some(format!(
                "{source}: {}: {}",
                refusal.code.as_str(),
                refusal.message
            )),
            Event::RequestOpened {
                about: About::Call(grant),
                ..
            } => Some(grant.refusal.message.clone()),
            _ => None,
        })
        .collect();
    let wanted = [
        "stage: invalid_arguments: the arguments of `Read` cannot be judged: the path contains a NUL character",
        "policy: protected: `/project/.git/config` (version control that runs code) is protected: a guarded agent may not touch it",
        "`Edit` is not allowed in `Plan`",
    ];
    assert_eq!(refused, wanted);
}

#[test]
fn what_a_stage_ends_with_is_sent_by_nobody() {
    let to =
        |state: &str| json!({"branched": false, "transitions": [{"target": {"state": state}}]});
    let own = ["done", "error", "CAP", "FAIL", "SKIP", "ERROR"];
    for safe_next in [false, true] {
        let mut told = json!(machine());
        for event in own {
            told["states"]["Plan"]["on"][event] = to("failed");
        }
        told["states"]["Plan"]["on"]["OTHER"] = to("failed");
        if safe_next {
            told["states"]["Plan"]["safe_next"] = json!("failed");
        }
        let machine: Machine = serde_json::from_value(told).unwrap();
        for event in own {
            let mut play = Play(Simulation::new(machine.clone().seal(), Scenario::default()));
            let line = play.say(json!({"transition": event}));
            assert_eq!(line["ok"], false, "{event}: {line}");
            assert_eq!(line["state"], "Plan", "{event}: {line}");
        }
        let mut play = Play(Simulation::new(machine.seal(), Scenario::default()));
        let line = play.say(json!({"transition": "OTHER"}));
        assert_eq!(line["ok"], true, "{line}");
    }
}
