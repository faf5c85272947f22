//! What the command line may hold. The table of commands; help, man page and completions come from it.

mod steps;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use steps::{Asking, CarryArgs, ModeWord, ProceedArgs, StageArgs};

/// A state machine between an AI agent and its tools.
///
/// A workflow file says which phases the work has, what may be done in each, and what must hold
/// before it moves on. The machine decides; the model only asks.
#[derive(Debug, Parser)]
#[command(
    name = "interlock",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "Examples:
  interlock demo                    see it work, in a temporary folder
  interlock init                    guard the agents of this project
  interlock start bugfix            hold the next session to the bugfix workflow
  interlock run release             carry a workflow of steps out
  interlock status                  where the run stands
  interlock approve                 say yes to what waits

Exit codes: 0 done, 1 refused or errors found, 2 usage, 75 waiting for a person, 130 cancelled.")]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Guard the agents of this project: hooks and the control server.
    #[command(after_help = "Examples:
  interlock init                    show the changes, ask once, make them
  interlock init --yes              make them without asking
  interlock init codex gemini       for these clients only
  interlock init --floor review     rules of the clients' own as well
  interlock init --remove           take out exactly what init put in
  interlock init --user             in your own settings, for every project")]
    Init(InitArgs),
    /// Try every hook and server that is installed and say what holds.
    #[command(after_help = "Exit code 1 when a client that looks guarded is not.")]
    Doctor(JsonArgs),
    /// Check workflow files.
    #[command(after_help = "Examples:
  interlock check .interlock/workflows/bugfix.yaml
  interlock check --deny-warnings *.yaml
  interlock check --json flow.json | jq .")]
    Check(CheckArgs),
    /// Feed a workflow commands without an agent, and see what it answers.
    #[command(after_help = "Examples:
  interlock simulate bugfix
  echo '{\"tool\":\"Edit\",\"input\":{\"file_path\":\"a.py\"}}' | interlock simulate bugfix --steps -
  interlock simulate flow.yaml --steps steps.jsonl")]
    Simulate(SimulateArgs),
    /// Run the cases of *.test.yaml files.
    #[command(after_help = "Examples:
  interlock test                    every case below .interlock/workflows/
  interlock test flows/bugfix.test.yaml")]
    Test(TestArgs),
    /// Say what a shell line would do, and whether a state allows it.
    #[command(after_help = "Examples:
  interlock explain bugfix testing 'cargo test | tee log.txt'
  interlock explain flow.yaml planning 'rm -rf build' --json")]
    Explain(ExplainArgs),
    /// Print the JSON Schema of workflow files, for editors.
    #[command(after_help = "Examples:
  interlock schema > interlock.schema.json
  interlock schema flowstate > flowstate.schema.json
  interlock schema pipeline > pipeline.schema.json

With the YAML language server, the first line of a file names its schema:
  # yaml-language-server: $schema=./flowstate.schema.json")]
    Schema(SchemaArgs),
    /// The names that FlowState's own command has, for those who come with scripts.
    #[command(after_help = "Examples:
  interlock fs run hello -n friday      the same as `interlock run hello --name friday`
  interlock fs run hello -r friday      the same as `interlock run hello --resume friday`
  interlock fs list --paused            the same as `interlock list --paused`
  interlock fs resume friday            the same as `interlock resume friday`

For scripts that call `fs`: alias fs='interlock fs', or a program `fs` on the PATH that starts `interlock fs`.
What was named an instance there is a run here, and its directory is the run directory. A run that waits for
a person ends with code 75.")]
    Fs {
        /// What is to be done.
        #[command(subcommand)]
        command: FsCommand,
    },
    /// Write a workflow in the native format, or list what of it cannot be said there.
    #[command(after_help = "Examples:
  interlock convert flow.json -o flow.yaml
  interlock convert .flowstate/release.yaml
  interlock convert flow.yaml --json | jq .workflow

The answer goes to standard output, in the syntax of the file. What cannot be said is listed with file,
line and column, all of it, and nothing is written: exit code 1. Comments are not kept.")]
    Convert(ConvertArgs),
    /// Draw a workflow, or where a run stands in it.
    #[command(after_help = "Examples:
  interlock graph bugfix > bugfix.mmd
  interlock graph bugfix --format svg -o bugfix.svg
  interlock graph --run 01j --format dot | dot -Tpng -o run.png
  interlock graph release --run friday      the run `friday` of the workflow `release`")]
    Graph(GraphArgs),
    /// Start a run that the next session of this project is held to.
    #[command(after_help = "Examples:
  interlock start bugfix
  interlock start flow.yaml --session 4fc69d00-c3af-4ab0-915d-82c1c40d073c
  interlock start release --input '{\"version\":\"1.4.0\"}'")]
    Start(StartArgs),
    /// Carry a workflow of steps out: its programs, agents and questions, one after the other.
    #[command(after_help = "Examples:
  interlock run hello               .flowstate/hello.yaml, or .flowstate/hello/index.yaml
  interlock run ./deploy.yaml --name friday --var target=staging
  interlock run hello -r friday     go on with a run that stands, failed or was cancelled
  interlock run nightly --headless --json | jq -r .event

What the programs print is on standard output and standard error, everything of Interlock's own on
standard error. With --json standard output has one object a line instead: first `Run` with the id and
the name, then each event of the run as `interlock log --json` has it, what programs print as `Output`
with `path`, `stream` and `text`, and last `Halted` with `status`, `code` and what it waits for.

Exit code: the one that the workflow ends with; 1 when it is not in order, 75 when the run waits for a
person, 130 when it was cancelled.")]
    Run(CarryArgs),
    /// Say where a run stands.
    Status(RunArgs),
    /// Ask a run for a transition, as a person.
    #[command(after_help = "Examples:
  interlock send READY
  interlock send PASS --data '{\"coverage\":92}' --branch lint")]
    Send(SendArgs),
    /// Say yes to what waits for a person.
    #[command(after_help = "Examples:
  interlock approve                 all that waits at the one state that waits
  interlock approve 01j a12         one of several, by its id
  interlock approve 01j a12 --data '{\"version\":\"1.4.1\"}'")]
    Approve(ApproveArgs),
    /// Say no to what waits for a person.
    #[command(after_help = "Examples:
  interlock reject --note 'the plan lacks a rollback'
  interlock reject 01j a12")]
    Reject(RejectArgs),
    /// Make a run stand still.
    Pause(PauseArgs),
    /// Let a run go on that stands, failed or was cut off, or bind another session to an open run.
    #[command(after_help = "Examples:
  interlock resume
  interlock resume 01j --next       the next session of this project goes on with it
  interlock resume 01j --session 4fc69d00-c3af-4ab0-915d-82c1c40d073c
  interlock resume deploy-3 --answer staging
  interlock resume hello/friday --var attempts=0
  interlock resume deploy-3 --fail-with 4   what was cut off counts as failed

A run of steps is carried out from where it stands: its pause is over when its condition holds, a state
that failed or was cancelled runs again. It ends as `interlock run` does.")]
    Resume(ResumeArgs),
    /// End a run.
    Cancel(RunArgs),
    /// Print the events of a run.
    #[command(after_help = "Examples:
  interlock log
  interlock log 01j --follow
  interlock log 01j --verify")]
    Log(LogArgs),
    /// List the workflows of steps, and the runs that have not ended.
    #[command(after_help = "Examples:
  interlock list
  interlock list --paused           what waits for a person
  interlock list --all --json       every run of every project, one object a line")]
    List(ListArgs),
    /// Show every run, what waits for a person and the log of one run, live in a terminal.
    #[command(
        after_help = "Keys: a says yes to what waits, r says no with a note, ? shows all of them, q leaves."
    )]
    Watch,
    /// Tell a collector what happened in a run, as OpenTelemetry spans.
    #[command(after_help = "Examples:
  interlock telemetry --stdout | jq .
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 interlock telemetry 01j

Once an endpoint is configured this happens by itself while runs go on.")]
    Telemetry(TelemetryArgs),
    /// See it work: a guarded agent in a temporary folder.
    Demo(DemoArgs),
    /// Show the tools of MCP servers that a run has seen, or accept one that changed.
    #[command(after_help = "Examples:
  interlock tools
  interlock tools 01j --accept github create_issue")]
    Tools(ToolsArgs),
    /// Show a token that lets scripts of yours answer for you, or one that holds an agent to a run.
    #[command(after_help = "Examples:
  interlock token                   a token for INTERLOCK_TOKEN, in place of the one before
  interlock token 01j               a bearer token for `interlock serve`, good until the run ends
  interlock token 01j --revoke      make every token of the run worthless")]
    Token(TokenArgs),
    /// Serve MCP over HTTP, with the servers of the configuration behind it.
    #[command(after_help = "Examples:
  interlock serve
  interlock serve --listen 127.0.0.1:0 --json
  interlock serve --listen 0.0.0.0:4680 --token-file ~/.config/interlock/serve.token --allow-host build.example

The endpoint is /mcp; clients of the transport before 2025 use /sse. /healthz and /metrics are for operators.
An agent is held to a run by a bearer token of `interlock token RUN`, or by the address /run/TOKEN/mcp.")]
    Serve(ServeArgs),
    /// Answer a hook of an agent client (used by the client).
    #[command(hide = true)]
    Hook(HookArgs),
    /// Run one shell line held to what a state allows.
    #[command(
        hide = true,
        after_help = "Examples:
  interlock exec -- 'cargo test | tail -3'
  interlock exec --as writing --project ~/shop -- npm run build
  interlock exec --require full -- ./untrusted.sh

Exit code: the line's own; 126 when nothing was started."
    )]
    Exec(ExecArgs),
    /// Put MCP servers behind the state machine, on standard input and output (started by the client).
    #[command(
        after_help = "The servers are those of `[mcp.NAME]` in `.interlock/config.toml` and in your own configuration; with a
command, only that one. Without any, the control tools alone are served.

Examples:
  interlock gateway
  interlock gateway -- npx -y @modelcontextprotocol/server-filesystem .
  claude mcp add interlock -- interlock gateway"
    )]
    Gateway(GatewayArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "Example:
  interlock completions bash > ~/.local/share/bash-completion/completions/interlock")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// The commands of FlowState's own program.
#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// Carry a workflow out: `interlock run`.
    Run(CarryArgs),
    /// List workflows and runs: `interlock list`.
    List(ListArgs),
    /// Go on with a run: `interlock resume`.
    Resume(ResumeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The clients: claude-code, codex, gemini, copilot, cursor, opencode; left out: those found here.
    #[arg(value_name = "CLIENT")]
    pub(crate) clients: Vec<String>,
    /// Take out exactly what init put in.
    #[arg(long)]
    pub(crate) remove: bool,
    /// In your own settings, for every project.
    #[arg(long)]
    pub(crate) user: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the changes and make none.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Also put what no state of this workflow allows into the clients' own rules.
    #[arg(long, value_name = "WORKFLOW", conflicts_with = "remove")]
    pub(crate) floor: Option<String>,
    /// Leave it to Codex to ask whether its hooks are to be trusted.
    #[arg(long)]
    pub(crate) no_trust: bool,
    /// Also write this shipped workflow into `.interlock/workflows/`.
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The files, or names of workflows.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Warnings make the exit code 1, too.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// What a CodeMie file leaves in doubt is an error.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE")]
    pub(crate) workflow: String,
    /// One JSON object a line; `-`: standard input.
    #[arg(long, value_name = "STEPS")]
    pub(crate) steps: Option<String>,
    /// Print JSON lines on a terminal, too.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Files or folders; the project's workflows when none is given.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE")]
    pub(crate) workflow: String,
    /// The state.
    pub(crate) state: String,
    /// The shell line.
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) line: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A format of workflow files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// States that hold an agent.
    Native,
    /// States that run programs.
    Flowstate,
    /// States in which assistants work.
    Codemie,
    /// Stages that call a model.
    Pipeline,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The format of the files.
    #[arg(value_enum, default_value_t = FormatName::Native)]
    pub(crate) format: FormatName,
}

/// A format that workflows are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// States that hold an agent.
    Native,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The workflow: a file or a name.
    #[arg(value_name = "FILE")]
    pub(crate) workflow: String,
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t = ConvertTo::Native, value_name = "FORMAT")]
    pub(crate) to: ConvertTo,
    /// Where it is written, as JSON when it ends so; standard output when left out.
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object: the workflow, or what cannot be said.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Mermaid, for Markdown.
    Mermaid,
    /// Graphviz.
    Dot,
    /// A picture drawn here.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The workflow: a file or a name; with --run only to tell which run is meant.
    #[arg(value_name = "FILE", required_unless_present = "run")]
    pub(crate) workflow: Option<String>,
    /// Draw a run: where it stands and the way it took.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
    /// Where it is written; standard output when left out.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The workflow: a file or a name.
    pub(crate) workflow: String,
    /// Bind the client session with this id; otherwise the next one of this project.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// An object that patches the workflow's context.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// A name for the run.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A run's id, a unique prefix of it or its name; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The event.
    pub(crate) event: String,
    /// The run; the newest of this project when left out.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// An object merged into the context.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// The branch it is for.
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// The approval that `status` names, such as a12, or the state that waits; all of the one state that waits when left out.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// An object that corrects the agent's data.
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
    /// What is said to the conversation before the state begins, where the run has one.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) message: Option<String>,
    /// The output of the state before, as it should be, where the run has a conversation.
    #[arg(long, value_name = "TEXT|@FILE", conflicts_with = "data")]
    pub(crate) edit: Option<String>,
    /// Whose output is edited, where several are before.
    #[arg(long, value_name = "STATE", requires = "edit")]
    pub(crate) of: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// Take a tool as its server defines it now.
    #[arg(long, num_args = 2, value_names = ["SERVER", "TOOL"])]
    pub(crate) accept: Option<Vec<String>>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// The approval that `status` names, such as a12, or the state that waits; all of the one state that waits when left out.
    #[arg(value_name = "ID|STATE")]
    pub(crate) path: Option<String>,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// What the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// Bind the client session with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Hand the run to the next session of this project, whatever client it is of.
    #[arg(long, conflicts_with = "session")]
    pub(crate) next: bool,
    #[command(flatten)]
    pub(crate) steps: ProceedArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// Go on printing as events are added.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Check the chain of hashes from the first event to the last.
    #[arg(long, conflicts_with = "follow")]
    pub(crate) verify: bool,
    /// Print what the models of stages were told and said, in place of the events.
    #[arg(long, conflicts_with_all = ["follow", "verify"])]
    pub(crate) messages: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Those that ended too, and those of every project.
    #[arg(long)]
    pub(crate) all: bool,
    /// Those only that wait for a person.
    #[arg(long)]
    pub(crate) paused: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TelemetryArgs {
    /// The run; the newest of this project when left out.
    pub(crate) run: Option<String>,
    /// Print the spans as OTLP JSON in place of sending them.
    #[arg(long)]
    pub(crate) stdout: bool,
    /// Send what was sent before, too.
    #[arg(long)]
    pub(crate) again: bool,
    /// What is new of every run, until nothing is (started by hooks).
    #[arg(long, hide = true, conflicts_with_all = ["run", "stdout", "again"])]
    pub(crate) due: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the temporary folder.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Make a bearer token of this run: its id, a unique prefix of it or its name.
    pub(crate) run: Option<String>,
    /// Make the token that is in use worthless; with a run: every token of it.
    #[arg(long)]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The client.
    pub(crate) client: String,
    /// The event, where the input does not name it.
    pub(crate) event: Option<String>,
}

/// What a line without a ticket is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Held {
    /// It writes nothing but a temporary directory of its own.
    NoWrite,
    /// It writes the project, temporary directories and caches.
    Writing,
    /// Its environment alone is set.
    Free,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The leave that a hook gave for this one line.
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["held", "project", "require", "at_most", "network", "allow"])]
    pub(crate) ticket: Option<String>,
    /// What a line without a ticket is held to.
    #[arg(long = "as", value_enum, default_value_t = Held::NoWrite, value_name = "STATE")]
    pub(crate) held: Held,
    /// The project; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Run only where the kernel holds at least this: environment, partial, files, full.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) require: Option<String>,
    /// Use no more of the kernel than this, to see what a lesser machine holds.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) at_most: Option<String>,
    /// Let a line that may not write fetch from the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Take this command for listed, as `allowed_commands` does; may be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow: Vec<String>,
    /// One word: a shell line. Several: a command with its operands.
    #[arg(required = true, last = true, value_name = "LINE")]
    pub(crate) line: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4680")]
    pub(crate) listen: SocketAddr,
    /// A workflow whose file names servers (`upstream_servers`) to put behind it, too.
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// A file with the token that every client must show; needed beyond 127.0.0.1.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name under which this server is reached; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Another origin whose pages may call this server; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Publish this server as an OAuth-protected resource with this address.
    #[arg(long, value_name = "URL", requires = "authorization_server")]
    pub(crate) resource: Option<String>,
    /// Who gives tokens for it, for clients to know; may be repeated.
    #[arg(long, value_name = "URL", requires = "resource")]
    pub(crate) authorization_server: Vec<String>,
    /// How long a session may rest before it is closed, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle: u64,
    /// How long what is under way may go on after an interruption, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u64,
    /// What the names of the control tools begin with.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Write a line for each request to standard error.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print the address as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The command of one server, in the place of those of the configuration.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    /// A workflow whose file names servers (`upstream_servers`) to put behind it, too.
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) servers_of: Option<String>,
    /// What the names of the control tools begin with.
    #[arg(long, value_name = "PREFIX", default_value = "interlock")]
    pub(crate) tool_prefix: String,
    /// Start a project's own servers only where you trust the project.
    #[arg(long)]
    pub(crate) trusted_only: bool,
    /// The one server to put behind it, in place of the configured ones.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
