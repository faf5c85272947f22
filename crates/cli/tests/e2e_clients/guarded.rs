//! A project that Interlock guards, with one real client installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use interlock_testkit::client::{Client, Outcome, Session};
use interlock_testkit::interlock::Interlock;
use interlock_testkit::programs;
use interlock_testkit::proposal::Script;
use interlock_testkit::room::Room;
use serde_json::Value;

/// The program under test.
pub(crate) const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// The workflow file, as given on the command line.
pub(crate) const WORKFLOW: &str = "workflow.json";

/// A project with one client and Interlock's hooks.
pub(crate) struct Guarded {
    pub(crate) client: Client,
    pub(crate) room: Room,
}

impl Guarded {
    /// Returns a room with the client installed, `files` in the project, and the hooks written.
    pub(crate) fn new(client: Client, files: &[(&str, &str)]) -> Guarded {
        Guarded::in_room(client, Room::new().unwrap(), files)
    }

    /// Returns the same in an existing room.
    pub(crate) fn in_room(client: Client, room: Room, files: &[(&str, &str)]) -> Guarded {
        for (path, text) in files {
            room.write(path, text).unwrap();
        }
        let guarded = Guarded { client, room };
        guarded.add(client);
        guarded
    }

    /// Installs another client in addition, with its own hooks.
    pub(crate) fn add(&self, client: Client) {
        let stub = programs::built("interlock-testkit", "mcp-stub", INTERLOCK).unwrap();
        client.install(&self.room, &stub).unwrap();
        self.interlock().init().unwrap();
    }

    /// Starts a workflow for the next session and returns the run's id.
    pub(crate) fn start(&self, workflow: &Value) -> String {
        self.room.write(WORKFLOW, &workflow.to_string()).unwrap();
        self.interlock().start(WORKFLOW).unwrap()
    }

    pub(crate) fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    /// Runs a session and checks that the client itself succeeded.
    pub(crate) fn session(&self, script: Script) -> Outcome {
        self.session_of(self.client, script)
    }

    /// Runs a session of another client in the room.
    pub(crate) fn session_of(&self, client: Client, script: Script) -> Outcome {
        ended_well(Session::new(client, &self.room, script))
    }

    /// Returns the verdict on every proposal in the run's log, in order.
    pub(crate) fn verdicts(&self, run: &str) -> Vec<String> {
        let events = self.interlock().events(run).unwrap();
        events.iter().filter_map(verdict).collect()
    }

    /// Returns the project's own files, without those of clients, git and Interlock's settings.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.room.project(), Path::new(""), &mut files);
        files
    }

    /// Returns the file with the client's hooks, or its plugin.
    pub(crate) fn hook_file(&self) -> PathBuf {
        self.room.project().join(match self.client {
            Client::ClaudeCode(_) => ".claude/settings.json",
            Client::Codex(_) => ".codex/hooks.json",
            Client::Gemini => ".gemini/settings.json",
            Client::Copilot => ".github/hooks/interlock.json",
            Client::Opencode => ".opencode/plugins/interlock.ts",
        })
    }
}

/// Runs a session and checks that the client itself succeeded.
pub(crate) fn ended_well(session: Session<'_>) -> Outcome {
    let outcome = session.run().unwrap();
    assert_eq!(outcome.exit, Some(0), "{outcome:#?}");
    outcome
}

/// Returns the verdict that an event records, if it records one.
fn verdict(event: &Value) -> Option<String> {
    match event["event"].as_str()? {
        "CallAllowed" if event["source"] == "control" => None,
        "CallAllowed" => Some("allowed".to_owned()),
        "CallDenied" | "TransitionRejected" => event["refusal"]["code"].as_str().map(str::to_owned),
        "RunCompleted" | "RunFailed" | "RunStarted" => None,
        _ => event["to"].as_str().map(|state| format!("to {state}")),
    }
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let name = entry.unwrap().file_name();
        let path = below.join(&name);
        // Settings of clients, git and Interlock are in folders whose names start with a dot.
        let settings = ["opencode.json", WORKFLOW]
            .map(str::as_ref)
            .contains(&name.as_os_str());
        if settings || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if root.join(&path).is_dir() {
            collect(root, &path, files);
        } else {
            let text = fs::read_to_string(root.join(&path)).unwrap();
            files.insert(path.to_string_lossy().into_owned(), text);
        }
    }
}
