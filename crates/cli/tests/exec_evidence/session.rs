//! A session whose lines are rewritten, by the built program.

use std::{cell::Cell, fs, os::unix::fs::PermissionsExt as _, process::Output};

use interlock_testkit::{interlock::Interlock, room::Room};
use serde_json::{Value, json};

use crate::exec_evidence::INTERLOCK;

/// Prints its words and more, on both streams, and exits as `CODE` says.
const STAND_IN: &str = r#"
i=0
while [ $i -lt "${LINES_PRINTED:-3}" ]; do echo "ok $i: $0 $*" || exit 9; i=$((i + 1)); done
echo "warning: $*" >&2
[ -z "$SIGNAL" ] || kill -"$SIGNAL" $$
exit "${CODE:-0}"
"#;

/// A session in a state that may write, with `npm test` as the evidence for its only transition.
pub(crate) struct Session {
    pub(crate) room: Room,
    pub(crate) run: String,
    pub(crate) calls: Cell<usize>,
    /// Variables of the client's environment.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

/// The result of one line.
pub(crate) struct Ran {
    pub(crate) output: Output,
    /// Whether the evidence holds after it.
    pub(crate) counts: bool,
    /// The observations of each probed command.
    pub(crate) commands: Value,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::held_to(&["Read", "Edit", "Write", "Bash"], "npm test")
    }

    /// Returns a session in a state with these tools, and this command as the required evidence.
    pub(crate) fn held_to(tools: &[&str], evidence: &str) -> Self {
        Self::of(&json!({
            "id": "w", "initial": "work",
            "guards": { "tested": { "evidence": { "command": evidence } } },
            "states": {
                "work": {
                    "allowed_tools": tools,
                    "on": { "DONE": { "target": "end", "guard": "tested" } },
                },
                "end": { "type": "final" },
            },
        }))
    }

    /// Returns a session under a workflow.
    pub(crate) fn of(workflow: &Value) -> Self {
        Self::with_files(workflow, &[])
    }

    /// Returns the same in a project that has these files when its run begins.
    pub(crate) fn with_files(workflow: &Value, files: &[(&str, &str)]) -> Self {
        let room = Room::new_in_no_temporary(&std::env::temp_dir()).unwrap();
        for name in ["npm", "pytest", "cargo"] {
            let path = room.script(name, STAND_IN).unwrap();
            room.install(name, &path).unwrap();
        }
        fs::write(room.path("workflow.json"), workflow.to_string()).unwrap();
        for (path, text) in files {
            room.write(path, text).unwrap();
        }
        let path = room.path("workflow.json");
        let run = Interlock::new(INTERLOCK, &room)
            .start_for_session(path.to_str().unwrap(), "session")
            .unwrap();
        Self {
            room,
            run,
            calls: Cell::new(0),
            variables: Vec::new(),
        }
    }

    pub(crate) fn hook(&self, event: &str, command: &str, more: &Value) -> Value {
        let mut input = json!({
            "session_id": "session", "cwd": self.room.project(), "hook_event_name": event,
            "permission_mode": "bypassPermissions", "tool_name": "Bash",
            "tool_input": { "command": command },
            "tool_use_id": format!("t{}", self.calls.get()),
        });
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        let output = Interlock::new(INTERLOCK, &self.room)
            .hook_of("claude-code", None, &input, &self.variables)
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Passes a line to the hook, runs the line that the client would, and reports its end to the hook.
    pub(crate) fn run(&self, line: &str) -> Ran {
        let carried = self.carried(line);
        let mut shell = self.room.command("bash");
        shell.envs(self.variables.iter().copied());
        let output = shell.args(["-c", &carried]).output().unwrap();
        let failed = !output.status.success();
        let response =
            json!({ "tool_response": { "stdout": "", "stderr": "", "interrupted": false } });
        let event = if failed {
            "PostToolUseFailure"
        } else {
            "PostToolUse"
        };
        self.hook(event, &carried, &response);
        let status = Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap();
        Ran {
            output,
            counts: status["events"][0]["ready"] == true,
            commands: self.ended()["commands"].clone(),
        }
    }

    /// Returns the line that the client would run instead of `line`.
    pub(crate) fn carried(&self, line: &str) -> String {
        self.calls.set(self.calls.get() + 1);
        let answer = self.hook("PreToolUse", line, &json!({}));
        let said = &answer["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "allow", "{line}: {answer}");
        said["updatedInput"]["command"].as_str().unwrap().to_owned()
    }

    /// Returns the end of the last line in the log.
    pub(crate) fn ended(&self) -> Value {
        let log = self
            .room
            .command(INTERLOCK)
            .args(["log", &self.run, "--json"])
            .output()
            .unwrap();
        let text = String::from_utf8(log.stdout).unwrap();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .rev()
            .find(|event| event["event"] == "LineEnded")
            .unwrap()
    }

    /// Replaces a stand-in by another program.
    pub(crate) fn stand_in(&self, name: &str, text: &str) {
        let path = self.room.path("bin").join(name);
        fs::remove_file(&path).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a program of the project.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.room.write(name, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
