//! The output of stages, and of siblings that run at once.

use std::sync::Barrier;

use interlock_testkit::provider::{Reply, Script, call, text};
use serde_json::json;

use crate::stages::place::{Place, RUN_UNATTENDED};

const FORK: &str = "id: flow
settings: { parallelStageCap: 2 }
stages:
  Begin:
    body: 'Begin ${ctx.task}'
    allowedTools: []
    completionTool: submit
    completionSchema: {}
    turnCap: 2
    next: { parallel: [Good, Bad], join: Review }
  Good:
    body: good one
    allowedTools: [Read]
    completionTool: submit
    completionSchema: {}
    turnCap: 3
    next: Review
  Bad:
    body: bad one
    allowedTools: []
    completionTool: submit
    completionSchema: {}
    turnCap: 1
    next: Review
  Review:
    body: review
    allowedTools: []
    completionTool: submit
    completionSchema: {}
    turnCap: 2
    next: end
";

/// Answers each of the two siblings with its function, and the stage with a submission.
fn script(bad: fn() -> Reply, good: fn() -> Reply) -> Script {
    Script::new(move |asked| {
        let body = String::from_utf8_lossy(&asked.bytes).into_owned();
        if body.contains("good one") {
            good()
        } else if body.contains("bad one") {
            bad()
        } else {
            Reply::say(vec![text("I am on it."), call("submit", json!({}))])
        }
    })
}

fn submits() -> Reply {
    Reply::say(vec![call("submit", json!({}))])
}

#[test]
fn a_failing_sibling_cancels_the_other_which_records_its_end() {
    static BOTH_ARE_ASKED: Barrier = Barrier::new(2);
    let place = Place::new(
        "anthropic",
        FORK,
        script(
            || {
                BOTH_ARE_ASKED.wait();
                Reply::say(vec![text("no")])
            },
            || {
                BOTH_ARE_ASKED.wait();
                Reply::say(vec![text("for a long time I say nothing but this")]).silent_at(200)
            },
        ),
    );
    let said = place.call(&["run", "flow", "it", "--headless"]).ended(1);
    assert!(
        said.err.contains("sibling_failed") || said.err.contains("Bad"),
        "{said:?}"
    );
    let ends: Vec<(String, String)> = place
        .events()
        .iter()
        .filter(|event| event["event"] == "StageExited")
        .map(|event| {
            let word = |key: &str| event[key].as_str().unwrap().to_owned();
            (word("stage"), word("outcome"))
        })
        .collect();
    let end = |stage: &str, outcome: &str| (stage.to_owned(), outcome.to_owned());
    assert_eq!(
        ends,
        [
            end("Begin", "ok"),
            end("Bad", "cap_hit"),
            end("Good", "cancelled")
        ]
    );
}

#[test]
fn siblings_that_succeed_are_joined_in_the_order_written() {
    let place = Place::new("openai", FORK, script(submits, submits));
    let said = place.call(&["run", "flow", "it", "--headless"]).ended(0);
    for words in ["I am on it.", "ok after 1 message, 14 tokens in"] {
        assert!(said.err.contains(words), "{said:?}");
    }
    let upstream = place.status()["context"]["upstream"].clone();
    let names: Vec<&String> = upstream.as_object().unwrap().keys().collect();
    assert_eq!(names, ["Begin", "Good", "Bad", "Review"]);
}

#[test]
fn who_waits_is_told_what_for() {
    let write = call("Write", json!({"file_path": "x", "content": "x"}));
    let flow = FORK.replace("allowedTools: []", "allowedTools: [Read]");
    let place = Place::new("anthropic", &flow, Script::turns(vec![vec![write]]));
    place
        .call(&RUN_UNATTENDED)
        .ended(75)
        .says(&["interlock approve one a", "`Write`"]);
}
