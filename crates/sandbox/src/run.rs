//! Carries a plan out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::level::{Level, NotHeld, Reach};
use crate::links::Links;
use crate::own_directory::OwnDirectory;
use crate::plan::{Plan, Start};
use crate::system;

/// How a command ended, and what was found after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How the command itself ended.
    pub exit: Exit,
    /// The level it ran at.
    pub level: Level,
    /// What it was not held from.
    pub not_held: Vec<NotHeld>,
    /// Protected things that changed.
    pub changed: Vec<Changed>,
    /// Files written that match a reported pattern, relative to the project.
    pub wrote: Vec<String>,
    /// How the probed commands of the line ended, in the order of their starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<Probed>,
    /// How many programs that it left behind were ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_behind: usize,
    /// Why `wrote` or `changed` may lack something; `None` when they are whole.
    pub unseen: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// How a probed command of a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// The byte of the line at which its first word begins.
    pub at: usize,
    /// Its exit code; `None`: a signal ended it, or its end was not told.
    pub exit: Option<u8>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With an exit code.
    Code(u8),
    /// By a signal; the caller raises the same on itself.
    Signal(i32),
}

/// A protected thing that changed while a command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The file or directory, absolute.
    pub path: PathBuf,
    /// What happened to it.
    pub change: Change,
    /// What was done about it.
    pub answer: Answer,
}

/// What happened to a protected thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Appeared,
    /// Its content, kind or mode is another.
    Altered,
    /// It is gone.
    Removed,
}

/// What was done about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is as it was before.
    PutBack,
    /// It was moved there.
    MovedAside(PathBuf),
    /// Nothing could be done, for this reason.
    Left(String),
}

/// Why a command was not started, or could not be followed to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine reaches less than the plan requires.
    #[error(
        "this machine confines commands at level `{reached}`, below the required `{required}`: \
         nothing was started; see `interlock doctor`, and `[sandbox] require`"
    )]
    BelowRequired {
        /// What can be reached.
        reached: Level,
        /// What is required.
        required: Level,
    },
    /// There is no bash in a place that only the system writes.
    #[error(
        "there is no `bash` in /bin, /usr/bin, /usr/local/bin or /opt/homebrew/bin: install it"
    )]
    NoShell,
    /// The plan cannot be carried out as it stands.
    #[error("{0}")]
    Plan(String),
    /// A step before the start failed; nothing was started.
    #[error("cannot {step}: {source}")]
    Start {
        /// What was being done.
        step: &'static str,
        /// What the system answered.
        source: std::io::Error,
    },
    /// The program to start was not found or cannot be run.
    #[error("cannot start `{program}`: {source}")]
    Program {
        /// The program.
        program: String,
        /// What the system answered.
        source: std::io::Error,
    },
}

/// Places where bash is looked for: only the system writes there.
const SHELLS: [&str; 4] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
];

/// Runs `plan` to its end with this process's input, output and terminal.
///
/// `most` limits what is used of the kernel: [`Reach::ALL`] but in tests. One run at a
/// time in a process: signals and orphans come to the process as a whole.
///
/// # Errors
/// Nothing was started.
pub fn run(plan: &Plan, most: Reach) -> Result<Ended, RunError> {
    run_telling(plan, most, &mut |_, _| {})
}

/// What is told once a command runs: its level, and what it is not held from.
pub type Started<'a> = dyn FnMut(Level, &[NotHeld]) + 'a;

/// Who is told of a command while it runs, and asked about it.
#[expect(missing_debug_implementations, reason = "closures cannot be shown")]
pub struct Watcher<'t, 'a> {
    /// Told once it runs.
    pub started: &'t mut Started<'a>,
    /// Asked a few times a second whether it may go on; a no ends it with all that it started.
    pub wanted: Option<&'t mut (dyn FnMut() -> bool + 'a)>,
}

/// Runs `plan` as [`run`] does, and tells `started` while it runs.
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

/// Runs `plan` as [`run`] does, and tells and asks `told` while it runs.
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
        // Only where nothing was put there.
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

/// Makes the writable places that are to be made, and returns them.
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
