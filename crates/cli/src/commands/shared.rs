//! `shared`: starts a separate program, so that nobody else builds or starts what it needs.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::anyhow;

use crate::failure::{Done, Exit, Failure};

/// Name of the program, which is in the same folder as this one.
const PROGRAM: &str = "interlock-shared";

/// Replaces this process by the program; returns `None` if it does not exist.
///
/// It is searched only next to this program: a program of this name on the `PATH` may be another.
pub(crate) fn start(arguments: &[OsString]) -> Option<ExitCode> {
    let program = place()?.join(PROGRAM);
    if !program.is_file() {
        return None;
    }
    // This returns only on failure.
    let error = Command::new(&program).args(arguments).exec();
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("interlock: cannot start `{}`: {error}\n", program.display()).as_bytes(),
    );
    Some(ExitCode::FAILURE)
}

/// Starts the program, or says how to install it.
pub(crate) fn run(arguments: &[OsString]) -> Done {
    if start(arguments).is_some() {
        return Err(Failure::Said(Exit::Failed));
    }
    let place = place().map_or_else(
        || "the folder of `interlock`".to_owned(),
        |place| format!("`{}`", place.display()),
    );
    Err(Failure::usage(anyhow!(
        "`interlock shared` is the program `{PROGRAM}`, which is not in {place}: install the package of this name, or build it with `cargo build --release -p {PROGRAM}` and put it there"
    )))
}

fn place() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.parent().map(PathBuf::from)
}
