//! A project with a pipeline, and a provider for its models.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use interlock_testkit::{
    provider::{Provider, Script},
    room::Room,
    terminal,
};
use serde_json::Value;

pub(crate) const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// Starts a run whose requests stay pending until they are answered elsewhere.
pub(crate) const RUN_UNATTENDED: [&str; 8] = [
    "run",
    "flow",
    "it",
    "-n",
    "one",
    "--ask",
    "remote",
    "--no-wait",
];
/// The pipeline of the book's page.
pub(crate) const CODE_REVIEW: &str = include_str!("code_review.yaml");

/// A project with a pipeline.
pub(crate) struct Place {
    pub(crate) room: Room,
    pub(crate) provider: Provider,
    kind: &'static str,
    token: String,
}

/// Output and exit code of a call.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "no `{word}` in: {self:?}");
        }
        self
    }
}

impl Place {
    /// Makes a project whose models speak the protocol `kind` and answer as `script` says.
    pub(crate) fn new(kind: &'static str, pipeline: &str, script: Script) -> Self {
        let room = Room::new().unwrap();
        room.write(".interlock/workflows/flow.yaml", pipeline)
            .unwrap();
        room.write(
            "src/auth.rs",
            "pub fn check(token: &str) -> bool {\n    token == \"open\"\n}\n",
        )
        .unwrap();
        fs::create_dir_all(room.config().join("interlock")).unwrap();
        let config = format!("default_model = \"{kind}/scripted\"\n");
        fs::write(room.config().join("interlock/config.toml"), config).unwrap();
        let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        let token = text.lines().last().unwrap().to_owned();
        Self {
            room,
            provider: Provider::start(script).unwrap(),
            kind,
            token,
        }
    }

    /// Returns a command of the program, without a terminal.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.room.command(INTERLOCK);
        command.args(arguments).stdin(Stdio::null());
        let (url, key, address) = match self.kind {
            "openai" => (
                "OPENAI_BASE_URL",
                "OPENAI_API_KEY",
                format!("{}/v1", self.provider.url()),
            ),
            _ => (
                "ANTHROPIC_BASE_URL",
                "ANTHROPIC_API_KEY",
                self.provider.url(),
            ),
        };
        command.env(url, address).env(key, "a-key");
        command
    }

    /// Returns a command of the program with the person's token, as in a script.
    pub(crate) fn persons(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("INTERLOCK_TOKEN", &self.token);
        command
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Said {
        said(&mut self.command(arguments))
    }

    pub(crate) fn by_person(&self, arguments: &[&str]) -> Said {
        said(&mut self.persons(arguments))
    }

    /// Returns the events of the newest run.
    pub(crate) fn events(&self) -> Vec<Value> {
        let said = self.call(&["log", "--json"]).ended(0);
        let lines = said.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the names of the newest run's events.
    pub(crate) fn names(&self) -> Vec<String> {
        let events = self.events();
        let names = events
            .iter()
            .map(|event| event["event"].as_str().unwrap().to_owned());
        names.collect()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|known| *known == name).count()
    }

    /// Returns the newest run, as `status` prints it.
    pub(crate) fn status(&self) -> Value {
        let said = self.call(&["status", "--json"]).ended(0);
        serde_json::from_str(&said.out).unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.room.project()
    }

    /// Returns all requests to the models, one after the other, as one text.
    pub(crate) fn sent(&self) -> String {
        let asked = self.provider.asked();
        let lines = asked
            .iter()
            .map(|asked| String::from_utf8(asked.bytes.clone()).unwrap());
        let text: Vec<String> = lines.collect();
        text.join("\n") + "\n"
    }
}

fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Waits until `is` returns `true`; fails after a minute.
pub(crate) fn wait_until(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "waited for {what}"
        );
        thread::yield_now();
    }
}

/// Compares a text with a golden file. `INTERLOCK_BLESS=1` writes the file: review the changes.
#[track_caller]
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/stages/golden")
        .join(name);
    if std::env::var_os("INTERLOCK_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{name}: `INTERLOCK_BLESS=1` writes it anew");
}
