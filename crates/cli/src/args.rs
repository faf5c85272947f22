//! The command line. Help, the manual page and completions are generated from these types.

mod attest;
mod backtest;
mod compare;
mod edit;
mod guard;
mod help;
mod runs;
mod steps;
mod workflows;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use attest::{AttestArgs, AttestCommand, AttestFormat, VerifyArgs};
pub(crate) use backtest::{BacktestArgs, MineArgs, SessionsArgs};
pub(crate) use compare::CompareArgs;
pub(crate) use edit::{EditArgs, EditOperation, WhereArgs};
pub(crate) use guard::{
    ConsoleArgs, DemoArgs, DoctorArgs, ExecArgs, GatewayArgs, HookArgs, InitArgs, LineRights,
    ServeArgs,
};
pub(crate) use help::command;
pub(crate) use runs::{
    ApproveArgs, ExportArgs, ListArgs, LogArgs, PasskeyArgs, PasskeyCommand, PauseArgs, RejectArgs,
    ResumeArgs, RunArgs, SendArgs, StartArgs, TelemetryArgs, TokenArgs, ToolsArgs, WorkflowsArgs,
};
pub(crate) use steps::{Asking, CarryArgs, ModeWord, ProceedArgs, StageArgs};
pub(crate) use workflows::{
    CheckArgs, ConvertArgs, ConvertTo, ExplainArgs, FindingFormat, FormatName, GraphArgs,
    GraphFormat, NewArgs, ProveArgs, SchemaArgs, ShellName, SimulateArgs, TestArgs,
};

/// A state machine between an AI agent and its tools.
///
/// A workflow file defines the phases of the work, what the agent may do in each phase, and which conditions must hold
/// before it moves on. The state machine decides; the model can only ask.
#[derive(Debug, Parser)]
#[command(
    name = "interlock",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Start with `interlock demo`, then `interlock init` and `interlock new` in your project.
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
    /// Install hooks and the control server for the clients of this project.
    #[command(after_help = "Examples:
  interlock init                    show what would change, ask once, apply it
  interlock init --diff             show every change in full before asking
  interlock init --local            only for you, in this project
  interlock init --yes              apply the changes without asking
  interlock init codex gemini       only for these clients
  interlock init --floor review     also add rules to the clients' own settings
  interlock init --remove           remove exactly what init added
  interlock init --user             in your own settings, for every project")]
    Init(InitArgs),
    /// Test every installed hook and server, and report what is enforced.
    #[command(after_help = "Examples:
  interlock doctor                  test everything
  interlock doctor --accept         accept the plugins and hooks that it reported, as they are now

The exit code is 1 if a client that looks guarded is not.")]
    Doctor(DoctorArgs),
    /// Write a workflow with this project's own commands, and the cases that test it.
    #[command(after_help = "Examples:
  interlock new                     ask a few questions, then write to .interlock/workflows/
  interlock new bugfix --yes        use what was found in the project
  interlock new --test 'make check' --allow 'make lint' --yes
  interlock new --dry-run           show the files, write nothing

Existing files are never overwritten. The workflow is checked and its cases are run before it is written.")]
    New(NewArgs),
    /// Check workflow files for errors, and for rules that can never work.
    #[command(after_help = "Examples:
  interlock check                   every workflow of the project
  interlock check .interlock/workflows/bugfix.yaml
  interlock check flows/            every workflow in a folder
  interlock check --deny-warnings *.yaml
  interlock check --format github   annotations on a pull request
  interlock check --format sarif > check.sarif
  interlock check bugfix --against-sessions=recordings/ --deny-warnings
  interlock check --json flow.json | jq .")]
    Check(CheckArgs),
    /// Try calls and events on a workflow, without an agent.
    #[command(after_help = "Examples:
  interlock simulate                the workflow of this project
  interlock simulate bugfix
  echo '{\"tool\":\"Edit\",\"input\":{\"file_path\":\"a.py\"}}' | interlock simulate bugfix --steps -
  interlock simulate flow.yaml --steps steps.jsonl")]
    Simulate(SimulateArgs),
    /// Run the cases of *.test.yaml files.
    #[command(after_help = "Examples:
  interlock test                    every case below .interlock/workflows/
  interlock test flows/bugfix.test.yaml
  interlock test --format junit > interlock.xml")]
    Test(TestArgs),
    /// Check a workflow against every run that it could have.
    #[command(after_help = "Examples:
  interlock prove                   the workflow of this project
  interlock prove bugfix
  interlock prove flow.yaml --properties flow.properties.yaml
  interlock prove flow.yaml --write-test broken.test.yaml
  interlock prove flow.yaml --graph broken.svg
  interlock prove flow.yaml --against old.yaml
  interlock prove flow.yaml --json | jq '.findings[] | {property, verdict}'

Properties are read from `properties` in the workflow, or from NAME.properties.yaml beside it. Without any, these are
proved: a run can always end, every state and transition can occur, and no answer of a person is a dead end.

Exit codes: 0 all properties hold, 1 one fails, 2 usage, 3 one is unknown or vacuous and none fails. With --against:
0 nothing is newly permitted, 1 something is, 2 usage, 3 unknown.")]
    Prove(ProveArgs),
    /// Check a workflow against recorded sessions.
    #[command(after_help = "Examples:
  interlock backtest bugfix                              the sessions of this project, of every client
  interlock backtest bugfix --client codex --since 30d
  interlock backtest flow.yaml ~/.claude/projects/-home-ana-shop
  interlock backtest flow.yaml session.jsonl --assume-exit
  interlock backtest flow.yaml 01j                       a run of Interlock
  interlock backtest flow.yaml recordings/ --json | jq '.sessions[] | {session, refused}'

Reads the sessions that Claude Code, Codex, Gemini CLI and Copilot CLI keep, exports of opencode, ATIF, OTLP spans in
JSON, logs of Interlock and the output of `interlock log --json`. A recorded session says which calls were made, not in
which state: it is placed where the fewest calls are refused. Nothing runs and nothing is recorded.

Exit codes: 0 nothing is refused, 1 a call is refused, 2 usage, 3 nothing is refused, but not everything could be read
or judged.")]
    Backtest(BacktestArgs),
    /// Propose a workflow from recorded sessions.
    #[command(after_help = "Examples:
  interlock mine > .interlock/workflows/mined.yaml      from the sessions of this project
  interlock mine recordings/ --name work --holdout
  interlock mine ~/.codex/sessions --since 30d --json | jq -r .workflow

The draft has a phase for each kind of work, in the order in which it was done: reading, editing, running code of the
project, version control, the network. It allows the tools and commands that were seen, and asks for evidence where
tests had passed each time. It passes `check`, and `prove` finds it sound; whether it is what you want, you decide.

Exit codes: 0 a draft is printed, 1 no order is found, 2 usage.")]
    Mine(MineArgs),
    /// Show what a shell line would do, and whether a state allows it.
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
    /// Run the language server for editors: diagnostics, completion, hover and definitions in workflow files.
    #[command(
        after_help = "Your editor starts this command and talks to it over standard input and output.
The book has settings for VS Code, Neovim and Helix."
    )]
    Lsp,
    /// FlowState's own command names, for existing scripts.
    #[command(after_help = "Examples:
  interlock fs run hello -n friday      the same as `interlock run hello --name friday`
  interlock fs run hello -r friday      the same as `interlock run hello --resume friday`
  interlock fs list --paused            the same as `interlock list --paused`
  interlock fs resume friday            the same as `interlock resume friday`

For scripts that call `fs`: alias fs='interlock fs', or put a program `fs` on the PATH that starts `interlock fs`.
FlowState's instance is a run here, and its directory is the run directory. The exit code is 75 if the run waits
for a person.")]
    Fs {
        /// The command.
        #[command(subcommand)]
        command: FsCommand,
    },
    /// Change one part of a workflow file and leave every other byte unchanged.
    #[command(after_help = "Examples:
  interlock edit bugfix add-state review '{\"allowed_tools\": [\"Read\"]}' --after testing
  interlock edit bugfix add-transition testing PASS review
  interlock edit bugfix rename-state testing checking
  interlock edit flow.yaml set /states/planning/max_iterations 12
  interlock edit flow.yaml remove-state review --with-transitions --dry-run
  interlock edit flow.yaml apply operations.json

Comments, quotes, order and alignment are kept. An edit that cannot be made without changing something else is
refused, with its line and column. Open runs keep the workflow that they began with.")]
    Edit(EditArgs),
    /// Convert a workflow to the native format, or list what that format cannot express.
    #[command(after_help = "Examples:
  interlock convert flow.json -o flow.yaml
  interlock convert .flowstate/release.yaml
  interlock convert flow.yaml --json | jq .workflow

The workflow is printed to standard output, in the syntax of the file. If something cannot be expressed, all of
it is listed with file, line and column, nothing is written, and the exit code is 1. Comments are not kept.")]
    Convert(ConvertArgs),
    /// Draw a workflow, or a run with its current state.
    #[command(after_help = "Examples:
  interlock graph                   the workflow of this project
  interlock graph bugfix > bugfix.mmd
  interlock graph bugfix --format svg -o bugfix.svg
  interlock graph --run 01j --format dot | dot -Tpng -o run.png
  interlock graph release --run friday      the run `friday` of the workflow `release`")]
    Graph(GraphArgs),
    /// Start a run that guards the next session of an agent client, such as Claude Code.
    #[command(
        after_help = "The run guards the next session of this project. Use `interlock run` for a workflow of steps.

Examples:
  interlock start bugfix
  interlock start flow.yaml --session 4fc69d00-c3af-4ab0-915d-82c1c40d073c
  interlock start release --input '{\"version\":\"1.4.0\"}'"
    )]
    Start(StartArgs),
    /// Run a workflow of steps: Interlock starts its programs, models and agents itself.
    #[command(
        after_help = "Use `interlock start` for a workflow that guards an agent client.

Examples:
  interlock run hello               .flowstate/hello.yaml, or .flowstate/hello/index.yaml
  interlock run ./deploy.yaml --name friday --var target=staging
  interlock run hello -r friday     continue a run that is paused, failed or was cancelled
  interlock run nightly --headless --json | jq -r .event

Programs print to standard output and standard error as usual; Interlock's own messages go to standard
error. With --json, standard output has one object a line instead: first `Run` with the id and the name,
then each event of the run as in `interlock log --json`, the output of programs as `Output` with `path`,
`stream` and `text`, and last `Halted` with `status`, `code` and what the run waits for.

Exit code: that of the workflow; 1 if it has errors, 75 if the run waits for a person, 130 if it was
cancelled."
    )]
    Run(CarryArgs),
    /// Show the state of a run, and what it waits for.
    Status(RunArgs),
    /// Send an event to a run, as a person.
    #[command(after_help = "Examples:
  interlock send READY
  interlock send PASS --data '{\"coverage\":92}' --branch lint")]
    Send(SendArgs),
    /// Approve a request that waits for a person.
    #[command(after_help = "Examples:
  interlock approve                 every request at the only state that waits
  interlock approve 01j a12         one request, by its id
  interlock approve 01j a12 --data '{\"version\":\"1.4.1\"}'")]
    Approve(ApproveArgs),
    /// Reject a request that waits for a person.
    #[command(after_help = "Examples:
  interlock reject --note 'the plan lacks a rollback'
  interlock reject 01j a12")]
    Reject(RejectArgs),
    /// Pause a run: every call is refused until it is resumed.
    Pause(PauseArgs),
    /// Continue a run that is paused, failed or was interrupted, or bind another session to an open run.
    #[command(after_help = "Examples:
  interlock resume
  interlock resume 01j --next       continue it in the next session of this project
  interlock resume 01j --session 4fc69d00-c3af-4ab0-915d-82c1c40d073c
  interlock resume deploy-3 --answer staging
  interlock resume hello/friday --var attempts=0
  interlock resume deploy-3 --fail-with 4   count the interrupted step as failed

A run of steps continues at its current state: a pause ends if its condition holds, and a state that failed
or was cancelled runs again. The exit codes are those of `interlock run`.")]
    Resume(ResumeArgs),
    /// End a run permanently.
    Cancel(RunArgs),
    /// Show what happened in a run.
    #[command(after_help = "Examples:
  interlock log                     one line for each call, in local time
  interlock log 01j --follow
  interlock log 01j --verify
  interlock log --json | jq .       every event with all its fields

The lines for people may change with any version; scripts should read --json.")]
    Log(LogArgs),
    /// Compare two runs, or judge the log of one run under another workflow.
    #[command(after_help = "Examples:
  interlock compare login-bug login-bug-2      the events of two runs, side by side
  interlock compare 01j --under bugfix         what the file as it is now would decide differently
  interlock compare 01j --under flow.yaml --json | jq '.differences[] | {seq, what, change}'

Times, ids, sizes and the location of the project are not compared. With --under, nothing runs and nothing is
recorded. After the first difference everything is hypothetical, because the agent would have been told
something else, and nobody knows what it would have done then. Runs of steps cannot be judged again.

Exit codes: 0 no difference, 1 a difference, 2 usage.")]
    Compare(CompareArgs),
    /// List the runs of this project that have not ended.
    #[command(after_help = "Examples:
  interlock runs
  interlock runs --paused           what waits for a person
  interlock runs --all --json       every run of every project, one object a line")]
    Runs(ListArgs),
    /// List the workflows that have a name: the project's, your own and the shipped ones.
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
    /// Show every run, every open request and the log of one run, live in a terminal.
    #[command(after_help = "Keys: a approves, r rejects with a note, ? shows all keys, q quits.")]
    Watch,
    /// Open the console: a local web page with every run and every open request.
    #[command(after_help = "Examples:
  interlock console
  interlock console --no-open       print the address and open no browser
  interlock console --project .     show the runs of this project first

The page shows a number, and this terminal asks whether it is yours; no other page is let in. The
console is served to this machine only, while this command runs. A process below a guarded agent is
refused, and the run's log records it. An agent that controls your own browser cannot be told apart
from you.")]
    Console(ConsoleArgs),
    /// Export a run as one HTML file: its graph, history, log and calls.
    #[command(after_help = "Examples:
  interlock export -o run.html
  interlock export 01j -o run.html --force

The file needs no console and loads nothing. Secrets are masked as in the console. Refused below a guarded agent.")]
    Export(ExportArgs),
    /// Send a run to a collector, as OpenTelemetry spans.
    #[command(after_help = "Examples:
  interlock telemetry --stdout | jq .
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 interlock telemetry 01j

Once an endpoint is configured, runs are sent while they go on.")]
    Telemetry(TelemetryArgs),
    /// Watch a scripted agent under a workflow, in a temporary folder.
    Demo(DemoArgs),
    /// List the tools of MCP servers that a run has seen, or accept one that has changed.
    #[command(after_help = "Examples:
  interlock tools
  interlock tools 01j --accept github create_issue")]
    Tools(ToolsArgs),
    /// Enrol, list or remove passkeys, for approvals that require one.
    #[command(after_help = "Examples:
  interlock passkey add laptop      create one on the console's page and enrol it
  interlock passkey list
  interlock passkey remove laptop

`add` and `remove` need a terminal, and are refused while a run guards an agent. A transition with `approval: passkey`
is approved on the page of `interlock console`; `interlock log RUN --verify` checks the signatures again.")]
    Passkey(PasskeyArgs),
    /// Sign what a run proves of the commit that is checked out.
    #[command(after_help = "Examples:
  interlock attest keygen           make a key; prints the public one, for .interlock/attest.pub
  interlock attest 01j -o run.att   sign what the run proves of this commit
  interlock attest 01j --expires 7d --key ~/keys/attest.key > run.att
  interlock attest public-key       print the public key again

The statement names the commit and its tree, the workflow, the log's last hash, evidence and
approvals, and says which of them hold for these files. It is an in-toto statement in a DSSE
envelope, signed with ed25519. Needs a terminal or the token. Refused if the log does not verify,
or if files differ from the commit.

Exit codes: 0 signed, 1 refused, 2 usage.")]
    Attest(AttestArgs),
    /// Check an attestation against trusted keys and a commit, without the run.
    #[command(after_help = "Examples:
  interlock verify run.att --commit HEAD --key ana.pub --require tests_passed,approved
  interlock verify run.att --commit $SHA --base origin/main --workflow bugfix --require approved
  git notes --ref interlock show $SHA | interlock verify - --commit $SHA --base origin/main

Keys come from --key, or from .interlock/attest.pub as it is at --base: never from the commit that
is checked, since that could bring its own. The workflow comes from --base, too.

Exit codes: 0 it proves all of this, 1 refused, 2 usage.")]
    Verify(VerifyArgs),
    /// Create a token for your own scripts, or one that binds an agent to a run.
    #[command(after_help = "Examples:
  interlock token                   a token for INTERLOCK_TOKEN; the previous one becomes void
  interlock token 01j               a bearer token for `interlock serve`, good until the run ends
  interlock token 01j --revoke      revoke every token of the run")]
    Token(TokenArgs),
    /// Serve MCP over HTTP, with the configured servers behind it; or the runs of a team.
    #[command(after_help = "Examples:
  interlock serve
  interlock serve --listen 127.0.0.1:0 --json
  interlock serve --listen 0.0.0.0:4680 --token-file ~/.config/interlock/serve.token --allow-host build.example
  interlock serve --shared postgres://interlock@db.example/interlock

The endpoint is /mcp; clients with the transport from before 2025 use /sse. /healthz and /metrics are for operators.
An agent is held to a run by a bearer token of `interlock token RUN`, or by the address /run/TOKEN/mcp.")]
    Serve(ServeArgs),
    /// Answer a hook of an agent client (used by the client).
    #[command(hide = true)]
    Hook(HookArgs),
    /// Run one shell line with the rights of a state.
    #[command(
        hide = true,
        after_help = "Examples:
  interlock exec -- 'cargo test | tail -3'
  interlock exec --as writing --project ~/shop -- npm run build
  interlock exec --require full -- ./untrusted.sh

Exit code: that of the line; 126 if nothing was started."
    )]
    Exec(ExecArgs),
    /// Keep the runs of a team in a PostgreSQL database (a separate program, installed beside this one).
    #[command(after_help = "Examples:
  interlock shared init --database postgres://interlock@db.example/interlock
  interlock shared doctor
  interlock shared export --local 01j -o run.jsonl
  interlock shared import run.jsonl
  interlock shared token create --role person --for ana
  interlock shared serve

The program is `interlock-shared`: `install.sh --shared` or its package installs it beside `interlock`.
This help is all there is until then.")]
    Shared {
        /// The arguments for that program.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Carry the durable runs of a shared log, placed by Restate (a separate program, installed beside this one).
    #[command(after_help = "Examples:
  interlock worker --project ~/shop --restate-admin http://127.0.0.1:9070
  interlock worker --projects /srv/runs --listen 0.0.0.0:9080 --restate http://restate.example:8080 \\
    --identity-key publickeyv1_…

The program is `interlock-worker`: `install.sh --worker` or its package installs it beside `interlock`.
This help is all there is until then.")]
    Worker {
        /// The arguments for that program.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Serve MCP on standard input and output, with MCP servers behind it (started by the client).
    #[command(
        after_help = "The servers are those of `[mcp.NAME]` in `.interlock/config.toml` and in your own configuration, or only the
one whose command is given. If there is none, only the control tools are served.

Examples:
  interlock gateway
  interlock gateway -- npx -y @modelcontextprotocol/server-filesystem .
  claude mcp add interlock -- interlock gateway"
    )]
    Gateway(GatewayArgs),
    /// Print a completion script for a shell, with workflows, runs, states and events.
    #[command(after_help = "Examples:
  echo 'source <(interlock completions bash)' >> ~/.bashrc
  echo 'source <(interlock completions zsh)' >> ~/.zshrc
  interlock completions fish > ~/.config/fish/completions/interlock.fish

The script calls `interlock`, which must be on the PATH.")]
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
    /// Run a workflow: `interlock run`.
    Run(CarryArgs),
    /// List workflows and runs: `interlock list`.
    List(ListArgs),
    /// Continue a run: `interlock resume`.
    Resume(ResumeArgs),
}
