//! Interruptions by a person or by a crash, at places that a test can fix: how the run resumes, and what is left
//! behind.

use std::process::{Child, Command, Stdio};

use interlock_testkit::{
    processes,
    provider::{Reply, Script, call, text},
};
use serde_json::{Value, json};

use crate::stages::place::{Place, wait_until};

const FLOW: &str = "id: flow
stages:
  Work:
    body: 'Do ${ctx.task}'
    allowedTools: [Read, Bash]
    completionTool: submit
    completionSchema: {}
    turnCap: 6
    next: end
";

fn read() -> interlock_testkit::provider::Say {
    call("Read", json!({"file_path": "src/auth.rs"}))
}

fn write() -> interlock_testkit::provider::Say {
    call("Write", json!({"file_path": "new", "content": "x"}))
}

fn submit() -> Reply {
    Reply::say(vec![call("submit", json!({}))])
}

fn begun(place: &Place, ask: &[&str]) -> Child {
    let mut command = place.persons(&[&["run", "flow", "it", "-n", "one"], ask].concat());
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn killed(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Sends the signal of Ctrl-C; returns the exit code and the standard error.
fn interrupted(child: Child) -> (Option<i32>, String) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn is_asked(place: &Place) -> bool {
    let said = place.call(&["status", "one", "--json"]);
    let status: Value = serde_json::from_str(&said.out).unwrap_or_default();
    status["status"] == "awaiting_approval"
}

#[test]
fn killed_between_an_answer_and_its_tool_the_answer_stands() {
    let script = Script::replies(vec![Reply::say(vec![read(), write()]), submit()]);
    let place = Place::new("anthropic", FLOW, script);
    let child = begun(&place, &["--ask", "remote"]);
    wait_until("the request", || is_asked(&place));
    killed(child);
    // The request is pending again for the very same call.
    let standing = place.by_person(&["resume", "one", "--ask", "remote", "--no-wait"]);
    let standing = standing.ended(75).says(&["interlock approve one"]);
    assert!(!standing.err.contains("cut off"), "{standing:?}");
    // A yes while no runner is there holds for that very call.
    place.by_person(&["approve", "one"]).ended(0);
    assert_eq!(place.provider.asked().len(), 1);
    place
        .by_person(&["resume", "one", "--ask", "remote", "--no-wait"])
        .ended(0);
    assert_eq!(place.provider.asked().len(), 2);
    assert_eq!(place.room.read("new").as_deref(), Some("x"));
    for (event, count) in [
        ("GrantRequested", 1),
        ("GrantConsumed", 1),
        ("ModelResponded", 2),
        ("ToolEnded", 2),
    ] {
        assert_eq!(place.count(event), count, "{event}");
    }
}

#[test]
fn killed_between_a_tool_and_the_next_request_the_tool_is_not_run_again() {
    let busy = json!({"error": {"message": "busy"}});
    let later = Reply::status(503, &busy).with_header("retry-after", "50");
    let line = call("Bash", json!({"command": "ls"}));
    let script = Script::replies(vec![Reply::say(vec![line]), later, submit()]);
    let place = Place::new("openai", FLOW, script);
    let child = begun(&place, &["--headless"]);
    wait_until("the second request", || place.provider.asked().len() == 2);
    killed(child);
    place.by_person(&["resume", "one", "--headless"]).ended(0);
    let asked = place.provider.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1].bytes, asked[2].bytes);
    for (event, count) in [("ModelCalled", 2), ("ToolAllowed", 1), ("ToolEnded", 1)] {
        assert_eq!(place.count(event), count, "{event}");
    }
}

/// Resumes a cancelled run until its end.
fn goes_on(place: &Place) {
    assert_eq!(place.status()["status"], "cancelled");
    place.by_person(&["resume", "one", "--headless"]).ended(0);
    assert_eq!(place.status()["status"], "completed");
}

#[test]
fn an_interrupt_while_a_model_speaks_cancels_the_run() {
    let long = Reply::say(vec![text("I think about it for a long time")]).silent_at(300);
    let script = Script::replies(vec![Reply::say(vec![read()]), long, submit()]);
    let place = Place::new("anthropic", FLOW, script);
    let child = begun(&place, &["--headless"]);
    wait_until("the second call", || place.provider.asked().len() == 2);
    let (code, said) = interrupted(child);
    assert_eq!(code, Some(130), "{said}");
    let events = place.events();
    let exit = events.iter().rfind(|event| event["event"] == "StageExited");
    assert_eq!(exit.unwrap()["outcome"], "cancelled");
    goes_on(&place);
}

#[test]
fn an_interrupt_ends_the_line_of_a_stage_and_all_it_started() {
    let word = format!("8{}.25", std::process::id());
    let line = call(
        "Bash",
        json!({"command": format!("sleep {word} & sleep {word}")}),
    );
    let script = Script::replies(vec![Reply::say(vec![line]), submit()]);
    let place = Place::new("openai", FLOW, script);
    let child = begun(&place, &["--headless"]);
    let sleeping = || {
        let all = processes::with_word(&word).into_iter();
        let is_sleep = |id: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            name.trim() == "sleep"
        };
        all.filter(is_sleep).count()
    };
    wait_until("both", || sleeping() == 2);
    let (code, said) = interrupted(child);
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(sleeping(), 0, "{said}");
    goes_on(&place);
}

#[test]
fn an_interrupt_while_a_person_is_asked_withdraws_the_request() {
    let script = Script::replies(vec![Reply::say(vec![write()]), submit()]);
    let place = Place::new("anthropic", FLOW, script);
    let child = begun(&place, &["--ask", "remote"]);
    wait_until("the request", || is_asked(&place));
    let (code, said) = interrupted(child);
    assert_eq!(code, Some(130), "{said}");
    place.by_person(&["approve", "one"]).ended(1);
    goes_on(&place);
    assert!(place.room.read("new").is_none());
    assert_eq!(place.count("GrantIssued"), 0);
}
