//! What the command line may hold. The table of commands; help, man page and completions come from it.

mod backtest;
mod compare;
mod edit;
mod guard;
mod help;
mod runs;
mod steps;
mod workflows;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use backtest::{BacktestArgs, SessionsArgs};
pub(crate) use compare::CompareArgs;
pub(crate) use edit::{EditArgs, EditOperation, WhereArgs};
pub(crate) use guard::{
    ConsoleArgs, DemoArgs, DoctorArgs, ExecArgs, GatewayArgs, Held, HookArgs, InitArgs, ServeArgs,
};
pub(crate) use help::command;
pub(crate) use runs::{
    ApproveArgs, ExportArgs, ListArgs, LogArgs, PasskeyArgs, PasskeyCommand, PauseArgs, RejectArgs,
    ResumeArgs, RunArgs, SendArgs, StartArgs, TelemetryArgs, TokenArgs, ToolsArgs, WorkflowsArgs,
};
pub(crate) use steps::{Asking, CarryArgs, ModeWord, ProceedArgs, StageArgs};
pub(crate) use workflows::{
    CheckArgs, ConvertArgs, ConvertTo, ExplainArgs, FormatName, GraphArgs, GraphFormat, NewArgs,
    ProveArgs, SchemaArgs, ShellName, SimulateArgs, TestArgs,
};

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
#[command(
    after_help = "Begin with `interlock demo`, then `interlock init` and `interlock new` in your project.
`interlock COMMAND --help` shows every option, with examples.

Exit codes: 0 done, 1 refused or errors found, 2 usage, 75 waiting for a person, 130 cancelled."
)]
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
  interlock init                    say what changes, ask once, make it
  interlock init --diff             show each change whole before it asks
  interlock init --local            for you alone, in this project
  interlock init --yes              make them without asking
  interlock init codex gemini       for these clients only
  interlock init --floor review     rules of the clients' own as well
  interlock init --remove           take out exactly what init put in
  interlock init --user             in your own settings, for every project")]
    Init(InitArgs),
    /// Try every hook and server that is installed and say what holds.
    #[command(after_help = "Examples:
  interlock doctor                  try everything
  interlock doctor --accept         accept the code inside of clients that it named, as it is now

Exit code 1 when a client that looks guarded is not.")]
    Doctor(DoctorArgs),
    /// Write a workflow for this project, with its own commands, and the cases that test it.
    #[command(after_help = "Examples:
  interlock new                     ask what is needed, then write .interlock/workflows/
  interlock new bugfix --yes        take what was found in the project
  interlock new --test 'make check' --allow 'make lint' --yes
  interlock new --dry-run           show the files, write nothing

Nothing that exists is written over. What is written was checked and tested before.")]
    New(NewArgs),
    /// Check workflow files for what is wrong and for what can never work.
    #[command(after_help = "Examples:
  interlock check                   every workflow of the project
  interlock check .interlock/workflows/bugfix.yaml
  interlock check flows/            every workflow in a folder
  interlock check --deny-warnings *.yaml
  interlock check --json flow.json | jq .")]
    Check(CheckArgs),
    /// Feed a workflow commands without an agent, and see what it answers.
    #[command(after_help = "Examples:
  interlock simulate                the project's own workflow
  interlock simulate bugfix
  echo '{\"tool\":\"Edit\",\"input\":{\"file_path\":\"a.py\"}}' | interlock simulate bugfix --steps -
  interlock simulate flow.yaml --steps steps.jsonl")]
    Simulate(SimulateArgs),
    /// Run the cases of *.test.yaml files.
    #[command(after_help = "Examples:
  interlock test                    every case below .interlock/workflows/
  interlock test flows/bugfix.test.yaml")]
    Test(TestArgs),
    /// Check a workflow against every run it could have.
    #[command(after_help = "Examples:
  interlock prove                   the project's own workflow
  interlock prove bugfix
  interlock prove flow.yaml --properties flow.properties.yaml
  interlock prove flow.yaml --write-test broken.test.yaml
  interlock prove flow.yaml --graph broken.svg
  interlock prove flow.yaml --against old.yaml
  interlock prove flow.yaml --json | jq '.findings[] | {property, verdict}'

Properties stand under `properties` in the workflow, or in NAME.properties.yaml beside it. What every workflow
is to be is proved without any: it can end, all of it can happen, no answer of a person is a dead end.

Exit codes: 0 all hold, 1 one fails, 2 usage, 3 one is unknown or vacuous and none fails. With --against: 0 nothing
is newly permitted, 1 something is, 2 usage, 3 unknown.")]
    Prove(ProveArgs),
    /// Check a workflow against sessions that really happened.
    #[command(after_help = "Examples:
  interlock backtest bugfix                              the sessions of this project, of every client
  interlock backtest bugfix --client codex --since 30d
  interlock backtest flow.yaml ~/.claude/projects/-home-ana-shop
  interlock backtest flow.yaml session.jsonl --assume-exit
  interlock backtest flow.yaml 01j                       a run of Interlock
  interlock backtest flow.yaml recordings/ --json | jq '.sessions[] | {session, refused}'

Reads what Claude Code, Codex, Gemini CLI and Copilot CLI keep of their sessions, exports of opencode, ATIF, OTLP
spans in JSON, logs of Interlock and what `interlock log --json` prints. A recorded session says which calls were
made, not where in a workflow: it is placed where the fewest are refused. Nothing runs and nothing is recorded.

Exit codes: 0 nothing is refused, 1 a call is, 2 usage, 3 nothing is refused and not all of it was read or judged.")]
    Backtest(BacktestArgs),
    /// Say what a shell line would do, and whether a state allows it.
    #[command(after_help = "Examples:
  interlock explain bugfix testing 'cargo test | tee log.txt'
  interlock explain flow.yaml planning 'ls =touch' --shell zsh
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
    /// Change one place of a workflow file and no other byte.
    #[command(after_help = "Examples:
  interlock edit bugfix add-state review '{\"allowed_tools\": [\"Read\"]}' --after testing
  interlock edit bugfix add-transition testing PASS review
  interlock edit bugfix rename-state testing checking
  interlock edit flow.yaml set /states/planning/max_iterations 12
  interlock edit flow.yaml remove-state review --with-transitions --dry-run
  interlock edit flow.yaml apply operations.json

Comments, quotes, order and alignment stay. An edit is refused, with the place, when the text does not allow
it without changing something else. Runs that are under way keep the workflow they began with.")]
    Edit(EditArgs),
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
  interlock graph                   the project's own workflow
  interlock graph bugfix > bugfix.mmd
  interlock graph bugfix --format svg -o bugfix.svg
  interlock graph --run 01j --format dot | dot -Tpng -o run.png
  interlock graph release --run friday      the run `friday` of the workflow `release`")]
    Graph(GraphArgs),
    /// Hold an agent that you use yourself, such as Claude Code, to a workflow.
    #[command(
        after_help = "The next session of this project is held to the run. A workflow of steps is carried out by `interlock run` instead.

Examples:
  interlock start bugfix
  interlock start flow.yaml --session 4fc69d00-c3af-4ab0-915d-82c1c40d073c
  interlock start release --input '{\"version\":\"1.4.0\"}'"
    )]
    Start(StartArgs),
    /// Run a workflow of steps: Interlock itself starts its programs, models and agents.
    #[command(
        after_help = "A workflow that holds an agent you use yourself begins with `interlock start` instead.

Examples:
  interlock run hello               .flowstate/hello.yaml, or .flowstate/hello/index.yaml
  interlock run ./deploy.yaml --name friday --var target=staging
  interlock run hello -r friday     go on with a run that stands, failed or was cancelled
  interlock run nightly --headless --json | jq -r .event

What the programs print is on standard output and standard error, everything of Interlock's own on
standard error. With --json standard output has one object a line instead: first `Run` with the id and
the name, then each event of the run as `interlock log --json` has it, what programs print as `Output`
with `path`, `stream` and `text`, and last `Halted` with `status`, `code` and what it waits for.

Exit code: the one that the workflow ends with; 1 when it is not in order, 75 when the run waits for a
person, 130 when it was cancelled."
    )]
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
    /// Show what happened in a run.
    #[command(after_help = "Examples:
  interlock log                     one line a call, in local time
  interlock log 01j --follow
  interlock log 01j --verify
  interlock log --json | jq .       every event with all its fields

The lines for people may change; scripts read those of --json.")]
    Log(LogArgs),
    /// Compare two runs, or judge the log of one under another workflow.
    #[command(after_help = "Examples:
  interlock compare login-bug login-bug-2      the events of two runs beside each other
  interlock compare 01j --under bugfix         what would have come out differently with the file as it is now
  interlock compare 01j --under flow.yaml --json | jq '.differences[] | {seq, what, change}'

Events are the same where they say the same: times, ids, sizes and the place of the project do not count.
With --under nothing runs and nothing is recorded. From the first difference on, all is hypothetical: the
agent would have been told something else, and what it would have done then is not known. A run of steps
that Interlock carries out itself is not judged again.

Exit codes: 0 no difference, 1 a difference, 2 usage.")]
    Compare(CompareArgs),
    /// List the runs of this project that have not ended.
    #[command(after_help = "Examples:
  interlock runs
  interlock runs --paused           what waits for a person
  interlock runs --all --json       every run of every project, one object a line")]
    Runs(ListArgs),
    /// List every workflow that has a name here: the project's, yours and the shipped ones.
    #[command(after_help = "Examples:
  interlock workflows
  interlock workflows --json | jq -r .name")]
    Workflows(WorkflowsArgs),
    /// The same as `runs`, with the workflows of steps first.
    #[command(
        hide = true,
        after_help = "Examples:
  interlock list
  interlock list --paused           what waits for a person
  interlock list --all --json       every run of every project, one object a line"
    )]
    List(ListArgs),
    /// Show every run, what waits for a person and the log of one run, live in a terminal.
    #[command(
        after_help = "Keys: a says yes to what waits, r says no with a note, ? shows all of them, q leaves."
    )]
    Watch,
    /// Open the console: a web page on this machine that shows every run and takes your answers.
    #[command(after_help = "Examples:
  interlock console
  interlock console --no-open       only print the address
  interlock console --project .     begin with the runs of this project

The page shows a number, and this terminal asks whether it is yours: nobody else gets in. It is
served to this machine alone, as long as this command runs. A process below a guarded agent is
refused, and the run's log says so. An agent that drives your own browser is not told from you.")]
    Console(ConsoleArgs),
    /// Write a run as one HTML file that opens without a console: its graph, history, log and calls.
    #[command(after_help = "Examples:
  interlock export -o run.html
  interlock export 01j -o run.html --force

The file is read only, loads nothing, and masks secrets as the console does. Below a guarded agent it is refused.")]
    Export(ExportArgs),
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
    /// Enrol, list or remove your passkeys, for what a workflow wants approved with one.
    #[command(after_help = "Examples:
  interlock passkey add laptop      make one on the console's page, and enrol it
  interlock passkey list
  interlock passkey remove laptop

At a terminal alone, and while no run guards an agent. A transition with `approval: passkey` is approved on the page
of `interlock console`; `interlock log RUN --verify` checks the signatures again.")]
    Passkey(PasskeyArgs),
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
    /// Print a completion script for a shell; it knows workflows, runs, states and events.
    #[command(after_help = "Examples:
  echo 'source <(interlock completions bash)' >> ~/.bashrc
  echo 'source <(interlock completions zsh)' >> ~/.zshrc
  interlock completions fish > ~/.config/fish/completions/interlock.fish

The script asks `interlock` itself, which must be on the PATH.")]
    Completions {
        /// The shell.
        #[arg(value_enum)]
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
