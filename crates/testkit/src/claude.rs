//! The real Claude Code, one session at a time, in a [`Room`] against a scripted model.

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

/// The key of the scripted model, short enough to be remembered whole.
const KEY: &str = "scripted";
/// How long a session may take before its processes are killed.
const DEADLINE: Duration = Duration::from_secs(90);

/// The versions of Claude Code that the tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The older one: it ignores `onFailure`, so a hook that dies lets the call run.
    V2_1_197,
    /// The newer one.
    V2_1_332,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Version; 2] = [Version::V2_1_197, Version::V2_1_332];

    /// The version as the program prints it.
    pub fn number(self) -> &'static str {
        match self {
            Version::V2_1_197 => "2.1.197",
            Version::V2_1_332 => "2.1.332",
        }
    }

    /// Where `cargo xtask setup` installed the program.
    ///
    /// # Errors
    /// When it is not there; the message names the command that installs it.
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

/// A session to be run.
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
    /// Tools that change something need a person's yes; in a session without a person that is a no.
    Default,
    /// Edits pass, shell commands need a yes.
    AcceptEdits,
    /// Nothing needs a yes: whatever stops a call is a hook.
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
    /// A session in which the model follows `script` and nothing but hooks stops a call.
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

    /// Says something else to the agent.
    pub fn prompt(mut self, prompt: &str) -> Session<'a> {
        prompt.clone_into(&mut self.prompt);
        self
    }

    /// Runs in another permission mode.
    pub fn mode(mut self, mode: Mode) -> Session<'a> {
        self.mode = mode;
        self
    }

    /// Adds arguments for the client.
    pub fn args<const N: usize>(mut self, arguments: [&str; N]) -> Session<'a> {
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    /// Sets a variable for the client and everything below it.
    pub fn env(mut self, name: &str, value: &str) -> Session<'a> {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives it another deadline.
    pub fn deadline(mut self, deadline: Duration) -> Session<'a> {
        self.deadline = deadline;
        self
    }

    /// Runs the session to its end.
    ///
    /// # Errors
    /// When the client is not installed, cannot be started, or has not ended at its deadline.
    pub fn run(self) -> io::Result<Outcome> {
        self.run_beside(|| ())
    }

    /// Runs the session to its end beside what `begin` has started, in the same network.
    ///
    /// # Errors
    /// When the client is not installed, cannot be started, or has not ended at its deadline.
    pub fn run_beside<T>(self, begin: impl FnOnce() -> T + Send) -> io::Result<Outcome> {
        let program = self.version.program()?;
        confined::run(|confinement| {
            let _beside = begin();
            let model = Provider::start(self.script.clone().in_session())?;
            let command = self.command(&program, &model, confinement);
            self.follow(command, &model, confinement)
        })
    }

    /// Runs the client as a person does, in a terminal, while `work` types and looks.
    ///
    /// The folder is trusted and the first screens of a new installation are answered.
    ///
    /// # Errors
    /// When the client is not installed or cannot be started, and what `work` says.
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

/// Points the client, or whatever starts it, to a model.
pub(crate) fn point(command: &mut Command, url: &str) {
    command
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        // Bypassing permissions as root is refused unless the client believes in a sandbox.
        .env("IS_SANDBOX", "1");
}

/// What a session left behind, apart from the files in its room.
#[derive(Debug)]
pub struct Outcome {
    /// What the client printed, one message a line.
    pub messages: Vec<Value>,
    /// What the client asked of the model, in order.
    pub requests: Vec<ModelRequest>,
    /// What the client printed as diagnostics.
    pub stderr: String,
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether it ran with no network but a loopback of its own.
    pub cut_off: bool,
}

impl Outcome {
    /// Every tool call that was answered, with what the model got to read.
    pub fn calls(&self) -> Vec<Call> {
        provider::calls(&self.requests)
    }

    /// The tools the client offered to the model, in its first request that offers any.
    pub fn tools(&self) -> Vec<String> {
        let mut offers = self.requests.iter().map(ModelRequest::tools);
        let first = offers.find(|tools| !tools.is_empty()).unwrap_or_default();
        first.into_iter().map(str::to_owned).collect()
    }

    /// Everything the model read by the end of the session.
    pub fn text(&self) -> String {
        let with_tools = |request: &&ModelRequest| !request.tools().is_empty();
        let last = self.requests.iter().rev().find(with_tools);
        last.map(ModelRequest::text).unwrap_or_default()
    }
}

/// Makes a test of each function, once with each installed version; `Version` must be in scope.
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
