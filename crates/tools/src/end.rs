//! How a call ended.

use interlock_sandbox::{Changed, Level, Unconfined};
use serde::{Deserialize, Serialize};

use crate::context::SeenFile;

/// How a call ended, with the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEnd {
    /// Whether it succeeded.
    pub ok: bool,
    /// Reason of the failure; `None` if it succeeded.
    pub code: Option<Code>,
    /// Text for the model: the result, or the message of the failure with the partial result.
    pub text: String,
    /// Size of the whole result in bytes, even if `text` contains only parts of it.
    pub bytes: u64,
    /// Exit code of a shell line; 128 plus the signal if a signal ended it.
    pub exit: Option<i64>,
    /// Files that it was observed to write: absolute, links resolved.
    pub wrote: Vec<String>,
    /// Files whose contents the model now knows; [`crate::Seen`] has them already.
    pub seen: Vec<SeenFile>,
    /// How the kernel confined a shell line, and what was found after it.
    pub held: Option<ConfinementReport>,
    /// Response of a server besides its body.
    pub reply: Option<Reply>,
}

/// How the kernel confined a shell line, and what was found after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementReport {
    /// Level at which it ran.
    pub level: Level,
    /// What was not confined.
    pub unconfined: Vec<Unconfined>,
    /// Protected files that changed while it ran.
    pub changed: Vec<Changed>,
    /// Why the findings may be incomplete.
    pub unseen: Option<String>,
}

/// The response of a server besides its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The status, such as 404.
    pub status: u16,
    /// Its headers, in order; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// How long it asks to wait before the next attempt, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// Why a call failed. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The arguments are not JSON, or do not match the tool's schema.
    InvalidArguments,
    /// The path leads out of the places that the tool may access.
    OutsideProject,
    /// The path belongs to Interlock.
    Protected,
    /// The path now leads elsewhere than when the call was judged.
    Moved,
    /// Nothing is at the path.
    NotFound,
    /// The path is not a regular file.
    NotAFile,
    /// The path is not a directory.
    NotADirectory,
    /// The file is not UTF-8 text.
    Binary,
    /// The file or the answer is too large.
    TooLarge,
    /// The file was not read in this attempt.
    NotRead,
    /// The file has changed since it was read.
    StaleFile,
    /// The old text is not in the file.
    NoMatch,
    /// The old text occurs more than once.
    ManyMatches,
    /// Nothing would change.
    NoChange,
    /// The system refuses reading.
    CannotRead,
    /// The system refuses writing.
    CannotWrite,
    /// It took too long.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// The line ended with an exit code other than 0, or by a signal.
    ExitStatus,
    /// The line was not started.
    NotStarted,
    /// The server answered with a status of 400 or above.
    HttpStatus,
    /// The server was not reached, or closed the connection.
    Unreachable,
    /// There are more than ten redirects, or one to an unsupported address.
    Redirect,
    /// No datasource has this name.
    NoDatasource,
}

impl Code {
    /// Returns the code used in results and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::OutsideProject => "outside_project",
            Self::Protected => "protected",
            Self::Moved => "moved",
            Self::NotFound => "not_found",
            Self::NotAFile => "not_a_file",
            Self::NotADirectory => "not_a_directory",
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::NotRead => "not_read",
            Self::StaleFile => "stale_file",
            Self::NoMatch => "no_match",
            Self::ManyMatches => "many_matches",
            Self::NoChange => "no_change",
            Self::CannotRead => "cannot_read",
            Self::CannotWrite => "cannot_write",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::ExitStatus => "exit_status",
            Self::NotStarted => "not_started",
            Self::HttpStatus => "http_status",
            Self::Unreachable => "unreachable",
            Self::Redirect => "redirect",
            Self::NoDatasource => "no_datasource",
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ToolEnd {
    /// Creates the end of a successful call, with its result.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            ok: true,
            code: None,
            bytes: length(&text),
            text,
            exit: None,
            wrote: Vec::new(),
            seen: Vec::new(),
            held: None,
            reply: None,
        }
    }

    /// Creates the end of a failed call, with the message for the model.
    #[must_use]
    pub fn failed(code: Code, message: impl Into<String>) -> Self {
        Self {
            ok: false,
            code: Some(code),
            ..Self::done(message)
        }
    }
}

impl ToolEnd {
    /// Returns whether the same call may succeed later, and how long its server asks to wait, in milliseconds.
    ///
    /// Returns `None` if it succeeded, or will not succeed later. Shell lines are excluded: they may have done half of their
    /// work.
    #[must_use]
    pub fn passing(&self) -> Option<Option<u64>> {
        let status = self.reply.as_ref().map(|reply| reply.status);
        let passes = match self.code? {
            Code::Unreachable => true,
            Code::Timeout => self.held.is_none() && self.exit.is_none(),
            Code::HttpStatus => status.is_some_and(|status| matches!(status, 408 | 429 | 500..)),
            _ => false,
        };
        passes.then(|| self.reply.as_ref().and_then(|reply| reply.retry_after_ms))
    }
}

impl From<Failure> for ToolEnd {
    fn from(failure: Failure) -> Self {
        Self::failed(failure.code, failure.message)
    }
}

/// Why a call cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// Returns the length of a text in bytes.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
