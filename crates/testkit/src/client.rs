//! Runs the real clients, each in a [`Room`] with a scripted model, all driven by the same [`Script`].

mod below;
mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod in_terminal;
mod offered;
mod opencode;
mod words;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::claude::Version;
use crate::confined::{self, Confinement};
use crate::processes::{self, Ended};
use crate::proposal::{Proposal, Script};
use crate::provider::{self, ModelRequest, Provider, Say, Wire, text};
use crate::room::Room;

pub use codex::Tools;

/// Time limit for a session, after which its processes are killed.
const DEADLINE: Duration = Duration::from_secs(150);

/// A real client that the tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code, in one of its versions.
    ClaudeCode(Version),
    /// Codex, which offers its tools in one of two ways.
    Codex(Tools),
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// opencode.
    Opencode,
}

impl Client {
    /// Returns its id in `interlock`.
    pub fn id(self) -> &'static str {
        match self {
            Client::ClaudeCode(_) => "claude-code",
            Client::Codex(_) => "codex",
            Client::Gemini => "gemini",
            Client::Copilot => "copilot",
            Client::Opencode => "opencode",
        }
    }

    /// Returns its name and version for people.
    pub fn label(self) -> String {
        match self {
            Client::ClaudeCode(version) => format!("Claude Code {}", version.number()),
            Client::Codex(Tools::Functions) => "Codex 0.171.0".to_owned(),
            Client::Codex(Tools::Code) => "Codex 0.171.0 (code mode)".to_owned(),
            Client::Gemini => "Gemini CLI 0.61.0".to_owned(),
            Client::Copilot => "Copilot CLI 1.0.102".to_owned(),
            Client::Opencode => "opencode 1.18.34".to_owned(),
        }
    }

    /// Returns the command that a person types.
    fn command(self) -> &'static str {
        match self {
            Client::ClaudeCode(_) => "claude",
            other => other.id(),
        }
    }

    /// Translates a proposal into the client's tools; paths are below `project`.
    fn say(self, project: &Path, proposal: &Proposal) -> Say {
        match self {
            Client::ClaudeCode(_) => claude_code::say(project, proposal),
            Client::Codex(tools) => codex::say(tools, proposal),
            Client::Gemini => gemini::say(proposal),
            Client::Copilot => copilot::WORDS.say(project, proposal),
            Client::Opencode => opencode::WORDS.say(project, proposal),
        }
    }

    /// Returns the path where `cargo xtask setup` installed the program.
    ///
    /// # Errors
    /// The program is not installed; the error names the command that installs it.
    pub fn program(self) -> io::Result<PathBuf> {
        if let Client::ClaudeCode(version) = self {
            return version.program();
        }
        let program = match self {
            // The program's own package, because the launcher's package needs those of other platforms.
            Client::Opencode => installed().join("opencode-linux-x64/bin/opencode"),
            _ => installed().join(".bin").join(self.command()),
        };
        program.canonicalize().map_err(|_| {
            let (label, program) = (self.label(), program.display());
            io::Error::other(format!(
                "{label} is not installed at `{program}`: run `cargo xtask setup`"
            ))
        })
    }

    /// Puts the program on the room's `PATH`, with settings in which this project is trusted.
    ///
    /// The settings include the MCP server `stub`, under this name.
    pub fn install(self, room: &Room, stub: &Path) -> io::Result<()> {
        room.install(self.command(), &self.program()?)?;
        let stub = stub.to_string_lossy();
        match self {
            Client::ClaudeCode(_) => claude_code::settle(room, &stub),
            Client::Codex(_) => codex::settle(room, &stub),
            Client::Gemini => gemini::settle(room, &stub),
            Client::Copilot => copilot::settle(room, &stub),
            Client::Opencode => opencode::settle(room, &stub),
        }
    }
}

/// Returns the folder of the clients' packages.
fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("tests/e2e/node_modules")
}

/// A session to run.
#[derive(Debug)]
pub struct Session<'a> {
    client: Client,
    room: &'a Room,
    script: Script,
    arguments: Vec<String>,
    /// Words before the prompt, for clients that resume conversations by a command.
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// The script of the stages' model, if there are stages.
    beside: Option<provider::Script>,
    /// Whether the model proposes only tools that the client offers.
    only_offered: bool,
    deadline: Duration,
    /// Whether the client confines shell lines in its own sandbox, if it has one.
    sandboxed: bool,
}

/// The result of a session, apart from the files in its room.
#[derive(Debug)]
pub struct Outcome {
    /// The result of each proposal as the model read it, in order.
    pub results: Vec<String>,
    /// Every request to the model with tools.
    pub requests: Vec<Value>,
    /// The client's standard output.
    pub stdout: String,
    /// The client's standard error.
    pub stderr: String,
    /// Its exit code; `None` if a signal ended it.
    pub exit: Option<i32>,
    /// The duration of the session.
    pub elapsed: Duration,
}

impl Outcome {
    fn new(asked: &[ModelRequest], ended: Ended) -> Outcome {
        let with_tools = asked.iter().filter(|asked| asked.offers_tools());
        let results = if asked.iter().any(|asked| asked.wire == Wire::Anthropic) {
            let calls = provider::calls(asked).into_iter();
            calls.map(|call| call.result).collect()
        } else {
            let results = with_tools.clone().map(ModelRequest::all_results);
            results.max_by_key(Vec::len).unwrap_or_default()
        };
        Outcome {
            results,
            requests: with_tools.map(|asked| asked.body.clone()).collect(),
            stdout: ended.stdout,
            stderr: ended.stderr,
            exit: ended.exit,
            elapsed: ended.elapsed,
        }
    }

    /// Returns the names of all tools that the client offered the model, including those of MCP servers.
    pub fn tools(&self) -> BTreeSet<String> {
        self.requests.iter().flat_map(offered::tools).collect()
    }
}

impl<'a> Session<'a> {
    /// Returns a session in which the model follows `script` and only hooks can stop a call.
    pub fn new(client: Client, room: &'a Room, script: Script) -> Session<'a> {
        let (arguments, environment) = (Vec::new(), Vec::new());
        Session {
            client,
            room,
            script,
            arguments,
            command: Vec::new(),
            environment,
            beside: None,
            only_offered: false,
            deadline: DEADLINE,
            sandboxed: false,
        }
    }

    /// Keeps Codex's sandbox `workspace-write`, in which no approval is asked for.
    pub fn sandboxed(mut self) -> Session<'a> {
        self.sandboxed = true;
        self
    }

    /// Adds a model for stages of the same workflow, as the provider `openai`.
    pub fn beside_stages(mut self, script: provider::Script) -> Session<'a> {
        self.beside = Some(script);
        self
    }

    /// Makes the model end its turn if the client does not offer the proposed tool.
    pub fn only_offered(mut self) -> Session<'a> {
        self.only_offered = true;
        self
    }

    /// Sets another time limit.
    pub fn deadline(mut self, deadline: Duration) -> Session<'a> {
        self.deadline = deadline;
        self
    }

    /// Adds an argument for the client.
    pub fn arg(mut self, argument: &str) -> Session<'a> {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Resumes another conversation, with the client's own words for it.
    pub fn resuming(mut self, words: &[&str]) -> Session<'a> {
        let words = words.iter().map(|word| (*word).to_owned());
        match self.client {
            Client::Codex(_) => self.command.extend(words),
            _ => self.arguments.extend(words),
        }
        self
    }

    /// Sets an environment variable for the client and its child processes.
    pub fn env(mut self, name: &str, value: &str) -> Session<'a> {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the session to its end.
    ///
    /// # Errors
    /// The client is not installed, cannot be started, or has not ended within the time limit.
    pub fn run(self) -> io::Result<Outcome> {
        if let Client::ClaudeCode(version) = self.client {
            return claude_code::run(version, &self);
        }
        let program = self.client.program()?;
        confined::run(|confinement| {
            let model = Provider::start(self.client_script())?;
            let ended = self.end(&program, &model.url(), confinement)?;
            Ok(Outcome::new(&model.asked(), ended))
        })
    }

    /// Returns the script translated into the client's tools.
    fn client_script(&self) -> provider::Script {
        let (client, script) = (self.client, self.script.clone());
        let (project, only_offered) = (self.room.project(), self.only_offered);
        let script = provider::Script::new(move |asked| {
            let proposal = script.turn(asked.rounds());
            let said =
                proposal.map_or_else(|| text("done"), |proposal| client.say(&project, &proposal));
            let refused = only_offered && !asked.offers(&said);
            vec![if refused {
                text(format!("this client offers no tool for {said:?}"))
            } else {
                said
            }]
        });
        script.in_session()
    }

    fn end(&self, program: &Path, url: &str, confinement: Confinement) -> io::Result<Ended> {
        let mut command = self.room.command(program);
        match self.client {
            Client::Codex(tools) => {
                codex::arrange(&mut command, tools, url, (self.sandboxed, &self.command));
            }
            Client::Gemini => gemini::arrange(&mut command, url),
            Client::Copilot => copilot::arrange(&mut command, url),
            Client::Opencode | Client::ClaudeCode(_) => opencode::arrange(&mut command, url),
        }
        confinement.keep_inside(&mut command);
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        processes::run(command, self.room, self.deadline)
    }
}
