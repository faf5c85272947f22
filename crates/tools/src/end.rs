//! How a call ended.

use interlock_sandbox::{Changed, Level, NotHeld};
use serde::{Deserialize, Serialize};

use crate::context::SeenFile;

/// How a call ended, and what the model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEnd {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Why not; `None` exactly where it did.
    pub code: Option<Code>,
    /// What the model is told: the result, or the sentence of the failure and what there is of a result.
    pub text: String,
    /// Bytes of the whole result, also where `text` has only parts of it.
    pub bytes: u64,
    /// The exit code of a shell line; 128 and the signal for one that ended by it.
    pub exit: Option<i64>,
    /// Files it was seen to write: absolute, links resolved.
    pub wrote: Vec<String>,
    /// Files whose content the model now knows; [`crate::Seen`] has them already.
    pub seen: Vec<SeenFile>,
    /// How the kernel held a shell line, and what was found after it.
    pub held: Option<Held>,
    /// What a server answered beside its body.
    pub reply: Option<Reply>,
}

/// How the kernel held a shell line, and what was found after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The level it ran at.
    pub level: Level,
    /// What it was not held from.
    pub not_held: Vec<NotHeld>,
    /// Protected things that changed while it ran.
    pub changed: Vec<Changed>,
    /// Why something may be missing in what was found after it.
    pub unseen: Option<String>,
}

/// What a server answered beside its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The status, such as 404.
    pub status: u16,
    /// Its headers, in order; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// How long it asks to wait before the next try, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// Why a call failed. The words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The arguments are not JSON, or not what the tool's schema asks for.
    InvalidArguments,
    /// The path leads out of the places that the tool may touch.
    OutsideProject,
    /// The path is Interlock's own.
    Protected,
    /// The path leads elsewhere than when the call was judged.
    Moved,
    /// There is nothing at the path.
    NotFound,
    /// There is something else than a regular file at the path.
    NotAFile,
    /// There is something else than a directory at the path.
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
    /// The old text is there more than once.
    ManyMatches,
    /// Nothing would change.
    NoChange,
    /// The system refuses to read it.
    CannotRead,
    /// The system refuses to write it.
    CannotWrite,
    /// It took too long.
    Timeout,
    /// Somebody had it stopped.
    Cancelled,
    /// The line ended with another exit code than 0, or by a signal.
    ExitStatus,
    /// The line was not started.
    NotStarted,
    /// The server answered with a status from 400.
    HttpStatus,
    /// The server was not reached, or broke off.
    Unreachable,
    /// The server leads elsewhere more than ten times, or where requests do not go.
    Redirect,
    /// No datasource has this name.
    NoDatasource,
}

impl Code {
    /// Returns the word used in results and logs.
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
    /// A call that did what was asked, with its result.
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

    /// A call that failed, with the sentence for the model.
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
    /// Tells whether the same call may succeed later by itself, and how long its server wants to be left alone, in milliseconds.
    ///
    /// `None`: it succeeded, or will not. A shell line is not among them: it may have done half of what it does.
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

/// Why a call goes no further.
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

/// Returns the bytes of a text as they are counted.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
