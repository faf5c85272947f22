//! Errors of calls.

use std::{fmt, time::Duration};

/// Code of a failed call in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The provider cannot be reached, refuses, or sends an invalid answer.
    ModelError,
    /// The conversation is longer than the model's context.
    ContextOverflow,
    /// The call was given up.
    Cancelled,
}

impl Code {
    /// Returns the stable code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModelError => "model_error",
            Self::ContextOverflow => "context_overflow",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why one attempt of a call failed. It contains no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Kind of the failure.
    pub code: Code,
    /// One sentence: what happened and, if available, the provider's own message.
    pub message: String,
    /// HTTP status; `None` if there was none.
    pub status: Option<u16>,
    /// Whether the same request may succeed later.
    pub is_passing: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// Creates a failure after which the same request may succeed later.
    pub(crate) fn passing(message: impl Into<String>) -> Self {
        Self {
            code: Code::ModelError,
            message: message.into(),
            status: None,
            is_passing: true,
            retry_after: None,
        }
    }

    /// Creates a failure after which the same request would fail again.
    pub(crate) fn lasting(message: impl Into<String>) -> Self {
        Self {
            is_passing: false,
            ..Self::passing(message)
        }
    }

    /// Creates the failure of a cancelled call.
    pub(crate) fn cancelled() -> Self {
        Self {
            code: Code::Cancelled,
            ..Self::lasting("the call was given up")
        }
    }
}

/// A call that failed after all its attempts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}{}", tried(*.tries))]
pub struct ModelError {
    /// Why the last attempt failed.
    pub failure: Failure,
    /// Number of attempts.
    pub tries: u32,
}

impl ModelError {
    /// Returns its kind.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.failure.code
    }
}

fn tried(tries: u32) -> String {
    match tries {
        0 | 1 => String::new(),
        tries => format!(" (tried {tries} times)"),
    }
}
