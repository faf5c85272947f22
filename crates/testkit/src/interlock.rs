//! The built `interlock` program, called in a [`Room`].

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use crate::room::{Room, expect_success};

/// How every SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The program under test in one room.
#[derive(Debug, Clone, Copy)]
pub struct Interlock<'a> {
    program: &'a str,
    room: &'a Room,
}

impl<'a> Interlock<'a> {
    /// Takes the program that Cargo built, `env!("CARGO_BIN_EXE_interlock")`.
    pub fn new(program: &'a str, room: &'a Room) -> Interlock<'a> {
        Interlock { program, room }
    }

    /// Runs it to its end, whatever that is.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Output> {
        let mut command = self.room.command(self.program);
        command.args(arguments).stdin(Stdio::null()).output()
    }

    /// Runs it and takes the one JSON document it prints; any end but success is an error.
    pub fn json(&self, arguments: &[&str]) -> io::Result<Value> {
        let output = self.run(&[arguments, &["--json"]].concat())?;
        expect_success(&format!("interlock {}", arguments.join(" ")), &output)?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }

    /// Runs it as a person does, at a terminal; any end but success is an error.
    pub fn by_a_person(&self, arguments: &[&str]) -> io::Result<()> {
        let mut command = self.room.command(self.program);
        let output = crate::terminal::output(command.args(arguments))?;
        expect_success(&format!("interlock {}", arguments.join(" ")), &output)
    }

    /// The token of the person, as it is shown at a terminal.
    pub fn token(&self) -> io::Result<String> {
        let mut command = self.room.command(self.program);
        let shown = crate::terminal::output(command.arg("token"))?;
        expect_success("interlock token", &shown)?;
        let text = String::from_utf8(shown.stdout).map_err(io::Error::other)?;
        let token = text.lines().last().unwrap_or_default();
        Ok(token.to_owned())
    }

    /// Installs hooks and the MCP server into the project, with the program on the `PATH` as a person has it.
    pub fn init(&self) -> io::Result<()> {
        if !self.room.path("bin/interlock").exists() {
            self.room.install("interlock", self.program.as_ref())?;
        }
        expect_success("interlock init", &self.run(&["init", "--yes"])?)
    }

    /// Starts a workflow file for the next session of the project and returns the run's id.
    pub fn start(&self, workflow: &str) -> io::Result<String> {
        run_id(&self.json(&["start", workflow])?)
    }

    /// Starts a workflow file for one client session and returns the run's id.
    pub fn start_for_session(&self, workflow: &str, session: &str) -> io::Result<String> {
        run_id(&self.json(&["start", workflow, "--session", session])?)
    }

    /// Where the run stands.
    pub fn status(&self, run: &str) -> io::Result<Value> {
        self.json(&["status", run])
    }

    /// The events of the run, one JSON object each.
    pub fn events(&self, run: &str) -> io::Result<Vec<Value>> {
        let output = self.run(&["log", run, "--json"])?;
        expect_success("interlock log", &output)?;
        let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
        text.lines()
            .map(|line| serde_json::from_str(line).map_err(io::Error::other))
            .collect()
    }

    /// Checks the chain of the run's log.
    pub fn verify(&self, run: &str) -> io::Result<()> {
        expect_success(
            "interlock log --verify",
            &self.run(&["log", run, "--verify"])?,
        )
    }

    /// Starts a hook process of Claude Code and hands it its input.
    pub fn hook(&self, input: &Value) -> io::Result<Child> {
        self.hook_of("claude-code", None, input, &[])
    }

    /// Starts a hook process of a client and hands it its input; `event` where its line names that.
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
            // A hook that is gone before it has read everything is the test's affair.
            drop(stdin.write_all(input.to_string().as_bytes()));
        }
        Ok(child)
    }
}

/// The files below the state directory in which the run's events are kept, journals included.
///
/// # Errors
/// When there is no database that belongs to the run.
pub fn databases(state: &Path, run: &str) -> io::Result<Vec<PathBuf>> {
    let mine = |path: &PathBuf| path.to_string_lossy().contains(run);
    let files: Vec<PathBuf> = files(state)?.into_iter().filter(mine).collect();
    let database = files.iter().find(|path| is_database(path));
    let database = database.ok_or_else(|| io::Error::other(format!("no database of run {run}")))?;
    let stem = database.to_string_lossy().into_owned();
    let journal = |path: &PathBuf| path.to_string_lossy().starts_with(&stem);
    Ok(files.into_iter().filter(journal).collect())
}

/// The files below the state directory that hold the pinned copy of a workflow, known by a word that only it has.
///
/// # Errors
/// When no file holds the word.
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

/// Every file below `directory`, in order of their paths.
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

/// What Claude Code tells its hook before a tool runs.
pub fn before_tool(room: &Room, session: &str, id: &str, tool: &str, input: &Value) -> Value {
    json!({
        "session_id": session, "cwd": room.project(), "permission_mode": "bypassPermissions",
        "transcript_path": room.home().join(format!(".claude/projects/p/{session}.jsonl")),
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": id,
    })
}

/// Overwrites everything in `file` behind the first sixteen bytes, in place.
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
