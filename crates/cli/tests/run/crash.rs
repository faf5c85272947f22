//! Runners that are killed, and the person who resumes their runs.

use std::fs;

use crate::run::place::{Place, begin, end, signal, told};

const FLOW: &str = "start-at: a
states:
  a: {tool: bash, arguments: {command: echo a >> order}, next: b}
  b:
    tool: bash
    on-crash: ask
    arguments: {command: 'echo b >> order; [ ! -e @begun ] || { echo x > @begun; sleep 600; }'}
    on-error: {4: d}
    next: c
  c: {tool: bash, arguments: {command: echo c >> order}}
  d: {tool: bash, arguments: {command: echo d >> order}}
";

/// Kills the runner of a run named `k` while its second state runs.
fn killed(on_crash: &str) -> Place {
    let place = Place::new();
    let pipe = place.pipe("begun");
    let flow = FLOW.replace("@begun", pipe.to_str().unwrap());
    place.flow(
        "cut",
        &flow.replace("on-crash: ask", &format!("on-crash: {on_crash}")),
    );
    let run = begin(place.command(&["run", "cut", "-n", "k"]));
    told(&pipe);
    signal(&run, "KILL");
    assert_eq!(end(run).code, None);
    fs::remove_file(pipe).unwrap();
    place
}

fn order(place: &Place) -> String {
    fs::read_to_string(place.file("k", "order")).unwrap()
}

#[test]
fn resume_means_again() {
    let place = killed("ask");
    let listed = place.call(&["list"]).ended(0).out;
    assert!(listed.contains("cut off"), "{listed}");
    place.by_person(&["resume", "k"]).ended(0);
    assert_eq!(order(&place), "a\nb\nb\nc\n");
}

#[test]
fn what_was_cut_off_may_count_as_failed() {
    let place = killed("ask");
    place
        .by_person(&["resume", "k", "--fail-with", "4"])
        .ended(0);
    assert_eq!(order(&place), "a\nb\nd\n");
    let place = killed("ask");
    place.by_person(&["resume", "k", "--failed"]).ended(1);
    assert_eq!(order(&place), "a\nb\n");
}

#[test]
fn what_was_cut_off_may_count_as_done() {
    let place = killed("ask");
    place.by_person(&["resume", "k", "--done", "x"]).ended(0);
    assert_eq!(order(&place), "a\nb\nc\n");
}

#[test]
fn the_rule_of_the_state_comes_first() {
    let place = killed("retry");
    place.by_person(&["resume", "k"]).ended(0);
    assert_eq!(order(&place), "a\nb\nb\nc\n");
    let place = killed("fail");
    place.by_person(&["resume", "k"]).ended(1);
    assert_eq!(order(&place), "a\nb\n");
}

#[test]
fn a_run_cut_off_can_be_cancelled() {
    let place = killed("ask");
    place.by_person(&["cancel", "k"]).ended(0);
    assert_eq!(place.status("k")["status"], "cancelled");
    assert_eq!(place.status("k")["runner"], serde_json::Value::Null);
    place.by_person(&["resume", "k"]).ended(0);
    assert_eq!(order(&place), "a\nb\nb\nc\n");
}
