//! `interlock convert` and `interlock schema`, by the built program.

use std::process::{Output, Stdio};

use interlock_testkit::room::Room;
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const NATIVE: &str = r#"{"id": "x", "initial": "a", "states": {
    "a": {"deny_env": ["TOKEN"], "allowed_tools": ["Read"], "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

const STEPS: &str = "start-at: a\nstates:\n  a:\n    tool: bash\n    arguments: {command: ls}\n";

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.json", NATIVE).unwrap();
    room.write("steps.yaml", STEPS).unwrap();
    room
}

fn call(room: &Room, arguments: &[&str]) -> Output {
    let mut command = room.command(INTERLOCK);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_native_file_is_written_in_the_syntax_that_is_wanted() {
    let room = room();
    let output = call(&room, &["convert", "flow.json", "-o", "flow.yaml"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let written = room.read("flow.yaml").unwrap();
    assert!(
        written.starts_with("id: x\ninitial: a\nstates:\n"),
        "{written}"
    );
    assert!(written.contains("blocked_env: [TOKEN]"), "{written}");
    assert!(call(&room, &["check", "flow.yaml"]).status.success());
    let printed = call(&room, &["convert", "flow.json"]);
    let value: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(value["states"]["a"]["blocked_env"][0], "TOKEN");
    let again = call(&room, &["convert", "flow.yaml", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (&again["ok"], &again["workflow"]),
        (&Value::Bool(true), &value)
    );
}

#[test]
fn what_cannot_be_said_is_listed_and_nothing_is_written() {
    let room = room();
    let output = call(
        &room,
        &["convert", "steps.yaml", "--to", "native", "-o", "out.yaml"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && room.read("out.yaml").is_none());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("steps.yaml:4:11"), "{said}");
    assert!(
        said.contains("was not converted: 1 thing in the way"),
        "{said}"
    );
    let output = call(&room, &["convert", "steps.yaml", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &said["diagnostics"][0];
    assert_eq!(
        (&found["line"], &found["column"]),
        (&Value::from(4), &Value::from(11))
    );
    assert_eq!(found["code"], "not_native");
    assert_eq!(
        call(&room, &["convert", "nobody.yaml"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_codemie_file_is_not_printed_as_a_native_one() {
    let room = room();
    let flow = "assistants: [{id: a, system_prompt: x}]\nstates: [{id: s, assistant_id: a, task: t, next: {state_id: end}}]\n";
    room.write("codemie.yaml", flow).unwrap();
    let output = call(&room, &["convert", "codemie.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("codemie.yaml:2:1"), "{said}");
    assert!(
        said.contains("a CodeMie file cannot be converted"),
        "{said}"
    );
}

#[test]
fn each_format_has_a_schema() {
    let room = room();
    let title = |arguments: &[&str]| {
        let output = call(&room, arguments);
        let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        schema["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title(&["schema"]), "Interlock workflow");
    assert_eq!(title(&["schema", "native"]), "Interlock workflow");
    assert_eq!(title(&["schema", "flowstate"]), "FlowState workflow");
    assert_eq!(call(&room, &["schema", "other"]).status.code(), Some(2));
}
