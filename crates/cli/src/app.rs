//! From the command line to a command, and from its end to an exit code.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::FromArgMatches as _;
use interlock_core::{names::RunId, visible::visible_lines};
use interlock_project::{Config, Library, configuration_directory, project_root, workflow_root};
use interlock_store::Home;

use crate::{
    args::{self, Cli, Command, FsCommand},
    commands, complete,
    failure::{Done, Exit, Failure},
    output::Output,
};

/// What every command is given.
#[derive(Debug)]
pub(crate) struct App {
    /// How to print.
    pub(crate) output: Output,
    /// Where the command was called.
    pub(crate) directory: PathBuf,
}

impl App {
    /// Returns the root of the project the command was called in.
    pub(crate) fn project(&self) -> PathBuf {
        project_root(&self.directory)
    }

    /// Returns the root of the project that workflows of steps belong to here.
    ///
    /// A folder with `.flowstate/` is one too.
    pub(crate) fn flow_project(&self) -> PathBuf {
        workflow_root(&self.directory, home_of_person().as_deref())
    }

    /// Returns the run that is meant: an id, a prefix of one, a name, or the newest of this project.
    pub(crate) fn find_run(&self, home: &Home, wanted: Option<&str>) -> Result<RunId, Failure> {
        let (project, flows) = (self.project(), self.flow_project());
        let found = home.find_run(wanted, &flows);
        if project == flows {
            return Ok(found?);
        }
        Ok(found.or_else(|_| home.find_run(wanted, &project))?)
    }

    /// Returns the workflows that have a name here and may hold an agent.
    pub(crate) fn library(&self) -> Library {
        Library::new(
            &self.project(),
            configuration_directory(variable).as_deref(),
        )
    }

    /// Returns the workflows that have a name here, those of `.flowstate/` before all others.
    ///
    /// To be looked at only: an agent may write there.
    pub(crate) fn library_to_read(&self) -> Library {
        self.library_of(&self.directory)
    }

    /// Returns the same as seen from `directory`.
    pub(crate) fn library_of(&self, directory: &Path) -> Library {
        self.library()
            .with_person(directory, home_of_person().as_deref(), variable("PATH"))
    }

    /// Returns the workflow that is meant where none is named: the project's policy, or the only one it has.
    pub(crate) fn own_workflow(&self) -> Result<String, Failure> {
        let root = self.project();
        if let Some(name) = Config::of_project(&root)?.workflow {
            return Ok(name);
        }
        let own = self.library_to_read().of_project();
        let names: Vec<String> = own
            .iter()
            .map(|entry| format!("`{}`", entry.name))
            .collect();
        let why = match own.as_slice() {
            [only] => return Ok(only.name.clone()),
            [] => anyhow::anyhow!(
                "this project has no workflow: name a file or a shipped one such as `bugfix`, or write one with `interlock new`"
            ),
            _ => anyhow::anyhow!(
                "this project has several workflows: name one of {}",
                names.join(", ")
            ),
        };
        Err(Failure::usage(why))
    }

    /// Returns the state directory.
    pub(crate) fn home(&self) -> Result<Home, Failure> {
        Ok(Home::locate(variable)?)
    }
}

/// Looks up a variable of the environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the home of the person, where there is one.
pub(crate) fn home_of_person() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from)
}

/// Runs the program.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    // A client calls this on every tool call: nothing is built that it does not need.
    if arguments.get(1).map(OsString::as_os_str) == Some(OsStr::new("hook"))
        && !asks_for_help(&arguments)
    {
        return commands::hook::run(arguments.get(2..).unwrap_or_default());
    }
    if arguments.get(1).map(OsString::as_os_str) == Some(OsStr::new("exec"))
        && !asks_for_help(before_line(&arguments))
    {
        return commands::exec::run_line(arguments.get(2..).unwrap_or_default());
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

/// Returns what stands before `--`, behind which a line of its own begins.
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

/// Marks every further line of a message as one that goes on.
pub(crate) fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}

/// Prints what is wrong with the command line, or the help that was asked for.
fn print_usage(error: &clap::Error) -> io::Result<()> {
    let plain = error.render().to_string();
    let shown = visible_lines(&plain);
    if shown == plain {
        return error.print();
    }
    io::stderr().write_all(shown.as_bytes())
}

/// Writes an error and what caused it in one line.
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

impl App {
    pub(crate) fn here(output: Output) -> Result<Self, Failure> {
        let directory = std::env::current_dir().context("the current directory cannot be read")?;
        Ok(Self { output, directory })
    }
}

fn dispatch(app: &App, command: Command) -> Done {
    match command {
        Command::Init(args) => commands::init::run(app, &args),
        Command::Doctor(args) => commands::doctor::run(app, &args),
        Command::New(args) => commands::new::run(app, &args),
        Command::Check(args) => commands::check::run(app, &args),
        Command::Simulate(args) => commands::simulate::run(app, &args),
        Command::Test(args) => commands::test::run(app, &args),
        Command::Explain(args) => commands::explain::run(app, &args),
        Command::Schema(args) => commands::schema::run(app, &args),
        Command::Fs { command } => dispatch(
            app,
            match command {
                FsCommand::Run(args) => Command::Run(args),
                FsCommand::List(args) => Command::List(args),
                FsCommand::Resume(args) => Command::Resume(args),
            },
        ),
        Command::Convert(args) => commands::convert::run(app, &args),
        Command::Graph(args) => commands::graph::run(app, &args),
        Command::Start(args) => commands::start::run(app, &args),
        Command::Run(args) => commands::run::run(app, &args),
        Command::Status(args) => commands::status::run(app, &args),
        Command::Send(args) => commands::people::send(app, args),
        Command::Approve(args) => commands::people::approve(app, args),
        Command::Reject(args) => commands::people::reject(app, args),
        Command::Pause(args) => commands::people::pause(app, args),
        Command::Resume(args) => commands::people::resume(app, args),
        Command::Cancel(args) => commands::people::cancel(app, args),
        Command::Log(args) => commands::log::run(app, &args),
        Command::Telemetry(args) => commands::telemetry::run(app, &args),
        Command::Watch => commands::watch::run(app),
        Command::Workflows(args) => commands::workflows::run(app, &args),
        Command::Runs(args) => commands::list::runs(app, &args),
        Command::List(args) => commands::list::run(app, &args),
        Command::Demo(args) => commands::demo::run(app, &args),
        Command::Tools(args) => commands::tools::run(app, &args),
        Command::Serve(args) => commands::serve::run(app, args),
        Command::Token(args) => commands::token::run(app, &args),
        Command::Hook(_) | Command::Exec(_) => Err(Failure::Said(Exit::Usage)),
        Command::Gateway(args) => commands::gateway::run(app, args),
        Command::Completions { shell } => commands::pages::completions(app, shell),
        Command::Man => commands::pages::manual(app),
    }
}

/// Returns the program's own absolute path.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().context("the program's own path is not known")?;
    Ok(absolute(&path))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
