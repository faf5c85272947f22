//! Dispatches the command line to a command, one module each, and its result to an exit code.

mod attest;
pub(crate) mod backtest;
mod beside;
pub(crate) mod check;
mod compare;
pub(crate) mod console;
mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
mod edit;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gateway;
pub(crate) mod graph;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
mod lsp;
pub(crate) mod mine;
pub(crate) mod new;
pub(crate) mod pages;
pub(crate) mod passkey;
pub(crate) mod people;
pub(crate) mod prove;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod telemetry;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod tools;
mod verify;
pub(crate) mod watch;
pub(crate) mod workflows;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    process::ExitCode,
};

use clap::FromArgMatches as _;
use interlock_core::visible::visible_lines;

use self::beside::Beside;
use crate::{
    app::{App, indented},
    args::{self, Cli, Command, FsCommand},
    complete,
    failure::{Done, Exit, Failure},
    output::Output,
};

/// Runs the program.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    // A client calls this for every tool call: nothing is built that it does not need.
    if arguments.get(1).map(OsString::as_os_str) == Some(OsStr::new("hook"))
        && !asks_for_help(&arguments)
    {
        return hook::run(arguments.get(2..).unwrap_or_default());
    }
    if arguments.get(1).map(OsString::as_os_str) == Some(OsStr::new("exec"))
        && !asks_for_help(before_line(&arguments))
    {
        return exec::run_line(arguments.get(2..).unwrap_or_default());
    }
    if let Some(program) = arguments.get(1).and_then(|word| Beside::of(word))
        && let Some(code) = beside::start(program, arguments.get(2..).unwrap_or_default())
    {
        return code;
    }
    complete::answer();
    let read = args::command().try_get_matches_from(arguments);
    let cli = match read.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            return match print_usage(&error) {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(2),
            };
        }
    };
    let output = Output::new(cli.color);
    match App::here(output).and_then(|app| dispatch(&app, cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Said(exit)) => exit.into(),
        Err(Failure::Error(exit, error)) => {
            let _ = output.error(&format!("interlock: {}\n", indented(&chain(&error))));
            exit.into()
        }
    }
}

/// Returns the arguments before `--`, after which a separate command line begins.
fn before_line(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|argument| argument == "--");
    arguments
        .get(..end.unwrap_or(arguments.len()))
        .unwrap_or_default()
}

fn asks_for_help(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
}

fn dispatch(app: &App, command: Command) -> Done {
    match command {
        Command::Init(args) => init::run(app, &args),
        Command::Doctor(args) => doctor::run(app, &args),
        Command::New(args) => new::run(app, &args),
        Command::Check(args) => check::run(app, &args),
        Command::Simulate(args) => simulate::run(app, &args),
        Command::Test(args) => test::run(app, &args),
        Command::Prove(args) => prove::run(app, &args),
        Command::Backtest(args) => backtest::run(app, &args),
        Command::Mine(args) => mine::run(app, &args),
        Command::Explain(args) => explain::run(app, &args),
        Command::Schema(args) => schema::run(app, &args),
        Command::Fs { command } => dispatch(
            app,
            match command {
                FsCommand::Run(args) => Command::Run(args),
                FsCommand::List(args) => Command::List(args),
                FsCommand::Resume(args) => Command::Resume(args),
            },
        ),
        Command::Convert(args) => convert::run(app, &args),
        Command::Edit(args) => edit::run(app, &args),
        Command::Graph(args) => graph::run(app, &args),
        Command::Start(args) => start::run(app, &args),
        Command::Run(args) => run::run(app, &args),
        Command::Status(args) => status::run(app, &args),
        Command::Send(args) => people::send(app, args),
        Command::Approve(args) => people::approve(app, args),
        Command::Reject(args) => people::reject(app, args),
        Command::Pause(args) => people::pause(app, args),
        Command::Resume(args) => people::resume(app, args),
        Command::Cancel(args) => people::cancel(app, args),
        Command::Log(args) => log::run(app, &args),
        Command::Compare(args) => compare::run(app, &args),
        Command::Telemetry(args) => telemetry::run(app, &args),
        Command::Watch => watch::run(app),
        Command::Console(args) => console::run(app, &args),
        Command::Workflows(args) => workflows::run(app, &args),
        Command::Runs(args) => list::runs(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Demo(args) => demo::run(app, &args),
        Command::Tools(args) => tools::run(app, &args),
        Command::Serve(args) => serve::run(app, args),
        Command::Shared { arguments } => beside::run(Beside::Shared, &arguments),
        Command::Worker { arguments } => beside::run(Beside::Worker, &arguments),
        Command::Export(args) => export::run(app, &args),
        Command::Passkey(args) => passkey::run(app, args),
        Command::Token(args) => token::run(app, &args),
        Command::Attest(args) => attest::run(app, &args),
        Command::Verify(args) => verify::run(app, &args),
        Command::Hook(_) | Command::Exec(_) => Err(Failure::Said(Exit::Usage)),
        Command::Gateway(args) => gateway::run(app, args),
        Command::Completions { shell } => pages::completions(app, shell),
        Command::Lsp => lsp::run(app),
        Command::Man => pages::manual(app),
    }
}

/// Prints what is wrong with the command line, or the requested help.
fn print_usage(error: &clap::Error) -> io::Result<()> {
    let plain = error.render().to_string();
    let shown = visible_lines(&plain);
    if shown == plain {
        return error.print();
    }
    io::stderr().write_all(shown.as_bytes())
}

/// Formats an error and its causes in one line.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some libraries repeat the cause in the message.
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}
