//! Every real client with every fault of its hook: does the forbidden command run?
//!
//! The results are in `docs/src/real-clients.md`.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use crate::e2e_clients::guarded::{Guarded, INTERLOCK, ended_well};
use crate::e2e_clients::page;
use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Session, Tools};
use interlock_testkit::interlock::{damage, databases, pinned};
use interlock_testkit::proposal::{Proposal, Script};
use serde_json::{Value, json};

const CLIENTS: [Client; 6] = [
    Client::ClaudeCode(Version::V2_1_332),
    Client::ClaudeCode(Version::V2_1_197),
    Client::Codex(Tools::Code),
    Client::Gemini,
    Client::Copilot,
    Client::Opencode,
];
/// A word unique to the workflow, by which the pinned copy is found.
const MARK: &str = "pinned-by-this-word";

/// A fault of the hook before a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Works,
    Exits,
    Killed,
    Missing,
    Garbage,
    Silent,
    Malformed,
    Store,
    Workflow,
    Late,
}

impl Way {
    /// All but the last fit in one session; for the last, the client's timeout is set low.
    const ALL: [Way; 10] = [
        Way::Works,
        Way::Exits,
        Way::Killed,
        Way::Missing,
        Way::Garbage,
        Way::Silent,
        Way::Malformed,
        Way::Store,
        Way::Workflow,
        Way::Late,
    ];

    fn words(self) -> &'static str {
        match self {
            Way::Works => "works",
            Way::Exits => "ends with exit code 1",
            Way::Killed => "is killed",
            Way::Missing => "is not there",
            Way::Garbage => "prints something else",
            Way::Silent => "prints nothing",
            Way::Malformed => "is handed half of its input",
            Way::Store => "finds the run's log damaged",
            Way::Workflow => "finds the pinned workflow damaged",
            Way::Late => "takes longer than the client waits",
        }
    }

    /// Returns the shell line that replaces the hook; `None` for Interlock itself.
    fn body(self) -> Option<&'static str> {
        match self {
            Way::Exits => Some("exit 1"),
            Way::Killed => Some("kill -9 $$"),
            Way::Garbage => Some("echo garbage; exit 0"),
            Way::Silent => Some("exit 0"),
            Way::Malformed => Some("input=$(head -c 40); exec 0<<END\n$input\nEND"),
            Way::Late => Some("exec sleep 20"),
            Way::Works | Way::Missing | Way::Store | Way::Workflow => None,
        }
    }

    fn file(self) -> String {
        format!("{self:?}.txt").to_lowercase()
    }
}

fn workflow() -> Value {
    json!({
        "id": "broken", "initial": "planning",
        "states": {
            "planning": {
                "allowed_tools": ["Read", "Bash"], "instructions": MARK, "on": {"READY": "done"},
            },
            "done": {"type": "final"},
        },
    })
}

/// The program that replaces the hook, and its next behavior.
struct Stand {
    program: PathBuf,
    run: String,
    state: PathBuf,
    /// The original content of damaged files.
    whole: Mutex<Vec<(PathBuf, Vec<u8>)>>,
}

impl Stand {
    /// Replaces the program that is called before each tool.
    fn new(guarded: &Guarded, wait_s: Option<u64>) -> Stand {
        let folder = guarded.room.path("hook");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("interlock");
        let file = guarded.hook_file();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, stood_in(guarded.client, &text, &program, wait_s)).unwrap();
        let run = guarded.start(&workflow());
        let (state, whole) = (guarded.room.state(), Mutex::default());
        let stand = Stand {
            program,
            run,
            state,
            whole,
        };
        stand.act(Way::Works);
        // Another program decides in the hook's place: a person has to accept it.
        let doctor = ["doctor", "--accept"];
        guarded.interlock().by_a_person(&doctor).unwrap_or_default();
        stand
    }

    /// Makes the hook behave in this way from now on, and everything else correctly.
    fn act(&self, way: Way) {
        let mut whole = self.whole.lock().unwrap();
        for (path, bytes) in whole.drain(..) {
            fs::write(path, bytes).unwrap();
        }
        let body = way.body().unwrap_or_default();
        let script = format!("#!/bin/sh\n{body}\nexec '{INTERLOCK}' \"$@\"\n");
        // Written to another file and moved, because a hook may just be starting it.
        let beside = self.program.with_extension("new");
        fs::write(&beside, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&beside, mode).unwrap();
        fs::rename(&beside, &self.program).unwrap();
        let damaged = match way {
            Way::Missing => {
                fs::remove_file(&self.program).unwrap();
                return;
            }
            Way::Store => databases(&self.state, &self.run).unwrap(),
            Way::Workflow => pinned(&self.state, MARK).unwrap(),
            _ => return,
        };
        for path in damaged {
            whole.push((path.clone(), fs::read(&path).unwrap()));
            damage(&path).unwrap();
        }
    }
}

/// Returns settings in which each hook calls `program`, by its path.
fn calling(settings: &str, program: &str) -> String {
    let called = [
        (
            "interlock interlock hook",
            format!("interlock {program} hook"),
        ),
        ("PROGRAM = \"interlock\"", format!("PROGRAM = {program:?}")),
    ];
    let by_name = called.iter().find(|(name, _)| settings.contains(name));
    let (name, path) = by_name.unwrap();
    settings.replace(name, path)
}

/// Returns the client's hook file with `program` before each tool, and another timeout if given.
fn stood_in(client: Client, text: &str, program: &std::path::Path, wait_s: Option<u64>) -> String {
    let program = program.to_str().unwrap();
    if client == Client::Opencode {
        let text = calling(text, program);
        let wait = wait_s.map_or_else(|| "60_000".to_owned(), |wait| (wait * 1000).to_string());
        return text.replace("DEADLINE_MS = 10_000", &format!("DEADLINE_MS = {wait}"));
    }
    let mut settings: Value = serde_json::from_str(text).unwrap();
    let (event, unit) = match client {
        Client::Gemini => ("BeforeTool", 1000),
        Client::Copilot => ("preToolUse", 1),
        _ => ("PreToolUse", 1),
    };
    let before = calling(&settings["hooks"][event].to_string(), program);
    let mut before: Value = serde_json::from_str(&before).unwrap();
    let wait = json!(wait_s.unwrap_or(120) * unit);
    for entry in before.as_array_mut().unwrap() {
        if client == Client::Copilot {
            entry["timeoutSec"] = wait.clone();
            continue;
        }
        for hook in entry["hooks"].as_array_mut().unwrap() {
            hook["timeout"] = wait.clone();
        }
    }
    settings["hooks"][event] = before;
    settings.to_string()
}

/// Returns for each fault whether the command ran, in one session.
fn played(client: Client, ways: &'static [Way], wait_s: Option<u64>) -> Vec<(Way, bool)> {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let stand = std::sync::Arc::new(Stand::new(&guarded, wait_s));
    let acting = std::sync::Arc::clone(&stand);
    let script = Script::new(move |turn| {
        let Some(way) = ways.get(turn) else {
            acting.act(Way::Works);
            return (turn == ways.len()).then(|| Proposal::shell("grep one a.txt"));
        };
        acting.act(*way);
        Some(Proposal::shell(&format!("touch {}", way.file())))
    });
    let mut session = Session::new(client, &guarded.room, script);
    if matches!(client, Client::Codex(_)) {
        // The line differs from the trusted one.
        session = session.arg("--dangerously-bypass-hook-trust");
    }
    let outcome = ended_well(session);
    let (last, before) = outcome.results.split_last().unwrap();
    // After any fault, permitted calls run again once it is repaired.
    assert!(last.contains("one"), "{}: {outcome:#?}", client.label());
    assert_eq!(before.len(), ways.len(), "{}", client.label());
    let ran = |way: &Way| (*way, guarded.room.read(&way.file()).is_some());
    ways.iter().map(ran).collect()
}

fn all(client: Client) -> Vec<(Way, bool)> {
    let (late, rest) = Way::ALL.split_last().unwrap();
    let mut seen = played(client, rest, None);
    seen.extend(played(client, std::slice::from_ref(late), Some(2)));
    seen
}

#[test]
fn a_broken_hook_blocks_wherever_the_client_gives_a_way() {
    let seen: Vec<(Client, Vec<(Way, bool)>)> = thread::scope(|scope| {
        let playing = CLIENTS.map(|client| (client, scope.spawn(move || all(client))));
        playing
            .into_iter()
            .map(|(client, played)| (client, played.join().unwrap()))
            .collect()
    });
    page::assert_holds("real-clients.md", "broken hooks", &rows(&seen));
    for (client, ways) in &seen {
        let ran: Vec<Way> = ways
            .iter()
            .filter(|(_, ran)| *ran)
            .map(|(way, _)| *way)
            .collect();
        let wanted: &[Way] = match client {
            Client::ClaudeCode(Version::V2_1_332) | Client::Opencode => &[],
            _ => &[Way::Late],
        };
        assert_eq!(ran, wanted, "{}", client.label());
    }
}

fn rows(seen: &[(Client, Vec<(Way, bool)>)]) -> String {
    let clients = seen.iter().map(|(client, _)| client.label());
    let mut rows = vec![[vec!["the hook".to_owned()], clients.collect()].concat()];
    for way in Way::ALL {
        let cells = seen.iter().map(|(_, ways)| {
            let ran = ways.iter().any(|(other, ran)| *other == way && *ran);
            if ran { "**runs**" } else { "blocked" }.to_owned()
        });
        rows.push([vec![way.words().to_owned()], cells.collect()].concat());
    }
    page::table(&rows)
}
