//! Real clients, each in a [`Room`] against a scripted model, all driven by the same [`Script`].

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

/// How long a session may take before its processes are killed.
const DEADLINE: Duration = Duration::from_secs(150);

/// A client that the tests run for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code, in one of its versions.
    ClaudeCode(Version),
    /// Codex, offering its tools in one of two ways.
    Codex(Tools),
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// opencode.
    Opencode,
}

impl Client {
    /// The name by which `interlock` knows it.
    pub fn id(self) -> &'static str {
        match self {
            Client::ClaudeCode(_) => "claude-code",
            Client::Codex(_) => "codex",
            Client::Gemini => "gemini",
            Client::Copilot => "copilot",
            Client::Opencode => "opencode",
        }
    }

    /// Its name and version, as a person would say them.
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

    /// The command a person types.
    fn command(self) -> &'static str {
        match self {
            Client::ClaudeCode(_) => "claude",
            other => other.id(),
        }
    }

    /// Says what is proposed in the words of its model; paths are below `project`.
    fn say(self, project: &Path, proposal: &Proposal) -> Say {
        match self {
            Client::ClaudeCode(_) => claude_code::say(project, proposal),
            Client::Codex(tools) => codex::say(tools, proposal),
            Client::Gemini => gemini::say(proposal),
            Client::Copilot => copilot::WORDS.say(project, proposal),
            Client::Opencode => opencode::WORDS.say(project, proposal),
        }
    }

    /// Where `cargo xtask setup` installed the program.
    ///
    /// # Errors
    /// When it is not there; the message names the command that installs it.
    pub fn program(self) -> io::Result<PathBuf> {
        if let Client::ClaudeCode(version) = self {
            return version.program();
        }
        let program = match self {
            // The package of the program itself: that of the launcher names platforms nobody needs here.
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

    /// Puts the program on the room's `PATH`, with the settings of a person who trusts this project.
    ///
    /// The MCP server `stub` is among the settings under this name.
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

/// Where the packages of the clients lie.
fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("tests/e2e/node_modules")
}

/// A session to be run.
#[derive(Debug)]
pub struct Session<'a> {
    client: Client,
    room: &'a Room,
    script: Script,
    arguments: Vec<String>,
    /// Words before the prompt, where the client has commands for other conversations.
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// What the model of stages says, where there are any.
    beside: Option<provider::Script>,
    /// Whether the model proposes only what the client offers.
    only_offered: bool,
    deadline: Duration,
    /// Whether the client holds lines in a sandbox of its own, where it has one.
    sandboxed: bool,
}

/// What a session left behind, apart from the files in its room.
#[derive(Debug)]
pub struct Outcome {
    /// What the model read of each proposal, in order.
    pub results: Vec<String>,
    /// Every request to the model that offered tools.
    pub requests: Vec<Value>,
    /// What the client printed.
    pub stdout: String,
    /// What it printed as diagnostics.
    pub stderr: String,
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// How long it took.
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

    /// Names every tool that the client offered its model, those of MCP servers too.
    pub fn tools(&self) -> BTreeSet<String> {
        self.requests.iter().flat_map(offered::tools).collect()
    }
}

impl<'a> Session<'a> {
    /// A session in which the model follows `script` and nothing but hooks stops a call.
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

    /// Leaves Codex its sandbox `workspace-write`, in which nobody is asked.
    pub fn sandboxed(mut self) -> Session<'a> {
        self.sandboxed = true;
        self
    }

    /// Adds a model that stages of the same workflow call, as that of the provider `openai`.
    pub fn beside_stages(mut self, script: provider::Script) -> Session<'a> {
        self.beside = Some(script);
        self
    }

    /// Lets the model end its turn where the client does not offer the tool that it would propose.
    pub fn only_offered(mut self) -> Session<'a> {
        self.only_offered = true;
        self
    }

    /// Gives it another deadline.
    pub fn deadline(mut self, deadline: Duration) -> Session<'a> {
        self.deadline = deadline;
        self
    }

    /// Adds an argument for the client.
    pub fn arg(mut self, argument: &str) -> Session<'a> {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Goes on with another conversation, by the client's own words for it.
    pub fn resuming(mut self, words: &[&str]) -> Session<'a> {
        let words = words.iter().map(|word| (*word).to_owned());
        match self.client {
            Client::Codex(_) => self.command.extend(words),
            _ => self.arguments.extend(words),
        }
        self
    }

    /// Sets a variable for the client and everything below it.
    pub fn env(mut self, name: &str, value: &str) -> Session<'a> {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the session to its end.
    ///
    /// # Errors
    /// When the client is not installed, cannot be started, or has not ended at its deadline.
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

    /// The script in the words of the client's model.
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
