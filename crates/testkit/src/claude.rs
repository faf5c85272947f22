//! Runs the real Claude Code, one session at a time, in a [`Room`] with a scripted model.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::confined::{self, Confinement};
use crate::processes;
use crate::provider::{self, Call, ModelRequest, Provider, Script};
use crate::room::Room;
use crate::terminal::Terminal;

/// The API key for the scripted model, short enough for the client to store it whole.
const KEY: &str = "scripted";
/// Time limit for a session, after which its processes are killed.
const DEADLINE: Duration = Duration::from_secs(90);

/// The versions of Claude Code that the tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The older one, which ignores `onFailure`: if a hook crashes, the call runs.
    V2_1_197,
    /// The newer one.
    V2_1_332,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Version; 2] = [Version::V2_1_197, Version::V2_1_332];

    /// Returns the version as the program prints it.
    pub fn number(self) -> &'static str {
        match self {
            Version::V2_1_197 => "2.1.197",
            Version::V2_1_332 => "2.1.332",
        }
    }

    /// Returns the path where `cargo xtask setup` installed the program.
    ///
    /// # Errors
    /// The program is not installed; the error names the command that installs it.
    pub fn program(self) -> io::Result<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // The package ships its native program under this name on every platform.
        let program = root.join("tests/e2e/node_modules");
        let program = program.join(format!("claude-{}/bin/claude.exe", self.number()));
        program.canonicalize().map_err(|_| {
            let (number, program) = (self.number(), program.display());
            io::Error::other(format!(
                "Claude Code {number} is not installed at `{program}`: run `cargo xtask setup`"
            ))
        })
    }
}

/// A session to run.
#[derive(Debug)]
pub struct Session<'a> {
    version: Version,
    room: &'a Room,
    script: Script,
    prompt: String,
    mode: Mode,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    deadline: Duration,
}

/// The permission mode a session runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Changes need a person's approval; in a session without a person, they are refused.
    Default,
    /// Edits are allowed, shell commands need approval.
    AcceptEdits,
    /// Nothing needs approval: only hooks can stop a call.
    BypassPermissions,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::BypassPermissions => "bypassPermissions",
        }
    }
}

impl<'a> Session<'a> {
    /// Returns a session in which the model follows `script` and only hooks can stop a call.
    pub fn new(version: Version, room: &'a Room, script: Script) -> Session<'a> {
        Session {
            version,
            room,
            script,
            prompt: "Do the scripted thing.".to_owned(),
            mode: Mode::BypassPermissions,
            arguments: Vec::new(),
            environment: Vec::new(),
            deadline: DEADLINE,
        }
    }

    /// Sets another prompt.
    pub fn prompt(mut self, prompt: &str) -> Session<'a> {
        prompt.clone_into(&mut self.prompt);
        self
    }

    /// Sets another permission mode.
    pub fn mode(mut self, mode: Mode) -> Session<'a> {
        self.mode = mode;
        self
    }

    /// Adds arguments for the client.
    pub fn args<const N: usize>(mut self, arguments: [&str; N]) -> Session<'a> {
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    /// Sets an environment variable for the client and its child processes.
    pub fn env(mut self, name: &str, value: &str) -> Session<'a> {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets another time limit.
    pub fn deadline(mut self, deadline: Duration) -> Session<'a> {
        self.deadline = deadline;
        self
    }

    /// Runs the session to its end.
    ///
    /// # Errors
    /// The client is not installed, cannot be started, or has not ended within the time limit.
    pub fn run(self) -> io::Result<Outcome> {
        self.run_beside(|| ())
    }

    /// Runs the session to its end, beside what `begin` starts in the same network.
    ///
    /// # Errors
    /// The client is not installed, cannot be started, or has not ended within the time limit.
    pub fn run_beside<T>(self, begin: impl FnOnce() -> T + Send) -> io::Result<Outcome> {
        let program = self.version.program()?;
        confined::run(|confinement| {
            let _beside = begin();
            let model = Provider::start(self.script.clone().in_session())?;
            let command = self.command(&program, &model, confinement);
            self.follow(command, &model, confinement)
        })
    }

    /// Runs the client in a terminal, as a person does, while `work` types and reads the screen.
    ///
    /// The folder is trusted, and the first screens of a new installation are answered in advance.
    ///
    /// # Errors
    /// The client is not installed or cannot be started, or `work` fails.
    pub fn in_terminal<T: Send>(
        self,
        work: impl FnOnce(&mut Terminal) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let program = self.version.program()?;
        let folder = self.room.project().canonicalize()?;
        let settings = serde_json::json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
            "projects": { folder.to_string_lossy(): {
                "hasTrustDialogAccepted": true,
                "hasCompletedProjectOnboarding": true,
                "enabledMcpjsonServers": ["interlock"],
            } },
        });
        std::fs::write(self.room.home().join(".claude.json"), settings.to_string())?;
        confined::run(|confinement| {
            let model = Provider::start(self.script.clone().in_session())?;
            let mut command = self.room.command(&program);
            command
                .args(["--permission-mode", self.mode.word()])
                .args(&self.arguments)
                .env("TERM", "xterm-256color");
            point(&mut command, &model.url());
            confinement.keep_inside(&mut command);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            let mut terminal = Terminal::start(&command, 50, 150)?;
            work(&mut terminal)
        })
    }

    fn command(&self, program: &Path, model: &Provider, confinement: Confinement) -> Command {
        let mut command = self.room.command(program);
        command
            .args([
                "-p",
                &self.prompt,
                "--output-format",
                "stream-json",
                "--verbose",
            ])
            .args(["--permission-mode", self.mode.word()])
            .args(&self.arguments);
        point(&mut command, &model.url());
        confinement.keep_inside(&mut command);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn follow(
        &self,
        command: Command,
        model: &Provider,
        confinement: Confinement,
    ) -> io::Result<Outcome> {
        let ended = processes::run(command, self.room, self.deadline)?;
        let messages = ended.stdout.lines();
        Ok(Outcome {
            messages: messages
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            requests: model.asked(),
            stderr: ended.stderr,
            exit: ended.exit,
            elapsed: ended.elapsed,
            cut_off: confinement == Confinement::Namespace,
        })
    }
}

/// Configures the client, or a program that starts it, to use a model at `url`.
pub(crate) fn point(command: &mut Command, url: &str) {
    command
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        // As root, the client refuses to bypass permissions unless it believes to be in a sandbox.
        .env("IS_SANDBOX", "1");
}

/// The result of a session, apart from the files in its room.
#[derive(Debug)]
pub struct Outcome {
    /// The messages that the client printed, one per line.
    pub messages: Vec<Value>,
    /// The client's requests to the model, in order.
    pub requests: Vec<ModelRequest>,
    /// The client's standard error.
    pub stderr: String,
    /// Its exit code; `None` if a signal ended it.
    pub exit: Option<i32>,
    /// The duration of the session.
    pub elapsed: Duration,
    /// Whether it ran without any network except its own loopback device.
    pub cut_off: bool,
}

impl Outcome {
    /// Returns every answered tool call, with the result as the model read it.
    pub fn calls(&self) -> Vec<Call> {
        provider::calls(&self.requests)
    }

    /// Returns the tools that the client offered the model, in its first request with tools.
    pub fn tools(&self) -> Vec<String> {
        let mut offers = self.requests.iter().map(ModelRequest::tools);
        let first = offers.find(|tools| !tools.is_empty()).unwrap_or_default();
        first.into_iter().map(str::to_owned).collect()
    }

    /// Returns everything that the model had read by the end of the session.
    pub fn text(&self) -> String {
        let with_tools = |request: &&ModelRequest| !request.tools().is_empty();
        let last = self.requests.iter().rev().find(with_tools);
        last.map(ModelRequest::text).unwrap_or_default()
    }
}

/// Makes a test from each function for each installed version; `Version` must be in scope.
#[macro_export]
macro_rules! with_both_versions {
    ($($name:ident)*) => {
        mod claude_2_1_197 {
            $(#[test] fn $name() { super::$name(super::Version::V2_1_197); })*
        }
        mod claude_2_1_332 {
            $(#[test] fn $name() { super::$name(super::Version::V2_1_332); })*
        }
    };
}
