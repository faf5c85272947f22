//! Settings with which a server starts.

use std::{fmt, str::FromStr};

use interlock_core::names::RunId;
use interlock_project::Environment;
use interlock_store::ClientProcess;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Environment of the invocation; the project is found from its directory.
    pub environment: Environment,
    /// Prefix of the listed tools.
    pub tool_prefix: ToolPrefix,
    /// Name of the person in the log.
    pub person: String,
    /// Ancestors of this process, among them the client.
    pub ancestors: Vec<ClientProcess>,
    /// Run of the step that started the client.
    pub started_for: StartedFor,
}

/// The run that a client was started for, according to the credential in its environment.
///
/// It only selects among the runs that the client could reach anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StartedFor {
    /// There is no credential.
    #[default]
    Anything,
    /// The run of its credential.
    Run(RunId),
    /// The credential is no longer valid, or never was.
    Over,
}

/// Prefix of the listed tools; calls with either prefix are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolPrefix {
    /// `interlock_`.
    #[default]
    Interlock,
    /// `statewright_`, for instructions written for it.
    Statewright,
}

impl ToolPrefix {
    /// Both prefixes, the default first.
    pub const ALL: [Self; 2] = [Self::Interlock, Self::Statewright];

    /// Returns the prefix without the underscore.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interlock => "interlock",
            Self::Statewright => "statewright",
        }
    }
}

impl fmt::Display for ToolPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is not a prefix of the control tools.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a prefix of the control tools: hooks know `interlock` and `statewright`")]
pub struct UnknownPrefix(String);

impl FromStr for ToolPrefix {
    type Err = UnknownPrefix;

    fn from_str(text: &str) -> Result<Self, UnknownPrefix> {
        let word = text.strip_suffix('_').unwrap_or(text);
        let known = Self::ALL.into_iter().find(|prefix| prefix.as_str() == word);
        known.ok_or_else(|| UnknownPrefix(text.to_owned()))
    }
}
