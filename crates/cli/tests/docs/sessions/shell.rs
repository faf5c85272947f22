//! A person's shell in a separate project.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use interlock_testkit::{room::Room, terminal::Terminal};

use super::super::pages::{Block, repository};
use super::{
    agent,
    script::{Keys, Step},
    services::Services,
};

/// Rows and columns of the terminal.
const SIZE: (u16, u16) = (120, 250);

/// The programs of the clients.
const CLIENTS: [&str; 6] = [
    "claude",
    "codex",
    "gemini",
    "copilot",
    "cursor-agent",
    "opencode",
];

/// `program NAME TEXT` puts a script on the `PATH`; `run` and `request` print the ids of the newest run and of its
/// pending request.
const WORDS: &str = r#"
program() { printf '#!/bin/sh\n%s\n' "$2" > "$HOME/../bin/$1"; chmod +x "$HOME/../bin/$1"; }
run() { interlock runs --all --json | grep -o '"run":"[^"]*"' | cut -d'"' -f4 | sort | tail -n 1; }
request() { interlock status | grep -o 'a[0-9]* approval' | cut -d' ' -f1; }
"#;

/// A shell, with its current directory.
pub(super) struct Shell {
    pub(super) room: Room,
    directory: PathBuf,
    /// Number of calls that the agent has proposed.
    calls: usize,
    /// The files that the page has shown.
    placed: Vec<(String, String)>,
}

impl Shell {
    /// Creates a project and a home, and runs `prepare` in the project.
    pub(super) fn new(prepare: &str) -> Shell {
        let room = Room::new().unwrap();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_interlock"));
        room.install("interlock", program).unwrap();
        let directory = room.project();
        let mut shell = Shell {
            room,
            directory,
            calls: 0,
            placed: Vec::new(),
        };
        shell
            .prepare(prepare)
            .unwrap_or_else(|error| unreachable!("{error}"));
        shell
    }

    /// Begins with another project and another home, with the files that the page has shown.
    pub(super) fn begin_anew(&mut self, prepare: &str) {
        let placed = std::mem::take(&mut self.placed);
        *self = Shell::new(prepare);
        for (path, text) in placed {
            self.write(path, text);
        }
    }

    /// Writes the file that a block shows, if its first line names one; a workflow is put where its `id` is found.
    pub(super) fn place(&mut self, block: &Block) {
        let first = block.text.lines().next().unwrap_or_default();
        let named = first.strip_prefix("# ").filter(|name| !name.contains(' '));
        if let Some(name) = named.filter(|name| name.contains('.')) {
            self.write(name.to_owned(), block.text.clone());
        }
        if let Some(id) = first.strip_prefix("id: ") {
            self.write(
                format!(".interlock/workflows/{id}.yaml"),
                block.text.clone(),
            );
        }
    }

    fn write(&mut self, path: String, text: String) {
        self.room.write(&path, &text).unwrap();
        self.placed.push((path, text));
    }

    /// Runs shell commands at a terminal, and makes the agent's calls between them; nothing is compared.
    pub(super) fn prepare(&mut self, commands: &str) -> Result<(), String> {
        let mut waiting = String::new();
        for line in commands.lines() {
            if let Some(call) = line.strip_prefix("agent ") {
                self.run_unseen(&std::mem::take(&mut waiting))?;
                self.calls += 1;
                agent::propose(&self.room, call, self.calls)?;
            } else {
                waiting.push_str(line);
                waiting.push('\n');
            }
        }
        self.run_unseen(&waiting)
    }

    fn run_unseen(&self, commands: &str) -> Result<(), String> {
        if commands.trim().is_empty() {
            return Ok(());
        }
        match at_a_terminal(&self.bash(commands), &[])? {
            (0, _) => Ok(()),
            (code, screen) => Err(format!("the preparation ends with {code}:\n{screen}")),
        }
    }

    /// Replaces the placeholders of a page by the values of this run.
    pub(super) fn filled(&self, command: &str, step: &Step) -> String {
        let mut filled = command.to_owned();
        for (word, from) in &step.with {
            let other = self.printed(from);
            assert!(filled.contains(word), "`{command}`: no `{word}`");
            filled = filled.replace(word, other.trim());
        }
        filled
    }

    /// Runs a command at a terminal; returns its exit code and the text of the screen.
    pub(super) fn run(&mut self, command: &str, step: &Step) -> Result<(i32, String), String> {
        if let Some(directory) = command.strip_prefix("cd ") {
            self.directory.push(directory);
            return Ok((0, String::new()));
        }
        let services = Services::start(step);
        let mut bash = self.command("bash");
        bash.args(["-c", command]).envs(services.variables());
        let ended = at_a_terminal(&bash, &step.keys)?;
        // A command that failed says more than its servers.
        if ended.0 == step.exit {
            services.expect_used()?;
        }
        Ok(ended)
    }

    /// Returns the output of shell commands that are invisible on the page.
    pub(super) fn printed(&self, commands: &str) -> String {
        let output = self.bash(commands).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns to the project.
    pub(super) fn leave(&mut self) {
        self.directory = self.room.project();
    }

    /// Returns a shell for commands that are invisible on the page.
    fn bash(&self, commands: &str) -> Command {
        let mut bash = self.command("bash");
        bash.args(["-euc", &format!("{WORDS}\n{commands}")]);
        bash.env("REPOSITORY", repository());
        bash
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.room.command(program);
        command.current_dir(&self.directory);
        command.env("PATH", path(&self.room));
        command.envs([("USER", "ana"), ("LOGNAME", "ana"), ("NO_COLOR", "1")]);
        command.envs([("PAGER", "cat"), ("SHELL", "/bin/bash"), ("TERM", "xterm")]);
        for (name, email) in [("GIT_AUTHOR", "ana"), ("GIT_COMMITTER", "ana")] {
            command.env(format!("{name}_NAME"), email);
            command.env(format!("{name}_EMAIL"), "ana@example.com");
        }
        command
    }
}

/// Returns a `PATH` without any client of this machine: a page has only those that its script creates.
fn path(room: &Room) -> OsString {
    let all = std::env::var_os("PATH").unwrap_or_default();
    let has = |directory: &Path, name: &str| directory.join(name).exists();
    let is_kept = |directory: &PathBuf| {
        has(directory, "git") || !CLIENTS.iter().any(|client| has(directory, client))
    };
    let kept = std::env::split_paths(&all).filter(is_kept);
    std::env::join_paths(std::iter::once(room.path("bin")).chain(kept)).unwrap()
}

/// Runs a program at a terminal to its end; returns its exit code and the text of the screen.
fn at_a_terminal(program: &Command, keys: &[Keys]) -> Result<(i32, String), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut terminal = Terminal::start(program, SIZE.0, SIZE.1).map_err(said)?;
    for keys in keys {
        let is_asked = |screen: &str| {
            let last = screen.trim_end().lines().last();
            last.is_some_and(|last| last.contains(&keys.after))
        };
        terminal.wait_for(&keys.after, is_asked).map_err(said)?;
        terminal.press(&keys.press).map_err(said)?;
    }
    if keys.is_empty() {
        // A command that asks unexpectedly gets the end of the input.
        terminal.press("\u{4}").map_err(said)?;
    }
    let status = terminal.end().map_err(said)?;
    let screen = terminal.screen();
    // The terminal's own echo of Ctrl-C.
    let screen = screen
        .trim_end()
        .trim_end_matches("^C")
        .trim_end()
        .to_owned();
    // As a shell reports the end by a signal.
    let by_signal = || status.signal().map(|signal| 128 + signal);
    Ok((status.code().or_else(by_signal).unwrap_or(-1), screen))
}
