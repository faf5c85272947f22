//! Why a control tool did nothing.

use std::fmt;

use interlock_core::{
    names::RunId,
    refusal::{Code, Refusal},
};
use interlock_project::ConfigError;
use interlock_store::{BindError, StoreError};

/// The stable codes for why a control tool did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The engine refused.
    Engine(Code),
    /// No run is open for the caller.
    NoRun,
    /// Several runs match the caller.
    SeveralRuns,
    /// No workflow has that name.
    UnknownWorkflow,
    /// The workflow has errors.
    InvalidWorkflow,
    /// A workflow or a draft has that name already.
    NameTaken,
    /// A file that Interlock needs cannot be read or written.
    Unavailable,
}

impl Word {
    /// Returns the code as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Engine(code) => code.as_str(),
            Self::NoRun => "no_run",
            Self::SeveralRuns => "several_runs",
            Self::UnknownWorkflow => "unknown_workflow",
            Self::InvalidWorkflow => "invalid_workflow",
            Self::NameTaken => "name_taken",
            Self::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal of a control tool, not from a run's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) word: Word,
    pub(crate) message: String,
    /// Runs that the call may concern.
    pub(crate) runs: Vec<RunId>,
}

impl Refused {
    pub(crate) fn new(word: Word, message: impl Into<String>) -> Self {
        Self {
            word,
            message: message.into(),
            runs: Vec::new(),
        }
    }

    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new(Word::Engine(Code::InvalidArguments), message)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::new(Word::Engine(refusal.code), refusal.message)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::new(Word::Unavailable, with_causes(&error))
    }
}

impl From<ConfigError> for Refused {
    fn from(error: ConfigError) -> Self {
        Self::new(Word::Unavailable, with_causes(&error))
    }
}

impl From<BindError> for Refused {
    fn from(error: BindError) -> Self {
        let run = match &error {
            BindError::Store(_) => return Self::new(Word::Unavailable, with_causes(&error)),
            BindError::SessionBound { run, .. }
            | BindError::RunHeld { run, .. }
            | BindError::OtherWaits { run } => run.clone(),
        };
        Self {
            runs: vec![run],
            ..Self::new(Word::Engine(Code::RunOpen), error.to_string())
        }
    }
}

/// Formats an error and its causes in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
