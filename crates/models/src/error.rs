//! Why a call came to nothing.

use std::{fmt, time::Duration};

/// What stands in the log for a call that came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The provider cannot be reached, refuses, or does not make sense.
    ModelError,
    /// The conversation is longer than the model can read.
    ContextOverflow,
    /// It was given up.
    Cancelled,
}

impl Code {
    /// Returns the stable word.
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

/// Why one try of a call failed. Holds no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What it is.
    pub code: Code,
    /// One sentence: what happened and, where it says something, the provider's own words.
    pub message: String,
    /// The status of HTTP; `None`: there was none.
    pub status: Option<u16>,
    /// Whether the same request may succeed later.
    pub is_passing: bool,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// The same request may succeed later.
    pub(crate) fn passing(message: impl Into<String>) -> Self {
        Self {
            code: Code::ModelError,
            message: message.into(),
            status: None,
            is_passing: true,
            retry_after: None,
        }
    }

    /// The same request would fail again.
    pub(crate) fn lasting(message: impl Into<String>) -> Self {
        Self {
            is_passing: false,
            ..Self::passing(message)
        }
    }

    /// It was given up.
    pub(crate) fn cancelled() -> Self {
        Self {
            code: Code::Cancelled,
            ..Self::lasting("the call was given up")
        }
    }
}

/// A call that came to nothing, after all its tries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{failure}{}", tried(*.tries))]
pub struct ModelError {
    /// Why the last try failed.
    pub failure: Failure,
    /// How many there were.
    pub tries: u32,
}

impl ModelError {
    /// Returns what it is.
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
