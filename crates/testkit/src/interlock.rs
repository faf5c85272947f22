//! Runs the built `interlock` program in a [`Room`].

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use crate::room::{Room, expect_success};

/// The first bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The program under test in one room.
#[derive(Debug, Clone, Copy)]
pub struct Interlock<'a> {
    program: &'a str,
    room: &'a Room,
}

impl<'a> Interlock<'a> {
    /// Takes the path of the program that Cargo built, `env!("CARGO_BIN_EXE_interlock")`.
    pub fn new(program: &'a str, room: &'a Room) -> Interlock<'a> {
        Interlock { program, room }
    }

    /// Runs it to its end, successful or not.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = self.room.command(self.program);
        command.args(arguments).stdin(Stdio::null()).output()
    }

    /// Runs it and parses the JSON document that it prints; fails unless it succeeds.
    pub fn json(&self, arguments: &[&str]) -> io::Result<Value> {
        let output = self.run(&[arguments, &["--json"]].concat())?;
        expect_success(&format!("interlock {}", arguments.join(" ")), &output)?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }

    /// Runs it at a terminal, as a person does; fails unless it succeeds.
    pub fn by_a_person(&self, arguments: &[&str]) -> io::Result<()> {
        let mut command = self.room.command(self.program);
        let output = crate::terminal::output(command.args(arguments))?;
        expect_success(&format!("interlock {}", arguments.join(" ")), &output)
    }

    /// Returns the person's token, as shown at a terminal.
    pub fn token(&self) -> io::Result<String> {
        let mut command = self.room.command(self.program);
        let shown = crate::terminal::output(command.arg("token"))?;
        expect_success("interlock token", &shown)?;
        let text = String::from_utf8(shown.stdout).map_err(io::Error::other)?;
        let token = text.lines().last().unwrap_or_default();
        Ok(token.to_owned())
    }

    /// Installs hooks and the MCP server into the project, with the program on the `PATH` as for a person.
    pub fn init(&self) -> io::Result<()> {
        if !self.room.path("bin/interlock").exists() {
            self.room.install("interlock", self.program.as_ref())?;
        }
        expect_success("interlock init", &self.run(&["init", "--yes"])?)
    }

    /// Starts a workflow file for the project's next session; returns the run's id.
    pub fn start(&self, workflow: &str) -> io::Result<String> {
        run_id(&self.json(&["start", workflow])?)
    }

    /// Starts a workflow file for a client's session; returns the run's id.
    pub fn start_for_session(&self, workflow: &str, session: &str) -> io::Result<String> {
        run_id(&self.json(&["start", workflow, "--session", session])?)
    }

    /// Returns the status of a run.
    pub fn status(&self, run: &str) -> io::Result<Value> {
        self.json(&["status", run])
    }

    /// Returns the events of a run, one JSON object each.
    pub fn events(&self, run: &str) -> io::Result<Vec<Value>> {
        let output = self.run(&["log", run, "--json"])?;
        expect_success("interlock log", &output)?;
        let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
        text.lines()
            .map(|line| serde_json::from_str(line).map_err(io::Error::other))
            .collect()
    }

    /// Verifies the hash chain of a run's log.
    pub fn verify(&self, run: &str) -> io::Result<()> {
        expect_success(
            "interlock log --verify",
            &self.run(&["log", run, "--verify"])?,
        )
    }

    /// Starts a hook process of Claude Code and passes it its input.
    pub fn hook(&self, input: &Value) -> io::Result<Child> {
        self.hook_of("claude-code", None, input, &[])
    }

    /// Starts a hook process of a client and passes it its input; `event` is for clients whose command line names it.
    pub fn hook_of(
        &self,
        client: &str,
        event: Option<&str>,
        input: &Value,
        variables: &[(&str, &str)],
    ) -> io::Result<Child> {
        let mut command = self.room.command(self.program);
        command.args(["hook", client]).args(event);
        command.envs(variables.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A hook that exits before it has read everything is the test's concern.
            drop(stdin.write_all(input.to_string().as_bytes()));
        }
        Ok(child)
    }
}

/// Returns the files below the state directory that contain the run's events, including journals.
///
/// # Errors
/// There is no database of the run.
pub fn databases(state: &Path, run: &str) -> io::Result<Vec<PathBuf>> {
    let mine = |path: &PathBuf| path.to_string_lossy().contains(run);
    let files: Vec<PathBuf> = files(state)?.into_iter().filter(mine).collect();
    let database = files.iter().find(|path| is_database(path));
    let database = database.ok_or_else(|| io::Error::other(format!("no database of run {run}")))?;
    let stem = database.to_string_lossy().into_owned();
    let journal = |path: &PathBuf| path.to_string_lossy().starts_with(&stem);
    Ok(files.into_iter().filter(journal).collect())
}

/// Returns the files below the state directory that contain the pinned copy of a workflow, found by a word unique to
/// it.
///
/// # Errors
/// No file contains the word.
pub fn pinned(state: &Path, word: &str) -> io::Result<Vec<PathBuf>> {
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .windows(word.len())
            .any(|window| window == word.as_bytes())
    };
    let files: Vec<PathBuf> = files(state)?.into_iter().filter(holds).collect();
    if files.is_empty() {
        return Err(io::Error::other(
            "no pinned workflow in the state directory",
        ));
    }
    Ok(files)
}

/// Returns all files below `directory`, sorted by path.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns Claude Code's hook input before a tool runs.
pub fn before_tool(room: &Room, session: &str, id: &str, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": session, "cwd": room.project(), "permission_mode": "bypassPermissions",
        "transcript_path": room.home().join(format!(".claude/projects/p/{session}.jsonl")),
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": id,
    })
}

/// Overwrites everything in `file` after the first sixteen bytes, in place.
pub fn damage(file: &Path) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let kept = bytes.iter().take(SQLITE.len());
    let damaged: Vec<u8> = kept
        .copied()
        .chain(bytes.iter().skip(SQLITE.len()).map(|byte| !byte))
        .collect();
    fs::write(file, damaged)
}

fn is_database(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(SQLITE))
}

fn run_id(started: &Value) -> io::Result<String> {
    let run = started
        .get("run")
        .and_then(Value::as_str)
        .map(str::to_owned);
    run.ok_or_else(|| io::Error::other(format!("`interlock start` named no run: {started}")))
}
