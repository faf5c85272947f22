//! A project in which Claude Code is guarded, and the calls of its model.

use interlock_testkit::claude::{Outcome, Session, Version};
use interlock_testkit::interlock::Interlock;
use interlock_testkit::provider::{Call, Say, Script, call};
use interlock_testkit::room::Room;
use serde_json::{Value, json};

pub(crate) const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// The workflow file of every test, as given on the command line.
pub(crate) const WORKFLOW: &str = "workflow.json";
/// A word unique to these workflows, by which the pinned copy is found.
pub(crate) const MARK: &str = "pinned-by-this-word";

/// A project after `interlock init`, in which a person has started `workflow` for the next session.
pub(crate) struct Guarded {
    pub(crate) version: Version,
    pub(crate) room: Room,
    pub(crate) run: String,
}

impl Guarded {
    pub(crate) fn new(version: Version, workflow: &Value) -> Guarded {
        Guarded::with_hook_wrapped(version, workflow, None)
    }

    /// Like `new`, with every `PreToolUse` hook called through the shell script `wrapper`, if any.
    pub(crate) fn with_hook_wrapped(
        version: Version,
        workflow: &Value,
        wrapper: Option<&str>,
    ) -> Guarded {
        let room = initialised(version);
        if let Some(wrapper) = wrapper {
            wrap_hooks(&room, wrapper);
        }
        room.write(WORKFLOW, &workflow.to_string()).unwrap();
        let run = Interlock::new(INTERLOCK, &room).start(WORKFLOW).unwrap();
        Guarded { version, room, run }
    }

    /// Runs a session and checks that the client itself succeeded.
    pub(crate) fn session(&self, script: Script) -> Outcome {
        let outcome = Session::new(self.version, &self.room, script)
            .run()
            .unwrap();
        assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
        outcome
    }

    /// Returns the results of these calls, one per message.
    pub(crate) fn calls(&self, calls: Vec<Say>) -> Vec<Call> {
        let count = calls.len();
        let answered = self.session(Script::calls(calls)).calls();
        assert_eq!(answered.len(), count, "{answered:#?}");
        answered
    }

    pub(crate) fn status(&self) -> Value {
        Interlock::new(INTERLOCK, &self.room)
            .status(&self.run)
            .unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> Say {
        call("Read", json!({"file_path": self.room.file(path)}))
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Say {
        call(
            "Write",
            json!({"file_path": self.room.file(path), "content": content}),
        )
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Say {
        let path = self.room.file(path);
        call(
            "Edit",
            json!({"file_path": path, "old_string": old, "new_string": new}),
        )
    }
}

/// Returns a room with this version of the client on its `PATH`, after `interlock init`.
pub(crate) fn initialised(version: Version) -> Room {
    let room = Room::new().unwrap();
    room.install("claude", &version.program().unwrap()).unwrap();
    room.write("a.txt", "one\n").unwrap();
    Interlock::new(INTERLOCK, &room).init().unwrap();
    room
}

/// Puts the shell script `body` before every hook command for `PreToolUse`; the hook is its arguments.
pub(crate) fn wrap_hooks(room: &Room, body: &str) {
    let wrapper = room.script("wrapper", body).unwrap();
    let wrapper = wrapper.to_str().unwrap();
    let settings = room.read(".claude/settings.json").unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    for entry in settings["hooks"]["PreToolUse"].as_array_mut().unwrap() {
        for hook in entry["hooks"].as_array_mut().unwrap() {
            let command = hook["command"].as_str().unwrap().to_owned();
            if let Some(arguments) = hook.get_mut("args").and_then(Value::as_array_mut) {
                arguments.insert(0, json!(command));
                hook["command"] = json!(wrapper);
            } else {
                hook["command"] = json!(format!("{wrapper} {command}"));
            }
        }
    }
    room.write(".claude/settings.json", &settings.to_string())
        .unwrap();
}

pub(crate) fn bash(command: &str) -> Say {
    call("Bash", json!({"command": command, "description": "a line"}))
}

pub(crate) fn transition(event: &str) -> Say {
    call(
        "mcp__interlock__interlock_transition",
        json!({"event": event}),
    )
}

pub(crate) fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

/// Checks that a call did not run, and that the model can read the refusal: the code, and every one of `words`.
#[track_caller]
pub(crate) fn refused(call: &Call, code: &str, words: &[&str]) {
    assert!(call.failed, "{call:#?}");
    for word in [&[code], words].concat() {
        assert!(call.result.contains(word), "no `{word}` in {call:#?}");
    }
}

#[track_caller]
pub(crate) fn ran(call: &Call) {
    assert!(!call.failed, "{call:#?}");
}

pub(crate) fn plan_then_build() -> Value {
    json!({
        "id": "plan-then-build", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read", "Bash"], "on": {"READY": "building"}},
            "building": {
                "allowed_tools": ["Read", "Edit", "Write", "Bash"], "max_edit_lines": 20,
                "instructions": MARK, "on": {"DONE": "complete"},
            },
            "complete": {"type": "final"},
        },
    })
}
