//! Assumptions of the end-to-end tests, checked with the real Claude Code and a hook that is a shell script.

use std::time::{Duration, Instant};

use interlock_testkit::claude::{Mode, Session, Version};
use interlock_testkit::provider::{Call, Say, Script, call, text};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

/// Denies `Edit`, asks about `Write`, says nothing about the rest, and stores its input.
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

/// Returns a room whose hook is the shell script `body` on `events`, with the stub server as a project server.
fn room_with_hook(events: &[&str], body: &str) -> Room {
    let room = Room::new().unwrap();
    let hook = room.script("hook", body).unwrap();
    let hook = json!({"type": "command", "command": hook, "timeout": 10, "onFailure": "block"});
    let hooks: serde_json::Map<String, Value> = events
        .iter()
        .map(|event| ((*event).to_owned(), json!([{"hooks": [hook]}])))
        .collect();
    room.write(
        ".claude/settings.json",
        &json!({"hooks": hooks}).to_string(),
    )
    .unwrap();
    let stub = json!({"command": env!("CARGO_BIN_EXE_mcp-stub"), "args": [], "alwaysLoad": true});
    room.write(
        ".mcp.json",
        &json!({"mcpServers": {"stub": stub}}).to_string(),
    )
    .unwrap();
    room.write("a.txt", "one\n").unwrap();
    room
}

fn guarded_room() -> Room {
    room_with_hook(
        &[
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "UserPromptSubmit",
        ],
        HOOK,
    )
}

/// Returns the hook inputs in order, each with its event and the tool's name or command.
fn hook_inputs(room: &Room) -> Vec<Value> {
    let all = std::fs::read_to_string(room.state().join("hooks.jsonl")).unwrap();
    all.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn hook_order(room: &Room) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let order = hook_inputs(room).into_iter().map(|input| {
        let command = word(&input["tool_input"]["command"]);
        let what = if command.is_empty() {
            word(&input["tool_name"])
        } else {
            command
        };
        format!("{} {what}", word(&input["hook_event_name"]))
            .trim()
            .to_owned()
    });
    order.collect()
}

/// Returns the calls of a session in which only the hook stops calls.
fn session(version: Version, room: &Room, script: Script) -> Vec<Call> {
    let outcome = Session::new(version, room, script).run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    outcome.calls()
}

fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

fn read(room: &Room) -> Say {
    call("Read", json!({"file_path": room.file("a.txt")}))
}

fn edit(room: &Room) -> Say {
    let path = room.file("a.txt");
    call(
        "Edit",
        json!({"file_path": path, "old_string": "one", "new_string": "two"}),
    )
}

fn a_denial_reaches_the_model_and_nothing_is_written(version: Version) {
    let room = guarded_room();
    let ping = call("mcp__stub__ping", json!({"say": "hello"}));
    let script = Script::calls(vec![read(&room), edit(&room), bash("echo ran"), ping]);
    let calls = session(version, &room, script);
    let [read, edit, bash, ping] = &calls[..] else {
        panic!("{calls:#?}")
    };
    assert!(!read.failed && read.result.contains("one"), "{read:?}");
    assert!(
        edit.failed && edit.result.contains("edits are locked in this state"),
        "{edit:?}"
    );
    assert!(!bash.failed && bash.result.contains("ran"), "{bash:?}");
    assert!(
        !ping.failed && ping.result.contains("pong:hello"),
        "{ping:?}"
    );
    assert_eq!(room.read("a.txt").as_deref(), Some("one\n"));
}

/// Project servers need no trust in a session without a person, but their tools need a permission.
fn a_project_server_is_offered_and_its_calls_need_a_yes(version: Version) {
    let room = guarded_room();
    let ping = Script::calls(vec![call("mcp__stub__ping", json!({"say": "hello"}))]);
    let outcome = Session::new(version, &room, ping)
        .mode(Mode::Default)
        .run()
        .unwrap();
    assert!(
        outcome.tools().contains(&"mcp__stub__ping".to_owned()),
        "{:?}",
        outcome.tools()
    );
    let calls = outcome.calls();
    assert!(matches!(&calls[..], [ping] if ping.failed), "{calls:#?}");
}

/// A hook that allows a call is that permission, and the text it injects reaches the model.
fn an_allowing_hook_is_the_yes_and_injects_text(version: Version) {
    let body = r#"
case $(cat) in
  *'"hook_event_name":"PreToolUse"'*) printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}' ;;
  *'"hook_event_name":"PostToolUse"'*) printf '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"AFTER THE TOOL"}}' ;;
  *'"hook_event_name":"UserPromptSubmit"'*) printf '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"WITH THE PROMPT"}}' ;;
esac"#;
    let room = room_with_hook(&["PreToolUse", "PostToolUse", "UserPromptSubmit"], body);
    let ping = call("mcp__stub__ping", json!({"say": "hello"}));
    let script = Script::calls(vec![ping, bash("touch made.txt")]);
    let outcome = Session::new(version, &room, script)
        .mode(Mode::Default)
        .run()
        .unwrap();
    let calls = outcome.calls();
    assert!(
        matches!(&calls[..], [ping, touch] if !ping.failed && !touch.failed),
        "{calls:#?}"
    );
    assert!(room.read("made.txt").is_some());
    assert_eq!(outcome.text().matches("AFTER THE TOOL").count(), 2);
    assert_eq!(outcome.text().matches("WITH THE PROMPT").count(), 1);
}

fn asking_without_a_person_is_a_denial(version: Version) {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        let room = guarded_room();
        let write = call(
            "Write",
            json!({"file_path": room.file("b.txt"), "content": "b"}),
        );
        let outcome = Session::new(version, &room, Script::calls(vec![write]))
            .mode(mode)
            .run();
        let calls = outcome.unwrap().calls();
        assert!(
            matches!(&calls[..], [write] if write.failed),
            "{mode:?}: {calls:#?}"
        );
        assert_eq!(room.read("b.txt"), None, "{mode:?}");
    }
}

/// Calls of one message that only read run at once, the others one after the other, each judged just before it runs.
fn calls_of_one_message_are_judged_one_by_one_unless_they_only_read(version: Version) {
    let room = guarded_room();
    let two_reads = vec![
        read(&room),
        read(&room),
        bash("touch b.txt"),
        bash("touch c.txt; exit 3"),
    ];
    let calls = session(version, &room, Script::turns(vec![two_reads]));
    let failed: Vec<bool> = calls.iter().map(|call| call.failed).collect();
    assert_eq!(failed, [false, false, false, true]);
    assert_eq!(
        hook_order(&room),
        [
            "UserPromptSubmit",
            "PreToolUse Read",
            "PreToolUse Read",
            "PostToolUse Read",
            "PostToolUse Read",
            "PreToolUse touch b.txt",
            "PostToolUse touch b.txt",
            "PreToolUse touch c.txt; exit 3",
            "PostToolUseFailure touch c.txt; exit 3",
        ]
    );
}

fn a_sub_agent_is_judged_under_its_own_id(version: Version) {
    let room = guarded_room();
    let (read, edit) = (read(&room), edit(&room));
    let delegate = call(
        "Agent",
        json!({
            "description": "a sub-task", "prompt": "SUB-TASK", "subagent_type": "general-purpose",
            "run_in_background": false,
        }),
    );
    let script = Script::new(move |request| {
        let said = match (request.prompt().contains("SUB-TASK"), request.rounds()) {
            (false, 0) => &delegate,
            (true, 0) => &read,
            (true, 1) => &edit,
            _ => return vec![text("done")],
        };
        vec![said.clone()]
    });
    let calls = session(version, &room, script);
    let [read, edit, agent] = &calls[..] else {
        panic!("{calls:#?}")
    };
    assert!(!read.failed && !agent.failed);
    assert!(
        edit.failed && edit.result.contains("edits are locked in this state"),
        "{edit:?}"
    );
    let all = hook_inputs(&room);
    let agent_of = |tool: &str| {
        let of_tool = |input: &&Value| input["tool_name"] == tool;
        all.iter()
            .find(of_tool)
            .and_then(|input| input["agent_id"].as_str())
    };
    assert!(agent_of("Read").is_some());
    assert_eq!(agent_of("Read"), agent_of("Edit"));
    assert_eq!(agent_of("Agent"), None);
}

/// The older version ignores `onFailure`; both versions take exit code 2 as a denial.
fn a_hook_that_dies_blocks_only_where_on_failure_is_known(version: Version) {
    let dies = [
        ("kill -9 $$", version == Version::V2_1_197),
        ("exit 1", version == Version::V2_1_197),
    ];
    let says = [("echo broken >&2; exit 2", false), ("echo not JSON", true)];
    for (body, runs) in dies.into_iter().chain(says) {
        let room = room_with_hook(&["PreToolUse"], body);
        let calls = session(version, &room, Script::calls(vec![bash("touch made.txt")]));
        assert_eq!(room.read("made.txt").is_some(), runs, "{body}");
        assert!(
            matches!(&calls[..], [touch] if touch.failed != runs),
            "{body}: {calls:#?}"
        );
    }
}

fn a_session_that_does_not_end_is_killed_with_all_it_started(version: Version) {
    // How long a client takes to start depends on the machine: it gets more time until it has started.
    let begun = [3, 10, 30, 120].into_iter().find_map(|seconds| {
        let room = guarded_room();
        let endless = bash("echo $$ > id.txt; tail -f /dev/null");
        let session = Session::new(version, &room, Script::calls(vec![endless]));
        let late = session.deadline(Duration::from_secs(seconds)).run();
        let late = late.unwrap_err().to_string();
        assert!(late.contains("no end after"), "{late}");
        room.read("id.txt")
    });
    let id = begun.unwrap();
    let command = format!("/proc/{}/cmdline", id.trim());
    // A killed process may still be a zombie, which has no command line any more.
    let gone = || std::fs::read_to_string(&command).map_or(true, |line| line.is_empty());
    // The system takes some time to end a killed process.
    let patience = Instant::now() + Duration::from_secs(20);
    while !gone() && Instant::now() < patience {
        std::thread::yield_now();
    }
    assert!(gone());
}

interlock_testkit::with_both_versions! {
    a_denial_reaches_the_model_and_nothing_is_written
    a_project_server_is_offered_and_its_calls_need_a_yes
    an_allowing_hook_is_the_yes_and_injects_text
    asking_without_a_person_is_a_denial
    calls_of_one_message_are_judged_one_by_one_unless_they_only_read
    a_sub_agent_is_judged_under_its_own_id
    a_hook_that_dies_blocks_only_where_on_failure_is_known
    a_session_that_does_not_end_is_killed_with_all_it_started
}
