//! The agent beside a person: it proposes calls to the hook of Claude Code, and performs the allowed ones.

use std::process::Output;

use interlock_testkit::{interlock::before_tool, room::Room};
use serde_json::{Value, json};

/// The default session of an agent.
const SESSION: &str = "4fc69d00-c3af-4ab0-915d-82c1c40d073c";

/// Makes one call: `Read a.py`, `Edit a.py OLD NEW`, `Write a.py TEXT`, `Bash npm test`. A refused call is not
/// performed.
pub(super) fn propose(room: &Room, call: &str, number: usize) -> Result<(), String> {
    let (tool, words) = call.split_once(' ').unwrap_or((call, ""));
    let id = format!("toolu_{number}");
    let mut told = before_tool(room, SESSION, &id, tool, &input(room, tool, words));
    let answer = hook(room, &told)?;
    let part = |name: &str| answer.pointer(&format!("/hookSpecificOutput/{name}"));
    if part("permissionDecision") == Some(&json!("deny")) {
        return Ok(());
    }
    let input = part("updatedInput").or(told.get("tool_input"));
    let input = input.cloned().unwrap_or_default();
    let exit = done(room, tool, &input)?;
    let event = match exit {
        0 => "PostToolUse",
        _ => "PostToolUseFailure",
    };
    if let Some(told) = told.as_object_mut() {
        told.insert("tool_input".to_owned(), input);
        told.insert("hook_event_name".to_owned(), json!(event));
        let response = json!({"stdout": "", "stderr": "", "interrupted": false});
        told.insert("tool_response".to_owned(), response);
        told.insert("error".to_owned(), json!(format!("Exit code {exit}")));
    }
    hook(room, &told).map(drop)
}

/// Returns the input of a tool.
fn input(room: &Room, tool: &str, words: &str) -> Value {
    if tool == "Bash" {
        return json!({"command": words});
    }
    if tool == "Grep" {
        return json!({"pattern": words});
    }
    let mut words = words.split(' ');
    let path = room.file(words.next().unwrap_or_default());
    match tool {
        "Edit" => {
            json!({"file_path": path, "old_string": words.next(), "new_string": words.next()})
        }
        "Write" => json!({"file_path": path, "content": words.next()}),
        _ => json!({"file_path": path}),
    }
}

/// Performs an allowed call, and returns the exit code.
fn done(room: &Room, tool: &str, input: &Value) -> Result<i32, String> {
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    if tool == "Bash" {
        let mut bash = room.command("bash");
        let output = bash.args(["-c", text("command")]).output();
        return Ok(output.unwrap().status.code().unwrap_or(-1));
    }
    let path = text("file_path");
    let made = match tool {
        "Edit" => {
            let before = std::fs::read_to_string(path).unwrap();
            std::fs::write(path, before.replace(text("old_string"), text("new_string")))
        }
        "Write" => std::fs::write(path, text("content")),
        _ => Ok(()),
    };
    made.map(|()| 0).map_err(|error| format!("{path}: {error}"))
}

/// Calls the hook, below a program that no hook takes for a client.
fn hook(room: &Room, told: &Value) -> Result<Value, String> {
    let file = room.path("tmp/told.json");
    std::fs::write(&file, told.to_string()).unwrap();
    let line = format!("interlock hook claude-code < '{}'", file.display());
    let mut client = room.command("find");
    client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
    let output: Output = client.output().unwrap();
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {output:?}"))
}
