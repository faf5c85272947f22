//! Refusals: why not, as a stable code and a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a call was denied or a command rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable word.
    pub code: Code,
    /// One sentence for the agent, with what to do instead.
    pub message: String,
}

impl Refusal {
    /// Pairs a code with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal)*) => {
        /// The stable words for why something was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Returns the word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

codes! {
    /// The state does not list the tool.
    ToolNotAllowed = "tool_not_allowed"
    /// The state disallows the tool.
    ToolDisallowed = "tool_disallowed"
    /// The state's calls are used up.
    IterationLimit = "iteration_limit"
    /// The state's bytes of results are used up.
    ContextBudget = "context_budget"
    /// A command of the line is not listed.
    CommandNotAllowed = "command_not_allowed"
    /// The line writes where it may not.
    ShellWrite = "shell_write"
    /// What the line does cannot be known.
    ShellUnreadable = "shell_unreadable"
    /// The line uses a blocked variable.
    EnvBlocked = "env_blocked"
    /// The edit touches too many lines.
    EditTooLarge = "edit_too_large"
    /// The state's files are used up.
    TooManyFiles = "too_many_files"
    /// The call touches what an agent may never touch.
    Protected = "protected"
    /// A person has to answer first.
    AwaitingApproval = "awaiting_approval"
    /// The yes has to come with a passkey.
    PasskeyRequired = "passkey_required"
    /// The assertion of a passkey is not one for this yes.
    PasskeyInvalid = "passkey_invalid"
    /// The run is paused.
    Paused = "paused"
    /// A person said no to this call.
    GrantDenied = "grant_denied"
    /// The state has no such event.
    UnknownEvent = "unknown_event"
    /// A guard does not hold.
    GuardFailed = "guard_failed"
    /// No branch of the event has guards that hold.
    NoBranchMatched = "no_branch_matched"
    /// The run has ended.
    RunOver = "run_over"
    /// There is nowhere to return to.
    NoReturn = "no_return"
    /// A key of the data is reserved.
    ReservedKey = "reserved_key"
    /// No open branch has this name.
    UnknownBranch = "unknown_branch"
    /// Nothing waits for an answer.
    NothingPending = "nothing_pending"
    /// A bound of the run is reached.
    LimitExceeded = "limit_exceeded"
    /// A run is open already.
    RunOpen = "run_open"
    /// The agent is to bring the run to an end first.
    FinishRequired = "finish_required"
    /// The arguments cannot be judged.
    InvalidArguments = "invalid_arguments"
    /// There is no such tool.
    UnknownTool = "unknown_tool"
    /// One message has more calls than are looked at.
    TooManyCalls = "too_many_calls"
    /// What was handed in does not fit its schema.
    SchemaInvalid = "schema_invalid"
    /// The run has spent what it may on models.
    Budget = "budget"
    /// A file outside of the project was to be written.
    OutsideProject = "outside_project"
    /// A secret was to be read.
    SecretRead = "secret_read"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
