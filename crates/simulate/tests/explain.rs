//! What `explain` says of shell lines: the facts, the verdict, the rule.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::machine::Machine;
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Setting, explain};
use serde_json::json;

const WORKFLOW: &str = r"
id: w
initial: reads
states:
  reads:
    allowed_tools: [Read, Grep, Glob, Bash]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: tests}
  tests:
    allowed_tools: [Read, Bash]
    allowed_commands: [pytest, cargo test, npm test]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: writes}
  writes:
    allowed_tools: [Read, Edit, Write, Bash]
    blocked_env: [PROD_DB_URL]
    on: {NEXT: {invoke: sub, on_complete: end, on_fail: end}}
  end: {type: final}
machines:
  sub:
    initial: inner
    states:
      inner: {allowed_tools: [Bash], on: {NEXT: over}}
      over: {type: final}
";

fn machine() -> Machine {
    load(&Source::new("w.yaml", WORKFLOW), None, &NoWorkflows)
        .unwrap()
        .machine
}

#[test]
fn every_line_of_the_table_is_told_what_it_says() {
    let machine = machine();
    let letter = |state: &str, line: &str| {
        let told = explain(&machine, state, line, &Setting::default()).unwrap();
        match told.code.map(|code| code.as_str()) {
            None => "+",
            Some("shell_unreadable") => "U",
            Some("shell_write") => "S",
            Some("command_not_allowed") => "C",
            Some("env_blocked") => "E",
            Some("protected") => "P",
            Some(other) => other,
        }
    };
    let mut wrong = Vec::new();
    let table = include_str!("data/shell_verdicts.txt");
    let rows = table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# ") && *row != "#");
    for row in rows {
        let (wanted, line) = row.split_once("  ").unwrap();
        let line = line.replace('⏎', "\n");
        let told = ["reads", "tests", "writes"].map(|state| letter(state, &line));
        if told.join(" ") != wanted {
            wrong.push(format!("{row}   is told: {}", told.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_facts_come_in_the_shape_of_the_contract() {
    let told = |state: &str, line: &str| {
        let told = explain(&machine(), state, line, &Setting::default()).unwrap();
        serde_json::to_value(told).unwrap()
    };
    let answer = told("writes", "npm test > out.txt && cat \"$x\" src/a.rs");
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    let order = [
        "verdict",
        "code",
        "message",
        "commands",
        "writes",
        "reads",
        "unreadable",
    ];
    assert_eq!(keys, order);
    let part = |key: &str| answer.get(key).unwrap().clone();
    assert_eq!(part("verdict"), json!("allow"));
    assert_eq!(part("code"), json!(null));
    assert_eq!(part("writes"), json!(["out.txt"]));
    assert_eq!(part("unreadable"), json!(null));
    assert_eq!(
        part("commands").get(0),
        Some(&json!(["npm", "test"])),
        "{answer}"
    );
    let unreadable = told("reads", "echo 'open");
    assert!(unreadable.get("unreadable").unwrap().is_string());
    assert_eq!(unreadable.get("code"), Some(&json!("shell_unreadable")));
}

#[test]
fn every_kind_of_state_can_be_asked() {
    let code = |state: &str| {
        explain(&machine(), state, "rm -rf build", &Setting::default())
            .map(|told| told.code.map(|code| code.as_str()))
            .map_err(|error| error.to_string())
    };
    assert_eq!(code("end"), Ok(None));
    assert_eq!(code("sub/inner"), Ok(Some("shell_write")));
    assert_eq!(code("writes/sub/inner"), Ok(Some("shell_write")));
    assert_eq!(
        code("nowhere"),
        Err("`w` has no state `nowhere`; it has reads, tests, writes, end".to_owned())
    );
}
