//! Text from a workflow, an agent or a person's notes reaches a terminal only as text, in every field of every command.

use std::process::{Command, Output};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Text that must never reach a terminal unchanged; the line break would forge a line.
const HOSTILE: &str =
    "x\u{1b}[2J\u{1b}[31m\u{9b}1m\u{7}\r\u{8}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}\nFORGED";

/// Returns a workflow that loads: its escapes are those of JSON.
fn workflow() -> String {
    let document = json!({
        "id": "flow", "meta": {"description": HOSTILE}, "initial": "draft",
        "states": {
            "draft": {
                "instructions": HOSTILE, "allowed_tools": ["Read", HOSTILE],
                "on": {
                    "SHIP": {"target": "done", "requires_approval": true, "approval_message": HOSTILE},
                    "DROP": "failed",
                },
            },
            "done": {"type": "final"}, "failed": {"type": "final"},
        },
    });
    interlock_core::visible::visible_json(document.to_string())
}

fn check(arguments: &[&str], output: &Output) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let steers = |letter: char| {
            !matches!(letter, '\n' | '\t') && interlock_core::visible::steers(letter)
        };
        assert!(!text.contains(steers), "{arguments:?}: {text:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("FORGED")),
            "{arguments:?}: {text}"
        );
    }
}

struct Scene {
    room: Room,
    token: String,
}

impl Scene {
    fn new() -> Self {
        let room = Room::new().unwrap();
        let init = ["init", "-q", "."];
        let made = Command::new("git")
            .args(init)
            .current_dir(room.project())
            .status();
        assert!(made.unwrap().success());
        room.write(".interlock/workflows/flow.json", &workflow())
            .unwrap();
        room.write(
            "broken.json",
            &workflow().replace("\"final\"", "\"fi\\u001b[2Jnal\""),
        )
        .unwrap();
        room.write("raw.yaml", &format!("id: flow\ninitial: {HOSTILE}\n"))
            .unwrap();
        let token = Interlock::new(INTERLOCK, &room).token().unwrap();
        Self { room, token }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let output = self
            .room
            .command(INTERLOCK)
            .env("INTERLOCK_TOKEN", &self.token)
            .args(arguments)
            .output()
            .unwrap();
        check(arguments, &output);
        output
    }
}

#[test]
fn a_workflow_steers_no_terminal() {
    let scene = Scene::new();
    for arguments in [
        &["workflows"][..],
        &["list"],
        &["check"],
        &["check", "broken.json"],
        &["check", "raw.yaml"],
        &["check", HOSTILE],
        &["--color", "never", "check", "raw.yaml"],
        &["graph", "flow"],
        &["graph", "flow", "--format", "dot"],
        &["explain", "flow", "draft", HOSTILE],
        &["explain", "flow", HOSTILE, "ls"],
        &["simulate", HOSTILE],
        &["convert", "raw.yaml"],
        &["test", "raw.yaml"],
        // Their own words, which name no command.
        &[HOSTILE.trim_end_matches("\nFORGED")],
    ] {
        scene.call(arguments);
    }
}

#[test]
fn a_run_steers_no_terminal() {
    let scene = Scene::new();
    let interlock = Interlock::new(INTERLOCK, &scene.room);
    let run = interlock.start_for_session("flow", "s1").unwrap();
    let tell = |id: &str, tool: &str, input: &Value| {
        let told = before_tool(&scene.room, "s1", id, tool, input);
        interlock.hook(&told).unwrap().wait_with_output().unwrap();
    };
    tell("t1", "Read", &json!({"file_path": HOSTILE}));
    tell("t2", HOSTILE, &json!({"a": HOSTILE}));
    tell("t3", "Bash", &json!({"command": HOSTILE}));
    scene.call(&["pause", &run, "--reason", HOSTILE]);
    for arguments in [
        &["status", &run][..],
        &["log", &run],
        &["runs"],
        &["list", "--json"],
    ] {
        scene.call(arguments);
    }
    scene.call(&["resume", &run]);
    scene.call(&["send", HOSTILE, &run]);
    scene.call(&["send", "SHIP", &run]);
    for arguments in [
        &["status", &run][..],
        &["status", &run, "--json"],
        &["log", &run],
        &["log", &run, "--json"],
        &["approve", "--diff", &run],
        &["reject", &run, "--note", HOSTILE],
        &["log", &run],
        &["doctor"],
        &["log", HOSTILE],
    ] {
        scene.call(arguments);
    }
}
