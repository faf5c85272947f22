//! The plugin for opencode, run by Node.js as opencode would run it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use interlock_clients::opencode::PLUGIN;
use interlock_testkit::{interlock::Interlock, room::Room};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKFLOW: &str = r#"{"id": "w", "initial": "look", "states": {
    "look": {"allowed_tools": ["Read", "Bash"], "on": {"GO": "end"}}, "end": {"type": "final"}}}"#;

/// The line with the program's name, in which `init` writes a path.
const PROGRAM: &str = "const PROGRAM = \"interlock\"";

struct Place {
    room: Room,
}

impl Place {
    fn new() -> Self {
        let room = Room::new().unwrap();
        fs::write(room.path("w.json"), WORKFLOW).unwrap();
        Self { room }
    }

    fn guard(&self, session: &str) {
        let workflow = self.room.path("w.json");
        Interlock::new(INTERLOCK, &self.room)
            .start_for_session(workflow.to_str().unwrap(), session)
            .unwrap();
    }

    /// Drives the plugin, with `program` as its program, and returns the result of each step.
    fn drive(&self, program: &str, sessions: &Value, steps: &Value) -> Vec<Value> {
        assert!(PLUGIN.contains(PROGRAM));
        let text = PLUGIN
            .replace(PROGRAM, &format!("const PROGRAM = {}", json!(program)))
            .replace("10_000", "1_500");
        // The text is plain JavaScript; only its file name extension says otherwise.
        let plugin = self.room.path("plugin.mjs");
        fs::write(&plugin, text).unwrap();
        let told = json!({
            "plugin": plugin, "directory": self.room.project(),
            "sessions": sessions, "steps": steps,
        });
        let drive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/opencode_plugin/drive.mjs");
        let mut child: std::process::Child = self
            .room
            .command("node")
            .arg(drive)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(told.to_string().as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.room.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn before(session: &str, tool: &str, args: Value) -> Value {
    json!({
        "hook": "tool.execute.before",
        "input": {"tool": tool, "sessionID": session, "callID": format!("{tool}-{args}")},
        "output": {"args": args},
    })
}

fn says(result: &Value, words: &[&str]) -> bool {
    let error = result["error"].as_str().unwrap_or_default();
    !error.is_empty() && words.iter().all(|word| error.contains(word))
}

#[test]
fn a_denied_tool_throws_and_an_allowed_one_stays_as_it_is() {
    let place = Place::new();
    place.guard("s1");
    let steps = json!([
        before("s1", "bash", json!({"command": "echo x > leak.txt"})),
        before("s1", "bash", json!({"command": "ls"})),
        before("s1", "write", json!({"filePath": "a", "content": "x"})),
        before("nobody", "write", json!({"filePath": "a", "content": "x"})),
        {"hook": "chat.message", "input": {"sessionID": "s1"}, "output": {"parts": []}},
        {"hook": "experimental.chat.system.transform", "input": {"sessionID": "s1"},
            "output": {"system": ["own"]}},
        {"hook": "tool.execute.after",
            "input": {"tool": "bash", "sessionID": "s1", "callID": "x", "args": {"command": "ls"}},
            "output": {"title": "", "output": "a", "metadata": {"exit": 0}}},
    ]);
    let seen = place.drive(INTERLOCK, &json!({"s1": null, "nobody": null}), &steps);
    assert!(says(&seen[0], &["shell_write", "GO"]), "{seen:?}");
    assert!(says(&seen[0], &["Tools: read, bash."]), "{seen:?}");
    assert_eq!(seen[1]["output"]["args"], json!({"command": "ls"}));
    assert!(says(&seen[2], &["tool_not_allowed", "`write`"]), "{seen:?}");
    // Another conversation of the same process continues its own run.
    assert!(says(&seen[3], &["tool_not_allowed", "`write`"]), "{seen:?}");
    assert!(seen[4].get("error").is_none(), "{seen:?}");
    let system = seen[5]["output"]["system"].as_array().unwrap();
    assert_eq!(system.len(), 2, "{seen:?}");
    assert!(system[1].as_str().unwrap().contains("Phase: look"));
    assert_eq!(seen[6]["output"]["output"], "a");
}

/// Another plugin that runs after this one shares the arguments with it.
#[test]
fn what_was_judged_in_a_held_session_is_constant() {
    let place = Place::new();
    place.guard("s1");
    let change = |session: &str| {
        let mut step = before(
            session,
            "bash",
            json!({"command": "ls", "more": {"deep": 1}}),
        );
        step["then"] = json!({"command": "touch x"});
        step
    };
    let steps = json!([change("s1")]);
    let seen = place.drive(INTERLOCK, &json!({"s1": null}), &steps);
    assert!(says(&seen[0], &["read only"]), "{seen:?}");
    let free = Place::new();
    let seen = free.drive(INTERLOCK, &json!({"s1": null}), &steps);
    assert_eq!(seen[0]["output"]["args"]["command"], "touch x");
}

#[test]
fn a_prompt_is_stopped_where_another_plugin_is_loaded() {
    let place = Place::new();
    place.guard("s1");
    let prompt =
        json!({"hook": "chat.message", "input": {"sessionID": "s1"}, "output": {"parts": []}});
    let load = json!({"hook": "config", "input": {"plugin_origins": [{"spec": "file:///somewhere/other.ts"}]}});
    let steps = json!([load, prompt, before("s1", "bash", json!({"command": "ls"}))]);
    let seen = place.drive(INTERLOCK, &json!({"s1": null}), &steps);
    assert!(
        says(&seen[1], &["may overrule", "/somewhere/other.ts"]),
        "{seen:?}"
    );
    assert!(says(&seen[2], &["paused"]), "{seen:?}");
}

#[test]
fn every_failure_throws_before_a_tool() {
    let place = Place::new();
    let programs = [
        ("a missing program", "/nonexistent/interlock".to_owned()),
        ("exit 1", place.script("one", "cat >/dev/null; exit 1")),
        (
            "exit 2",
            place.script("two", "cat >/dev/null; echo refused >&2; exit 2"),
        ),
        ("killed", place.script("killed", "kill -9 $$")),
        ("nothing", place.script("nothing", "cat >/dev/null")),
        (
            "garbage",
            place.script("garbage", "cat >/dev/null; echo yes"),
        ),
        (
            "two documents",
            place.script("twice", "cat >/dev/null; echo '{}{}'"),
        ),
        ("a list", place.script("list", "cat >/dev/null; echo '[]'")),
        ("no answer in time", place.script("hangs", "exec sleep 60")),
        ("input unread", place.script("deaf", "exec <&-; exit 1")),
    ];
    for (what, program) in programs {
        let steps = json!([before("s1", "bash", json!({"command": "ls"}))]);
        let seen = place.drive(&program, &json!({"s1": null}), &steps);
        assert!(says(&seen[0], &[]), "{what}: {seen:?}");
    }
    // An unknown session may be a sub-agent's.
    let steps = json!([before("s1", "bash", json!({"command": "ls"}))]);
    let seen = place.drive(INTERLOCK, &json!({}), &steps);
    assert!(says(&seen[0], &["s1"]), "{seen:?}");
}

#[test]
fn a_sub_agent_is_judged_by_the_run_of_its_parent() {
    let place = Place::new();
    place.guard("s1");
    let write = |session| before(session, "write", json!({"filePath": "a", "content": "x"}));
    let steps = json!([
        {"hook": "event", "input": {"event": {"type": "session.created",
            "properties": {"info": {"id": "kid", "parentID": "s1"}}}}},
        write("kid"),
        write("asked"),
        write("deep"),
        {"hook": "event", "input": {"event": {"type": "session.deleted",
            "properties": {"info": {"id": "kid", "parentID": "s1"}}}}},
        write("s1"),
        write("other"),
    ]);
    let sessions = json!({"s1": null, "asked": "s1", "deep": "kid", "other": null});
    let seen = place.drive(INTERLOCK, &sessions, &steps);
    for denied in [1, 2, 3, 5, 6] {
        assert!(says(&seen[denied], &["`write`"]), "{denied}: {seen:?}");
    }
}

#[test]
fn a_session_of_nobody_is_left_alone() {
    let place = Place::new();
    let steps = json!([before(
        "s1",
        "write",
        json!({"filePath": "a", "content": "x"})
    )]);
    let seen = place.drive(INTERLOCK, &json!({"s1": null}), &steps);
    assert!(seen[0].get("error").is_none(), "{seen:?}");
}

#[test]
fn a_line_is_carried_only_where_no_permission_is_about_lines() {
    let rows = [
        (json!({}), true),
        (json!({"permission": {"edit": "ask"}}), true),
        (json!({"permission": {"bash": {"*": "allow"}}}), true),
        (json!({"permission": "allow"}), true),
        (json!({"permission": "ask"}), false),
        (
            json!({"permission": {"bash": {"git push *": "deny"}}}),
            false,
        ),
        (json!({"permission": {"*": "ask"}}), false),
        (
            json!({"agent": {"build": {"permission": {"bash": "ask"}}}}),
            false,
        ),
        (
            json!({"mode": {"plan": {"permission": {"bash": "deny"}}}}),
            false,
        ),
    ];
    let place = Place::new();
    place.guard("s1");
    let ls = || before("s1", "bash", json!({"command": "ls", "description": "x"}));
    let mut steps = vec![ls()];
    for (config, _) in &rows {
        steps.push(json!({"hook": "config", "input": config}));
        steps.push(ls());
    }
    let seen = place.drive(INTERLOCK, &json!({"s1": null}), &json!(steps));
    let carried = |seen: &Value| {
        let command = seen["output"]["args"]["command"].as_str().unwrap();
        assert_eq!(seen["output"]["args"]["description"], "x");
        command.contains(" exec --ticket ") && command.ends_with(" -- 'ls'")
    };
    assert!(!carried(&seen[0]), "{seen:?}");
    for (index, (config, wanted)) in rows.iter().enumerate() {
        assert_eq!(carried(&seen[2 + 2 * index]), *wanted, "{config}");
    }
}

#[test]
fn the_plugin_is_plain_javascript() {
    let place = Place::new();
    let path = place.room.path("plugin.mjs");
    fs::write(&path, PLUGIN).unwrap();
    let checked = Command::new("node")
        .arg("--check")
        .arg(&path)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}
