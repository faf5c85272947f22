//! The hook as a process of each client: every event is answered, every failure stops the call.

use std::{fs, process::Output};

use interlock_clients::ClientId;
use interlock_testkit::{
    interlock::{Interlock, databases},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKFLOW: &str = r#"{"id": "w", "initial": "a", "states": {
    "a": {"allowed_tools": ["Read"], "on": {"GO": "b"}}, "b": {"type": "final"}}}"#;

/// Returns every event for which a client's hooks are installed.
fn events(client: ClientId) -> &'static [&'static str] {
    match client {
        ClientId::ClaudeCode => &[
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "UserPromptSubmit",
            "SessionStart",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "PreCompact",
            "SessionEnd",
        ],
        ClientId::Codex => &[
            "PreToolUse",
            "PostToolUse",
            "UserPromptSubmit",
            "SessionStart",
            "Stop",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "SessionEnd",
        ],
        ClientId::Gemini => &[
            "BeforeTool",
            "AfterTool",
            "BeforeToolSelection",
            "BeforeAgent",
            "AfterAgent",
            "SessionStart",
            "SessionEnd",
        ],
        ClientId::Copilot => &[
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "userPromptSubmitted",
            "sessionStart",
            "subagentStart",
            "subagentStop",
            "agentStop",
            "sessionEnd",
        ],
        ClientId::Cursor => &[
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            "beforeShellExecution",
            "afterShellExecution",
            "beforeMCPExecution",
            "afterMCPExecution",
            "beforeReadFile",
            "afterFileEdit",
            "beforeSubmitPrompt",
            "sessionStart",
            "subagentStart",
            "subagentStop",
            "stop",
            "sessionEnd",
        ],
        ClientId::Opencode => &[
            "tool.execute.before",
            "tool.execute.after",
            "chat.message",
            "chat.system",
            "session.created",
            "session.idle",
            "session.deleted",
        ],
    }
}

/// Returns an input of `event` with the fields of all events.
fn input(client: ClientId, room: &Room, event: &str) -> Value {
    let cwd = room.project();
    let file = cwd.join("a.txt");
    match client {
        ClientId::Copilot => json!({
            "sessionId": "s", "cwd": cwd, "toolName": "view", "toolArgs": {"path": file},
        }),
        ClientId::Cursor => json!({
            "hook_event_name": event, "conversation_id": "s", "generation_id": "g",
            "workspace_roots": [cwd], "tool_name": "Read", "tool_input": {"file_path": file},
            "command": "ls", "file_path": file,
        }),
        ClientId::Opencode => json!({
            "event": event, "session": "s", "directory": cwd, "call": "c", "tool": "read",
            "args": {"filePath": file}, "output": "x", "metadata": {},
        }),
        ClientId::Gemini => json!({
            "hook_event_name": event, "session_id": "s", "cwd": cwd,
            "tool_name": "read_file", "tool_input": {"file_path": file},
        }),
        ClientId::ClaudeCode | ClientId::Codex => json!({
            "hook_event_name": event, "session_id": "s", "cwd": cwd, "tool_use_id": "t",
            "tool_name": "Read", "tool_input": {"file_path": file},
        }),
    }
}

fn argument(client: ClientId, event: &'static str) -> Option<&'static str> {
    matches!(client, ClientId::Copilot | ClientId::Opencode).then_some(event)
}

fn hook(room: &Room, client: ClientId, event: Option<&str>, text: &Value) -> Output {
    Interlock::new(INTERLOCK, room)
        .hook_of(client.word(), event, text, &[])
        .unwrap()
        .wait_with_output()
        .unwrap()
}

fn guarded() -> (Room, String) {
    let room = Room::new().unwrap();
    room.write("a.txt", "x\n").unwrap();
    fs::write(room.path("w.json"), WORKFLOW).unwrap();
    let path = room.path("w.json");
    let run = Interlock::new(INTERLOCK, &room)
        .start_for_session(path.to_str().unwrap(), "s")
        .unwrap();
    (room, run)
}

fn is_stop(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    output.status.code() == Some(2)
        && output.stdout.is_empty()
        && said.starts_with("interlock: ")
        && said.trim_end().lines().count() == 1
}

fn clients() -> impl Iterator<Item = ClientId> {
    ClientId::ALL.iter().map(|(_, client)| *client)
}

#[test]
fn every_event_is_answered_with_one_document() {
    for client in clients() {
        let (room, _) = guarded();
        let stranger = Room::new().unwrap();
        for event in events(client) {
            for room in [&stranger, &room] {
                let input = input(client, room, event);
                let output = hook(room, client, argument(client, event), &input);
                let document = serde_json::from_slice::<Value>(&output.stdout);
                let fine = output.status.success() && document.is_ok_and(|it| it.is_object());
                assert!(fine, "{client:?} {event}: {output:?}");
            }
        }
        assert!(!stranger.state().join("interlock").exists(), "{client:?}");
    }
}

#[test]
fn a_run_that_cannot_be_read_lets_nothing_pass() {
    for client in clients() {
        let (room, run) = guarded();
        for database in databases(&room.state(), &run).unwrap() {
            fs::write(database, "not a database").unwrap();
        }
        let event = events(client).first().unwrap();
        let output = hook(
            &room,
            client,
            argument(client, event),
            &input(client, &room, event),
        );
        assert!(is_stop(&output), "{client:?}: {output:?}");
    }
}

#[test]
fn input_that_cannot_be_read_lets_nothing_pass() {
    for client in clients() {
        let (room, _) = guarded();
        let event = *events(client).first().unwrap();
        let mut inputs = vec![json!(null), json!([]), json!("x"), json!({})];
        let whole = input(client, &room, event);
        for key in whole.as_object().unwrap().keys() {
            let mut wrong = whole.clone();
            wrong
                .as_object_mut()
                .unwrap()
                .insert(key.clone(), json!({"x": [1]}));
            inputs.push(wrong);
        }
        for text in inputs {
            let output = hook(&room, client, argument(client, event), &text);
            let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let denied = document.to_string().contains("deny");
            // Fields that no call needs may have any value.
            let harmless = [
                "command",
                "file_path",
                "generation_id",
                "output",
                "metadata",
                "tool_input",
                "args",
                "toolArgs",
            ];
            let told: Vec<&String> = text
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, value)| value.get("x").is_some())
                .map(|(key, _)| key)
                .collect();
            let passes = told.iter().any(|key| harmless.contains(&key.as_str()));
            assert!(
                is_stop(&output) || denied || passes,
                "{client:?} {text}: {output:?}"
            );
        }
    }
}

#[test]
fn a_client_that_is_not_known_is_a_stop_that_names_those_that_are() {
    let room = Room::new().unwrap();
    for word in ["", "claude", "CODEX", "cursor "] {
        let output = Interlock::new(INTERLOCK, &room)
            .hook_of(word, None, &json!({}), &[])
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(is_stop(&output), "{word}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let all = ClientId::ALL
            .iter()
            .all(|(known, _)| said.contains(&format!("`{known}`")));
        assert!(all, "{said}");
    }
}

#[test]
fn an_unattended_client_is_never_told_to_ask() {
    let asks = WORKFLOW.replace("\"on\": {\"GO\"", "\"on_denied\": \"ask\", \"on\": {\"GO\"");
    for client in clients().filter(|client| *client != ClientId::ClaudeCode) {
        let room = Room::new().unwrap();
        fs::write(room.path("w.json"), &asks).unwrap();
        let path = room.path("w.json");
        Interlock::new(INTERLOCK, &room)
            .start_for_session(path.to_str().unwrap(), "s")
            .unwrap();
        let event = *events(client).first().unwrap();
        let mut text = input(client, &room, event);
        for key in ["tool_name", "toolName", "tool"] {
            if let Some(name) = text.get_mut(key) {
                *name = json!("never_heard_of");
            }
        }
        let output = hook(&room, client, argument(client, event), &text);
        let said = String::from_utf8_lossy(&output.stdout);
        let denied = said.contains("interlock approve") && !said.contains("\"ask\"");
        assert!(denied, "{client:?}: {said}");
    }
}
