//! A project with workflows of steps, and a person who has a token.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use interlock_testkit::{room::Room, terminal};
use serde_json::Value;

pub(crate) const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// A project with workflows below `.flowstate/`.
pub(crate) struct Place {
    pub(crate) room: Room,
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
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns the lines of JSON on standard output.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
            .collect()
    }

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
    pub(crate) fn new() -> Self {
        let room = Room::new().unwrap();
        let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        let token = text.lines().last().unwrap().to_owned();
        Self { room, token }
    }

    /// Makes a project with one workflow.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        let place = Self::new();
        place.flow(name, text);
        place
    }

    /// Writes a workflow to the project.
    pub(crate) fn flow(&self, name: &str, text: &str) {
        let path = format!(".flowstate/{name}.yaml");
        self.room.write(&path, text).unwrap();
    }

    /// Returns a command of the program, without a terminal.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.room.command(INTERLOCK);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Returns a command of the program with the person's token, as in a script.
    pub(crate) fn persons(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("INTERLOCK_TOKEN", &self.token);
        command
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    pub(crate) fn by_person(&self, arguments: &[&str]) -> Said {
        Said::of(&self.persons(arguments).output().unwrap())
    }

    pub(crate) fn status(&self, run: &str) -> Value {
        let said = self.call(&["status", run, "--json"]).ended(0);
        serde_json::from_str(&said.out).unwrap()
    }

    /// Returns the path of a file in the run directory.
    pub(crate) fn file(&self, run: &str, name: &str) -> PathBuf {
        let status = self.status(run);
        PathBuf::from(status["directory"].as_str().unwrap()).join(name)
    }

    /// Returns the names of a run's events.
    pub(crate) fn events(&self, run: &str) -> Vec<String> {
        let said = self.call(&["log", run, "--json"]).ended(0);
        let names = said.lines().into_iter().map(|line| line["event"].clone());
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }

    /// Makes a pipe in the project, to which a step writes once it runs.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.room.project().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }
}

/// Waits for the line that a step writes to a pipe, and returns it.
pub(crate) fn told(pipe: &PathBuf) -> String {
    let mut line = String::new();
    BufReader::new(File::open(pipe).unwrap())
        .read_line(&mut line)
        .unwrap();
    line.trim().to_owned()
}

/// Starts a command whose outputs are captured.
pub(crate) fn begin(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end of a command, and returns its output and exit code.
pub(crate) fn end(child: Child) -> Said {
    Said::of(&child.wait_with_output().unwrap())
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.unwrap().success());
}
