//! Outcome of a confined command, and why one was not started.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::level::{Level, Unconfined};

/// How a command ended, and what was found after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Exit of the command itself.
    pub exit: Exit,
    /// Level at which it ran.
    pub level: Level,
    /// What was not confined.
    pub unconfined: Vec<Unconfined>,
    /// Protected files that changed.
    pub changed: Vec<Changed>,
    /// Files written that match a reported pattern, relative to the project.
    pub wrote: Vec<String>,
    /// Ends of the line's probed commands, in the order of their starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<Probed>,
    /// Number of leftover programs that were ended.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_behind: usize,
    /// Why `wrote` or `changed` may be incomplete; `None` if they are complete.
    pub unseen: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// End of a probed command of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// Byte offset of its first word in the line.
    pub at: usize,
    /// Exit code; `None` if a signal ended it, or its end was not reported.
    pub exit: Option<u8>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With an exit code.
    Code(u8),
    /// By a signal, which the caller raises on itself.
    Signal(i32),
}

/// A protected file that changed while a command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The file or directory, absolute.
    pub path: PathBuf,
    /// What happened to it.
    pub change: Change,
    /// What was done about it.
    pub answer: Answer,
}

/// What happened to a protected file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It did not exist before.
    Appeared,
    /// Its contents, kind or mode changed.
    Altered,
    /// It was removed.
    Removed,
}

/// What was done about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was restored.
    PutBack,
    /// It was moved to this path.
    MovedAside(PathBuf),
    /// Nothing could be done, for this reason.
    Left(String),
}

/// Why a command was not started, or could not be followed to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine enforces less than the plan requires.
    #[error(
        "this machine confines commands at level `{reached}`, below the required `{required}`: \
         nothing was started; see `interlock doctor`, and `[sandbox] require`"
    )]
    BelowRequired {
        /// Level of the machine.
        reached: Level,
        /// Required level.
        required: Level,
    },
    /// There is no bash at a path that only the system writes.
    #[error(
        "there is no `bash` in /bin, /usr/bin, /usr/local/bin or /opt/homebrew/bin: install it"
    )]
    NoShell,
    /// The plan cannot be carried out.
    #[error("{0}")]
    Plan(String),
    /// A step before the start failed; nothing was started.
    #[error("cannot {step}: {source}")]
    Start {
        /// The failed step.
        step: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The program to start was not found or cannot be run.
    #[error("cannot start `{program}`: {source}")]
    Program {
        /// Path of the program.
        program: String,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// Receives, once a command runs, its level and what is not confined.
pub type Started<'a> = dyn FnMut(Level, &[Unconfined]) + 'a;

/// Callbacks while a command runs.
#[expect(missing_debug_implementations, reason = "closures cannot be shown")]
pub struct Watcher<'t, 'a> {
    /// Called once the command runs.
    pub started: &'t mut Started<'a>,
    /// Called a few times a second; returning `false` ends the command with everything that it started.
    pub wanted: Option<&'t mut (dyn FnMut() -> bool + 'a)>,
}
