//! Kills at any moment: no recorded answer is requested again.

use std::{
    collections::BTreeMap,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use interlock_testkit::provider::{Reply, Say, Script, call};
use serde_json::json;

use crate::stages::place::Place;

const FLOW: &str = "id: flow
stages:
  Work:
    body: 'work on ${ctx.task}'
    allowedTools: [Read, Write, Bash]
    allowedCommands: [echo]
    completionTool: submit
    completionSchema: {}
    turnCap: 6
    next: Tell
  Tell:
    body: tell what was done
    allowedTools: [Read]
    completionTool: submit
    completionSchema: {}
    turnCap: 3
    next: end
";
/// Number of the model's messages until the end.
const MESSAGES: usize = 6;
/// Number of parts of a run's time; a kill comes after each but the last.
const POINTS: u32 = 40;

fn said(stage: &str, turn: usize) -> Vec<Say> {
    match (stage, turn) {
        ("work", 0) => vec![call("Read", json!({"file_path": "src/auth.rs"}))],
        ("work", 1) => vec![call("Bash", json!({"command": "echo x >> runs"}))],
        ("work", 2) => vec![call("Write", json!({"file_path": "new", "content": "y"}))],
        ("tell", 0) => vec![
            call("Read", json!({"file_path": "new"})),
            call("Read", json!({"file_path": "runs"})),
        ],
        _ => vec![call("submit", json!({}))],
    }
}

fn script() -> Script {
    Script::new(|asked| {
        let is_work = String::from_utf8_lossy(&asked.bytes).contains("work on it");
        Reply::say(said(if is_work { "work" } else { "tell" }, asked.turn))
    })
}

fn begun(place: &Place) -> Child {
    let mut command = place.command(&["run", "flow", "it", "-n", "one", "--headless"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Runs the pipeline for `time`, then kills it; returns `false` if it ended before.
fn killed_after(place: &Place, time: Duration) -> bool {
    let began = Instant::now();
    let mut child = begun(place);
    while began.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// Asserts that requests for the same message were the same, byte for byte.
fn same_requests(place: &Place, at: u32) {
    let mut known: BTreeMap<(bool, usize), Vec<u8>> = BTreeMap::new();
    for asked in place.provider.asked() {
        let is_work = String::from_utf8_lossy(&asked.bytes).contains("work on it");
        let first = known
            .entry((is_work, asked.turn))
            .or_insert_with(|| asked.bytes.clone());
        assert_eq!(*first, asked.bytes, "point {at}");
    }
    assert_eq!(known.len(), MESSAGES, "point {at}");
}

#[test]
fn killed_anywhere_no_answer_in_the_log_is_asked_for_again() {
    let undisturbed = Place::new("anthropic", FLOW, script());
    let began = Instant::now();
    assert!(begun(&undisturbed).wait().unwrap().success());
    let took = began.elapsed();
    let mut cut = 0;
    for at in 1..POINTS {
        let place = Place::new("anthropic", FLOW, script());
        if !killed_after(&place, took * at / POINTS) {
            continue;
        }
        // Before its first event the run does not exist.
        if place.call(&["log", "one", "--json"]).code != Some(0) {
            continue;
        }
        if place.status()["status"] == "completed" {
            continue;
        }
        cut += 1;
        let (asked, answered) = (place.provider.asked().len(), place.count("ModelResponded"));
        let mut again = 0;
        let mut said = place.by_person(&["resume", "one", "--headless"]);
        // A line or a write was cut off: only a person can say what it did.
        while said.code == Some(75) {
            assert!(said.err.contains("may have written"), "{said:?}");
            again += 1;
            said = place.by_person(&["resume", "one", "--headless", "--again"]);
            assert!(again < 3, "point {at}: {said:?}");
        }
        said.ended(0);
        let missing = MESSAGES - answered;
        assert_eq!(
            place.provider.asked().len() - asked,
            missing,
            "point {at}: {answered} of {MESSAGES} answers were in the log"
        );
        same_requests(&place, at);
        assert_eq!(place.count("ModelResponded"), MESSAGES, "point {at}");
        let runs = place.room.read("runs").unwrap().lines().count();
        assert!((1..=1 + again).contains(&runs), "point {at}: {runs} runs");
        assert_eq!(place.room.read("new").as_deref(), Some("y"));
    }
    assert!(cut > 0, "no run was cut off");
}
