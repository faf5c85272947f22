//! Stages of a native workflow, which run like those of a pipeline.

use std::process::Stdio;

use interlock_testkit::provider::{Reply, Script, call};
use serde_json::json;

use crate::stages::place::{Place, wait_until};

const NATIVE: &str = "id: flow
initial: plan
context: { task: null, deep: false }
states:
  plan:
    type: stage
    body: 'Plan ${ctx.task}'
    allowed_tools: [Read]
    turn_cap: 3
    completion_tool: submit_plan
    completion_schema: { type: object, required: [steps] }
    on: { done: execute, ERROR: failed }
  execute:
    type: stage
    body: 'Carry out ${ctx.upstream.plan.steps}'
    turn_cap: 3
    completion_tool: submit
    completion_schema: { type: object }
    on: { done: done, ERROR: failed }
  done: { type: final }
  failed: { type: final, outcome: failure }
";

/// A workflow in which an agent works between the stages.
const HOLDS_AN_AGENT: &str = "id: flow
initial: plan
states:
  plan:
    type: stage
    body: 'Plan it'
    allowed_tools: [Read]
    turn_cap: 3
    completion_tool: submit_plan
    completion_schema: { type: object, required: [steps] }
    on: { done: implement, ERROR: failed }
  implement: { allowed_tools: [Edit], on: { READY: review } }
  review:
    type: stage
    body: 'Review ${ctx.upstream.plan.steps}'
    allowed_tools: []
    turn_cap: 3
    completion_tool: submit
    completion_schema: { type: object }
    on: { done: done, ERROR: failed }
  done: { type: final }
  failed: { type: final, outcome: failure }
";

fn script() -> Script {
    Script::replies(vec![
        Reply::say(vec![call("submit_plan", json!({"steps": ["one"]}))]),
        Reply::say(vec![call(
            "Write",
            json!({"file_path": "x", "content": "x"}),
        )]),
        Reply::say(vec![call("submit", json!({}))]),
    ])
}

#[test]
fn a_native_workflow_of_stages_is_carried_out() {
    let place = Place::new("anthropic", NATIVE, script());
    place
        .call(&["run", "flow", "it", "--mode", "yolo", "--headless"])
        .ended(0);
    let sent = place.sent();
    for words in ["Plan it", "Carry out [\\\"one\\\"]"] {
        assert!(sent.contains(words), "no `{words}` in {sent}");
    }
    assert_eq!(place.room.read("x").as_deref(), Some("x"), "by its mode");
    let status = place.status();
    assert_eq!(status["status"], "completed");
    assert_eq!(
        status["context"]["upstream"]["plan"]["steps"],
        json!(["one"])
    );
    place
        .call(&["run", "flow", "it", "--var", "deep=perhaps"])
        .ended(2)
        .says(&["`deep`"]);
    place
        .call(&["run", "flow", "it", "--var", "dep=true"])
        .ended(2)
        .says(&["did you mean `deep`?"]);
}

#[test]
fn it_goes_on_after_a_crash_and_holds_no_agent() {
    let place = Place::new(
        "openai",
        NATIVE,
        Script::replies(vec![
            Reply::say(vec![call("submit_plan", json!({"steps": []}))]),
            Reply::say(vec![call("submit", json!({}))]).silent_at(10),
            Reply::say(vec![call("submit", json!({}))]),
        ]),
    );
    place
        .call(&["start", "flow"])
        .ended(1)
        .says(&["runs itself"]);
    let mut command = place.command(&["run", "flow", "it", "-n", "one", "--headless"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the second call", || place.provider.asked().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    place.by_person(&["resume", "one", "--headless"]).ended(0);
    assert_eq!(
        place.provider.asked().len(),
        3,
        "the plan is not made again"
    );
}

#[test]
fn where_an_agent_is_held_too_each_stage_is_carried_out_when_the_run_stands_in_it() {
    let place = Place::new(
        "anthropic",
        HOLDS_AN_AGENT,
        Script::replies(vec![
            Reply::say(vec![call("submit_plan", json!({"steps": ["one"]}))]),
            Reply::say(vec![call("submit", json!({}))]).silent_at(10),
            Reply::say(vec![call("submit", json!({}))]),
        ]),
    );
    place
        .call(&["run", "flow"])
        .ended(1)
        .says(&["`interlock start flow`", "`interlock resume`"]);
    let started = place.call(&["start", "flow"]).ended(0);
    assert!(started.out.contains("`interlock resume` runs it"));
    place
        .by_person(&["send", "done"])
        .ended(1)
        .says(&["`plan` is a model stage"]);
    place
        .by_person(&["resume", "--headless"])
        .ended(0)
        .says(&["stands in `implement`: its agent continues"]);
    place.by_person(&["send", "READY"]).ended(0);
    let mut command = place.persons(&["resume", "--headless"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the review", || place.provider.asked().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    place.by_person(&["resume", "--headless"]).ended(0);
    assert_eq!(place.status()["status"], "completed");
    assert_eq!(place.count("TransitionTaken"), 3);
    assert_eq!(place.provider.asked().len(), 3, "the plan is made once");
}

#[test]
fn resumed_for_the_next_session_the_run_waits_and_its_stage_is_not_carried_out() {
    let place = Place::new("anthropic", HOLDS_AN_AGENT, script());
    place.call(&["start", "flow"]).ended(0);
    place.by_person(&["pause"]).ended(0);
    place.by_person(&["resume", "--next"]).ended(0);
    assert_eq!(place.status()["status"], "running");
    assert!(place.provider.asked().is_empty());
    place.by_person(&["resume", "--headless"]).ended(0);
    assert_eq!(place.provider.asked().len(), 1, "the plan");
}
