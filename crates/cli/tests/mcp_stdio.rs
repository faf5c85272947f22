//! MCP over standard streams through the built program, in front of servers that misbehave.
//!
//! Most tests run three times: against the server directly, which shows that the test itself is right; through the
//! gateway without a run; and under a run whose only state allows everything.

mod calls;
mod eras;
mod faults;
mod lists;
mod verbatim;

use std::{fs, path::PathBuf, process::Command};

use interlock_testkit::{mcp::stdio::Client, programs, room::Room};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// How a client reaches its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Without the gateway.
    Direct,
    /// Through the gateway of a project without a run.
    Free,
    /// Through the gateway of a project whose policy's only state allows everything.
    AllowAll,
}

const WAYS: [Way; 3] = [Way::Direct, Way::Free, Way::AllowAll];
const THROUGH: [Way; 2] = [Way::Free, Way::AllowAll];

/// A project, and the way to its server.
struct World {
    room: Room,
    way: Way,
}

impl World {
    fn new(way: Way) -> Self {
        let world = Self {
            room: Room::new().unwrap(),
            way,
        };
        world.configure("");
        world
    }

    /// Writes the configuration of the project, with its policy if it has one.
    fn configure(&self, config: &str) {
        if self.way == Way::AllowAll {
            let workflow = json!({
                "id": "policy", "initial": "working",
                "states": {
                    "working": {"on": {"DONE": "complete"}},
                    "complete": {"type": "final"},
                },
            });
            self.room.write_policy(&workflow, config).unwrap();
        } else {
            self.room.write(".interlock/config.toml", config).unwrap();
        }
    }

    /// Returns what the server has received, line by line.
    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.room.path("server.log")
    }

    /// Returns the command that starts the scripted server, with or without the gateway in front of it.
    fn command(&self, settings: &Value) -> Command {
        let mut settings = settings.clone();
        settings["log"] = json!(self.log_path());
        let script = script();
        self.wrapped(&[&script.to_string_lossy(), &settings.to_string()])
    }

    fn wrapped(&self, words: &[&str]) -> Command {
        let (program, words) = words.split_first().unwrap();
        if self.way == Way::Direct {
            let mut command = self.room.command(program);
            command.args(words);
            return command;
        }
        let mut command = self.room.command(INTERLOCK);
        command.args(["gateway", "--", program]).args(words);
        command
    }

    /// Opens a session in the newest protocol version with sessions.
    fn open(&self, settings: &Value) -> Client {
        self.open_as(settings, "2025-11-25", &able()).0
    }

    fn open_as(&self, settings: &Value, version: &str, capabilities: &Value) -> (Client, Value) {
        Client::open(self.command(settings), version, capabilities).unwrap()
    }
}

fn script() -> PathBuf {
    programs::built("interlock-testkit", "mcp-script", INTERLOCK).unwrap()
}

/// Returns the capabilities of a client that can answer everything.
fn able() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": true}})
}

/// Returns the arguments of the tool `do`.
fn steps(steps: Value) -> Value {
    json!({ "steps": steps })
}

/// Returns a log message, as a server sends it.
fn note(text: &str) -> Value {
    json!({"send": {"method": "notifications/message", "params": {"level": "info", "data": text}}})
}

fn is_note(message: &Value, text: &str) -> bool {
    message["method"] == "notifications/message" && message["params"]["data"] == text
}

/// Returns the text of a tool's result.
fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}
