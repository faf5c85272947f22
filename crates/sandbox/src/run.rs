//! Carries out a plan.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::level::Reach;
use crate::links::Links;
use crate::outcome::{Ended, RunError, Started, Watcher};
use crate::own_directory::OwnDirectory;
use crate::plan::{Plan, Start};
use crate::system;

/// Paths where bash is searched: only the system can write there.
const SHELLS: [&str; 4] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
];

/// Runs `plan` to its end with this process's input, output and terminal.
///
/// `most` limits the kernel features to use: [`Reach::ALL`] except in tests. Only one run at a time in a process: signals and
/// orphans arrive at the process as a whole.
///
/// # Errors
/// Nothing was started.
pub fn run(plan: &Plan, most: Reach) -> Result<Ended, RunError> {
    run_telling(plan, most, &mut |_, _| {})
}

/// Runs `plan` like [`run`], and calls `started` once it runs.
///
/// # Errors
/// Nothing was started.
pub fn run_telling(plan: &Plan, most: Reach, started: &mut Started<'_>) -> Result<Ended, RunError> {
    let told = Watcher {
        started,
        wanted: None,
    };
    run_watched(plan, most, told)
}

/// Runs `plan` like [`run`], with the callbacks of `told` while it runs.
///
/// # Errors
/// Nothing was started.
pub fn run_watched(plan: &Plan, most: Reach, told: Watcher<'_, '_>) -> Result<Ended, RunError> {
    if !plan.directory.is_absolute() {
        return Err(RunError::Plan(format!(
            "`{}` is not an absolute directory",
            plan.directory.display()
        )));
    }
    let own = own_directory(plan)?;
    let own = own.as_ref().map(OwnDirectory::path);
    let made = made_places(plan);
    let (mut channel, line) = system::probed(plan);
    let start = line.map(Start::Line);
    let (program, arguments) = program(start.as_ref().unwrap_or(&plan.start))?;
    let environment = plan.environment.apply(std::env::vars_os(), own);
    let mut command = || {
        let mut command = Command::new(&program);
        command.args(&arguments).env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command
    };
    let ended = system::carry_out(plan, own, most, &mut command, channel.take(), told);
    for path in made {
        // Only if nothing was put there.
        let _ = std::fs::remove_dir(path);
    }
    ended
}

fn own_directory(plan: &Plan) -> Result<Option<OwnDirectory>, RunError> {
    let confined = plan
        .confinement
        .as_ref()
        .is_some_and(|one| one.own_directory);
    if !confined && plan.environment.in_own_directory.is_empty() {
        return Ok(None);
    }
    OwnDirectory::make()
        .map(Some)
        .map_err(|source| RunError::Start {
            step: "make a temporary directory",
            source,
        })
}

/// Creates the writable places that must be created, and returns them.
fn made_places(plan: &Plan) -> Vec<PathBuf> {
    let mut made = Vec::new();
    let links = Links::default();
    for place in plan.confinement.iter().flat_map(|one| &one.writable) {
        if links.is_wanted(place) && std::fs::create_dir(&place.path).is_ok() {
            made.push(place.path.clone());
        }
    }
    made
}

fn program(start: &Start) -> Result<(OsString, Vec<OsString>), RunError> {
    match start {
        Start::Line(line) => {
            let shell = SHELLS
                .into_iter()
                .find(|path| Path::new(path).is_file())
                .ok_or(RunError::NoShell)?;
            let words = ["--noprofile", "--norc", "-c", "--", line];
            Ok((
                shell.into(),
                words.into_iter().map(OsString::from).collect(),
            ))
        }
        Start::Program(words) => {
            let (program, arguments) = words
                .split_first()
                .ok_or_else(|| RunError::Plan("there is no program to start".to_owned()))?;
            Ok((
                program.into(),
                arguments.iter().map(OsString::from).collect(),
            ))
        }
    }
}
