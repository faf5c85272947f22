//! Other deciders in a client: ways past the hooks, each tried with the real client.
//!
//! The results are in `docs/src/real-clients.md`.

mod codex;
mod copilot;
mod gemini;
mod opencode;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::e2e_clients::guarded::{Guarded, INTERLOCK};
use crate::e2e_clients::page;
use interlock_testkit::client::{Client, Outcome, Session};
use interlock_testkit::proposal::{Proposal, Script};
use interlock_testkit::sample;
use serde_json::{Value, json};

const FORBIDDEN: &str = "touch ran.txt";

/// The fate of the forbidden command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Refused by the hook.
    Refused,
    /// The session is stopped before its model is asked.
    NotBegun,
    /// It runs, and `doctor` or `status` names the cause with this word.
    Runs(&'static str),
}

impl Fate {
    fn words(self) -> &'static str {
        match self {
            Fate::Refused => "refused",
            Fate::NotBegun => "the session does not begin",
            Fate::Runs(_) => "**runs**",
        }
    }
}

/// A way past the hooks.
struct Way {
    what: &'static str,
    lay: fn(&Guarded),
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    fate: Fate,
}

const fn way(what: &'static str, lay: fn(&Guarded), fate: Fate) -> Way {
    Way {
        what,
        lay,
        arguments: &[],
        variables: &[],
        fate,
    }
}

impl Way {
    const fn with(self, arguments: &'static [&'static str]) -> Way {
        Way { arguments, ..self }
    }

    const fn and(self, variables: &'static [(&'static str, &'static str)]) -> Way {
        Way { variables, ..self }
    }
}

fn nothing(_: &Guarded) {}

fn workflow() -> Value {
    json!({
        "id": "held", "initial": "looking",
        "states": {
            "looking": {"allowed_tools": ["Read", "Bash"], "on": {"DONE": "over"}},
            "over": {"type": "final"},
        },
    })
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Changes a JSON file; a missing one counts as an empty object.
fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
    let mut value = serde_json::from_str(&text).unwrap();
    change(&mut value);
    put(path, &value.to_string());
}

/// Returns a program outside the project that prints this, after `wait` seconds.
fn says(guarded: &Guarded, answer: &Value, wait: u32) -> String {
    let body = format!("cat >/dev/null\nsleep {wait}\ncat <<'END'\n{answer}\nEND");
    let path = guarded.room.script("other-hook", &body).unwrap();
    path.to_string_lossy().into_owned()
}

/// Adds an entry to the list of an event.
fn add(path: &Path, event: &str, entry: Value, first: bool) {
    change(path, |settings| {
        let list = &mut settings["hooks"][event];
        let mut entries = list.as_array().cloned().unwrap_or_default();
        entries.insert(if first { 0 } else { entries.len() }, entry);
        *list = Value::from(entries);
    });
}

fn project(guarded: &Guarded, file: &str) -> PathBuf {
    guarded.room.project().join(file)
}

fn home(guarded: &Guarded, file: &str) -> PathBuf {
    guarded.room.home().join(file)
}

/// Runs a session in which the model first proposes a permitted call, then a forbidden one.
fn played(client: Client, way: &Way) -> (Guarded, Outcome, String) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    (way.lay)(&guarded);
    guarded.start(&workflow());
    let status = Arc::new(Mutex::new(String::new()));
    let (kept, project) = (Arc::clone(&status), guarded.room.project());
    let environment = guarded.room.environment();
    let script = Script::new(move |turn| match turn {
        0 => Some(Proposal::shell("grep one a.txt")),
        1 => {
            let mut command = std::process::Command::new(INTERLOCK);
            command.arg("status").current_dir(&project).env_clear();
            let output = command.envs(environment.iter().cloned()).output();
            let text = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
            kept.lock().unwrap().push_str(&text);
            Some(Proposal::shell(FORBIDDEN))
        }
        _ => None,
    });
    let mut session = Session::new(client, &guarded.room, script);
    for argument in way.arguments {
        session = session.arg(argument);
    }
    for (name, value) in way.variables {
        session = session.env(name, value);
    }
    let outcome = session.run().unwrap();
    let status = status.lock().unwrap().clone();
    (guarded, outcome, status)
}

/// Returns the fate of the forbidden command in one session.
fn tried(client: Client, way: &Way) -> Fate {
    let (guarded, outcome, status) = played(client, way);
    let ran = guarded.room.read("ran.txt").is_some();
    let about = format!("{}: {}: {outcome:#?}", client.label(), way.what);
    if ran {
        let Fate::Runs(word) = way.fate else {
            panic!("it ran: {about}");
        };
        // Not prevented, but never silent.
        let doctor = guarded.interlock().run(&["doctor"]).unwrap();
        let told = status + &String::from_utf8_lossy(&doctor.stdout);
        assert!(told.contains(word), "`{word}` is not named: {told}");
        return Fate::Runs(word);
    }
    if outcome.requests.is_empty() {
        let said = outcome.stdout + &outcome.stderr;
        let run = guarded.interlock().json(&["status"]).unwrap();
        assert_eq!(run["status"], "paused", "{about}");
        // These two show nothing of a hook without a screen; `status` names it.
        let silent = matches!(client, Client::Copilot | Client::Codex(_));
        let shown = silent || said.contains("may overrule");
        assert!(shown, "nobody is told why: {said}");
        return Fate::NotBegun;
    }
    let refused = outcome.results.iter().any(|it| it.contains("shell_write"));
    assert!(refused, "{about}");
    Fate::Refused
}

/// Tries today's ways, one in two; the page contains all of them.
#[track_caller]
fn all(client: Client, ways: &[Way]) {
    let mut rows = vec![vec![
        "beside the hooks".to_owned(),
        "the forbidden command".to_owned(),
    ]];
    let mut seen = Vec::new();
    for (index, way) in ways.iter().enumerate() {
        let fate = if sample::has(index, 2) {
            tried(client, way)
        } else {
            way.fate
        };
        seen.push(fate);
        rows.push(vec![way.what.to_owned(), fate.words().to_owned()]);
    }
    let wanted: Vec<Fate> = ways.iter().map(|way| way.fate).collect();
    assert_eq!(seen, wanted, "{}", client.label());
    let name = format!("overrulers of {}", client.id());
    page::assert_holds("real-clients.md", &name, &page::table(&rows));
}
