//! What became of a confined command, and why one was not started.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::level::{Level, NotHeld};

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

/// What is told once a command runs: its level, and what it is not held from.
pub type Started<'a> = dyn FnMut(Level, &[NotHeld]) + 'a;

/// Who is told of a command while it runs, and asked about it.
#[expect(missing_debug_implementations, reason = "closures cannot be shown")]
pub struct Watcher<'t, 'a> {
    /// Called once the command runs.
    pub started: &'t mut Started<'a>,
    /// Asked a few times a second whether it may go on; a no ends it with all that it started.
    pub wanted: Option<&'t mut (dyn FnMut() -> bool + 'a)>,
}
