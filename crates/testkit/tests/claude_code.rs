//! What the end-to-end tests rely on, shown with the real Claude Code and a hook that is a shell script.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]
#![expect(clippy::expect_used, reason = "a test may end at the first surprise")]

use interlock_testkit::anthropic::{Script, text, tool};
use interlock_testkit::claude::{Mode, Outcome, Session, Version};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

/// Denies `Edit`, asks about `Write`, says nothing about the rest, and keeps what it was told.
const HOOK: &str = r#"
input=$(cat)
printf '%s\n' "$input" >> "$XDG_STATE_HOME/hooks.jsonl"
answer() {
  printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s","permissionDecisionReason":"%s"}}' "$1" "$2"
}
case $input in
  *'"hook_event_name":"PreToolUse"'*'"tool_name":"Edit"'*) answer deny 'edits are locked in this state' ;;
  *'"hook_event_name":"PreToolUse"'*'"tool_name":"Write"'*) answer ask 'a person must agree' ;;
esac
"#;

/// A room with the hook on every event that matters and the stub server as a project server.
fn guarded_room() -> Room {
    let room = Room::new().unwrap();
    let hook = room.script("hook", HOOK).unwrap();
    let entry = json!([{"hooks": [{"type": "command", "command": hook, "timeout": 10, "onFailure": "block"}]}]);
    let settings = json!({"hooks": {
        "PreToolUse": entry, "PostToolUse": entry, "UserPromptSubmit": entry, "SubagentStop": entry,
    }});
    room.write(".claude/settings.json", &settings.to_string()).unwrap();
    let server = json!({"mcpServers": {"stub": {"command": env!("CARGO_BIN_EXE_mcp-stub"), "args": []}}});
    room.write(".mcp.json", &server.to_string()).unwrap();
    room.write("a.txt", "one\n").unwrap();
    room
}

/// The hook inputs of one event, in order.
fn hook_inputs(room: &Room, event: &str) -> Vec<Value> {
    let all = std::fs::read_to_string(room.state().join("hooks.jsonl")).unwrap();
    let all = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|input| input["hook_event_name"] == event).collect()
}

fn report(version: Version, outcome: &Outcome) {
    eprintln!("{version:?} {:?} exit {:?} cut off {}", outcome.elapsed, outcome.exit, outcome.cut_off);
    for call in outcome.calls() {
        eprintln!("  {} failed={} {}", call.name, call.failed, call.result);
    }
    if !outcome.stderr.is_empty() {
        eprintln!("  stderr: {}", outcome.stderr);
    }
}

fn edit_of(room: &Room) -> Value {
    let path = room.file("a.txt");
    json!({"file_path": path, "old_string": "one", "new_string": "two"})
}

fn a_denial_reaches_the_model_and_nothing_is_written(version: Version) {
    let room = guarded_room();
    let script = Script::calls(vec![
        tool("Read", json!({"file_path": room.file("a.txt")})),
        tool("Edit", edit_of(&room)),
        tool("Bash", json!({"command": "echo ran", "description": "says ran"})),
        tool("mcp__stub__ping", json!({"say": "hello"})),
    ]);
    let outcome = Session::new(version, &room, script).run().unwrap();
    report(version, &outcome);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    assert!(outcome.tools().contains(&"mcp__stub__ping".to_owned()), "{:?}", outcome.tools());
    let calls = outcome.calls();
    let [read, edit, bash, ping] = &calls[..] else { panic!("{calls:#?}") };
    assert!(!read.failed && read.result.contains("one"));
    assert!(edit.failed && edit.result.contains("edits are locked in this state"));
    assert!(!bash.failed && bash.result.contains("ran"));
    assert!(!ping.failed && ping.result.contains("pong:hello"));
    assert_eq!(room.read("a.txt").as_deref(), Some("one\n"));
    assert_eq!(hook_inputs(&room, "PreToolUse").len(), 4);
    assert_eq!(hook_inputs(&room, "PostToolUse").len(), 3);
}

fn asking_without_a_person_is_a_denial(version: Version) {
    for mode in [Mode::Default, Mode::BypassPermissions] {
        let room = guarded_room();
        let write = tool("Write", json!({"file_path": room.file("b.txt"), "content": "b"}));
        let outcome = Session::new(version, &room, Script::calls(vec![write])).mode(mode).run();
        let outcome = outcome.unwrap();
        report(version, &outcome);
        eprintln!("  {mode:?} b.txt {:?}", room.read("b.txt"));
    }
}

fn calls_of_one_message(version: Version) {
    let room = guarded_room();
    let bash = |command: &str| tool("Bash", json!({"command": command, "description": "x"}));
    let script = Script::turns(vec![vec![
        text("all at once"),
        tool("Edit", edit_of(&room)),
        bash("echo first"),
        bash("touch second.txt"),
        tool("Read", json!({"file_path": room.file("a.txt")})),
    ]]);
    let outcome = Session::new(version, &room, script).run().unwrap();
    report(version, &outcome);
    for event in ["PreToolUse", "PostToolUse"] {
        for input in hook_inputs(&room, event) {
            eprintln!("  {event} {} {}", input["tool_name"], input["tool_use_id"]);
        }
    }
    let all = std::fs::read_to_string(room.state().join("hooks.jsonl")).unwrap();
    for line in all.lines() {
        let input: Value = serde_json::from_str(line).unwrap();
        eprintln!("  {} {}", input["hook_event_name"], input["tool_name"]);
    }
}

fn sub_agents(version: Version) {
    let room = guarded_room();
    let file = room.file("a.txt");
    let edit = edit_of(&room);
    let script = Script::new(move |request| {
        let sub = request.prompt().contains("SUB-TASK");
        match (sub, request.turn()) {
            (false, 0) => vec![tool("Agent", json!({
                "description": "a sub-task", "prompt": "SUB-TASK: read and edit", "subagent_type": "general-purpose",
                "run_in_background": false,
            }))],
            (true, 0) => vec![tool("Read", json!({"file_path": file}))],
            (true, 1) => vec![tool("Edit", edit.clone())],
            _ => vec![text("done")],
        }
    });
    let outcome = Session::new(version, &room, script).run().unwrap();
    report(version, &outcome);
    eprintln!("  tools {:?}", outcome.tools());
    let all = std::fs::read_to_string(room.state().join("hooks.jsonl")).unwrap();
    for line in all.lines() {
        eprintln!("  {line}");
    }
}

macro_rules! with_both_versions {
    ($($name:ident)*) => {
        mod claude_2_1_197 {
            $(#[test] fn $name() { super::$name(super::Version::V2_1_197); })*
        }
        mod claude_2_1_329 {
            $(#[test] fn $name() { super::$name(super::Version::V2_1_329); })*
        }
    };
}

with_both_versions! {
    a_denial_reaches_the_model_and_nothing_is_written
    asking_without_a_person_is_a_denial
    calls_of_one_message
    sub_agents
}
