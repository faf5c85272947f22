//! The trace on the book's page, step by step: the records at each boundary, and the model's requests.

use interlock_testkit::{
    provider::{Say, Script, call, text},
    terminal::Terminal,
};
use serde_json::{Value, json};

use crate::stages::place::{CODE_REVIEW, Place, golden};

/// Returns the model's messages on the page.
fn script() -> Script {
    Script::new(|asked| {
        let body = String::from_utf8_lossy(&asked.bytes).into_owned();
        let said = if body.contains("Plan one change") {
            plan(asked.turn)
        } else if body.contains("Carry out this plan") {
            execute(asked.turn)
        } else {
            let review = json!({"verdict": "approve", "findings": []});
            vec![call("submit_review", &review)]
        };
        interlock_testkit::provider::Reply::say(said)
    })
}

fn edit() -> Say {
    let edit = json!({
        "file_path": "src/auth.rs",
        "old_string": "token == \"open\"",
        "new_string": "!token.is_empty()",
    });
    call("Edit", &edit)
}

fn plan(turn: usize) -> Vec<Say> {
    match turn {
        0 => vec![text("I will change it."), edit()],
        1 => vec![call(
            "Grep",
            json!({"pattern": "token", "output_mode": "content"}),
        )],
        _ => {
            let plan = json!({
                "summary": "refactor auth",
                "steps": [{"file": "src/auth.rs", "change": "take any token"}],
            });
            vec![call("submit_plan", &plan)]
        }
    }
}

fn execute(turn: usize) -> Vec<Say> {
    match turn {
        0 => vec![call("Read", json!({"file_path": "src/auth.rs"}))],
        1 => vec![edit()],
        _ => vec![call(
            "submit_diff",
            json!({"files": ["src/auth.rs"], "diff": "one line"}),
        )],
    }
}

/// Returns the events of a run without the parts that change from run to run.
fn boundaries(place: &Place) -> String {
    let mut text = String::new();
    for event in place.events() {
        let mut event = event;
        forget(&mut event);
        text.push_str(&serde_json::to_string(&event).unwrap());
        text.push('\n');
    }
    let project = place.project().canonicalize().unwrap();
    text.replace(project.to_str().unwrap(), "PROJECT")
}

/// Removes times, ids and hashes.
fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for key in [
                "at", "at_ms", "ms", "run", "hash", "prev", "places", "by", "told",
            ] {
                fields.shift_remove(key);
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

fn check_end(place: &Place) {
    let file = place.room.read("src/auth.rs").unwrap();
    assert!(file.contains("!token.is_empty()"), "{file}");
    let status = place.status();
    assert_eq!(status["status"], "completed", "{status}");
}

#[test]
fn headless_the_trace_is_the_page_s() {
    for kind in ["anthropic", "openai"] {
        let place = Place::new(kind, CODE_REVIEW, script());
        let said = place.call(&["run", "flow", "refactor auth module", "--headless"]);
        said.ended(0);
        check_end(&place);
        golden(
            &format!("headless.{kind}.events.jsonl"),
            &boundaries(&place),
        );
        golden(&format!("headless.{kind}.sent.jsonl"), &place.sent());
    }
}

#[test]
fn at_a_terminal_a_person_denies_the_edit() {
    for kind in ["anthropic", "openai"] {
        let place = Place::new(kind, CODE_REVIEW, script());
        let command = place.command(&["run", "flow", "refactor auth module"]);
        let mut terminal = Terminal::start(&command, 40, 120).unwrap();
        let asked = terminal
            .wait_for("the question", |screen| {
                screen.contains("[y]es, [n]o, [d]efer > ")
            })
            .unwrap();
        assert!(asked.contains("`Plan` wants to call `Edit`"), "{asked}");
        assert!(asked.contains("src/auth.rs"), "{asked}");
        terminal.press("n read only\n").unwrap();
        terminal
            .wait_for("the review", |screen| screen.contains("Review"))
            .unwrap();
        assert!(terminal.end().unwrap().success());
        check_end(&place);
        golden(&format!("denied.{kind}.events.jsonl"), &boundaries(&place));
        golden(&format!("denied.{kind}.sent.jsonl"), &place.sent());
    }
}
