//! A session whose lines are carried, by the built program.

use std::{cell::Cell, fs, os::unix::fs::PermissionsExt as _, process::Output};

use interlock_testkit::{interlock::Interlock, room::Room};
use serde_json::{Value, json};

use crate::exec_evidence::INTERLOCK;

/// Prints its words and more, on both streams, and ends as `CODE` says.
const STAND_IN: &str = r#"
i=0
while [ $i -lt "${LINES_PRINTED:-3}" ]; do echo "ok $i: $0 $*" || exit 9; i=$((i + 1)); done
echo "warning: $*" >&2
[ -z "$SIGNAL" ] || kill -"$SIGNAL" $$
exit "${CODE:-0}"
"#;

/// A session held to a state that may write, with `npm test` as the evidence of its one transition.
pub(crate) struct Session {
    pub(crate) room: Room,
    pub(crate) run: String,
    pub(crate) calls: Cell<usize>,
    /// Variables that the client was started with.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

/// What became of one line.
pub(crate) struct Ran {
    pub(crate) output: Output,
    /// Whether the evidence holds after it.
    pub(crate) counts: bool,
    /// What was seen of each probed command.
    pub(crate) commands: Value,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::held_to(&["Read", "Edit", "Write", "Bash"], "npm test")
    }

    /// A session held to a state with these tools, and this command as the evidence it waits for.
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

    /// A session held to a workflow.
    pub(crate) fn of(workflow: &Value) -> Self {
        Self::with_files(workflow, &[])
    }

    /// The same in a project that has these files when its run begins.
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

    /// Lets a line pass the hook, runs what the client would, and tells the hook of its end.
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

    /// What the client would run in the place of `line`.
    pub(crate) fn carried(&self, line: &str) -> String {
        self.calls.set(self.calls.get() + 1);
        let answer = self.hook("PreToolUse", line, &json!({}));
        let said = &answer["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "allow", "{line}: {answer}");
        said["updatedInput"]["command"].as_str().unwrap().to_owned()
    }

    /// The last line that ended, as the log has it.
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

    /// Puts another program in the place of a stand-in.
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
