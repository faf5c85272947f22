//! `shared` and `worker`: each starts a separate program, so that nobody else builds or starts what it needs.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::anyhow;

use crate::{
    args::ServeArgs,
    failure::{Done, Exit, Failure},
};

/// A program in the same folder as this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// The program of `interlock shared`.
    Shared,
    /// The program of `interlock worker`.
    Worker,
}

impl Beside {
    /// Returns the program of a subcommand.
    pub(crate) fn of(subcommand: &OsStr) -> Option<Self> {
        [Self::Shared, Self::Worker]
            .into_iter()
            .find(|program| subcommand == program.subcommand())
    }

    const fn subcommand(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Worker => "worker",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Shared => "interlock-shared",
            Self::Worker => "interlock-worker",
        }
    }
}

/// Replaces this process by the program; returns `None` if it does not exist.
///
/// It is searched only next to this program: a program of this name on the `PATH` may be another.
pub(crate) fn start(program: Beside, arguments: &[OsString]) -> Option<ExitCode> {
    start_with(program, arguments, None)
}

/// Like [`start`], with the address of the database in the program's environment, where others cannot read it.
fn start_with(program: Beside, arguments: &[OsString], database: Option<&str>) -> Option<ExitCode> {
    let program = place()?.join(program.name());
    if !program.is_file() {
        return None;
    }
    let mut command = Command::new(&program);
    command.args(arguments);
    command.envs(database.map(|database| ("INTERLOCK_DATABASE", database)));
    // This returns only on failure.
    let error = command.exec();
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("interlock: cannot start `{}`: {error}\n", program.display()).as_bytes(),
    );
    Some(ExitCode::FAILURE)
}

/// Starts the program, or says how to install it.
pub(crate) fn run(program: Beside, arguments: &[OsString]) -> Done {
    match start(program, arguments) {
        Some(_) => Err(Failure::Said(Exit::Failed)),
        None => missing(program),
    }
}

/// Starts the program to serve the runs in a database.
pub(crate) fn serve(database: &str, args: &ServeArgs) -> Done {
    let mut arguments = vec!["serve".into(), "--listen".into()];
    arguments.push(args.listen.to_string().into());
    for (is_set, option) in [(args.behind_proxy, "--behind-proxy"), (args.json, "--json")] {
        arguments.extend(is_set.then(|| option.into()));
    }
    match start_with(Beside::Shared, &arguments, Some(database)) {
        Some(_) => Err(Failure::Said(Exit::Failed)),
        None => missing(Beside::Shared),
    }
}

fn missing(program: Beside) -> Done {
    let place = place().map_or_else(
        || "the folder of `interlock`".to_owned(),
        |place| format!("`{}`", place.display()),
    );
    let (subcommand, name) = (program.subcommand(), program.name());
    Err(Failure::usage(anyhow!(
        "`interlock {subcommand}` is the program `{name}`, which is not in {place}: install the package of this name, or build it with `cargo build --release -p {name}` and put it there"
    )))
}

fn place() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.parent().map(PathBuf::from)
}
