//! Refusals: a stable code with a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a call was denied or a command rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// One sentence for the agent, which says what to do instead.
    pub message: String,
}

impl Refusal {
    /// Creates a refusal from a code and its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $word:literal)*) => {
        /// The stable codes of refusals.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Returns the code as text.
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
    /// A command of the line has no entry in `allowed_commands`.
    CommandNotAllowed = "command_not_allowed"
    /// The line writes a file that it may not write.
    ShellWrite = "shell_write"
    /// The effect of the line cannot be determined.
    ShellUnreadable = "shell_unreadable"
    /// The line uses a blocked variable.
    EnvBlocked = "env_blocked"
    /// The edit touches too many lines.
    EditTooLarge = "edit_too_large"
    /// The state's limit of files is used up.
    TooManyFiles = "too_many_files"
    /// The call touches a protected thing.
    Protected = "protected"
    /// A person has to answer first.
    AwaitingApproval = "awaiting_approval"
    /// The approval requires a passkey.
    PasskeyRequired = "passkey_required"
    /// The passkey assertion is not for this approval.
    PasskeyInvalid = "passkey_invalid"
    /// The run is paused.
    Paused = "paused"
    /// A person rejected this call.
    GrantDenied = "grant_denied"
    /// The state has no such event.
    UnknownEvent = "unknown_event"
    /// A guard does not hold.
    GuardFailed = "guard_failed"
    /// The guards of every branch of the event fail.
    NoBranchMatched = "no_branch_matched"
    /// The run has ended.
    RunOver = "run_over"
    /// No interrupt led to this state, so it has nowhere to return to.
    NoReturn = "no_return"
    /// A key of the data is reserved.
    ReservedKey = "reserved_key"
    /// No open branch has this name.
    UnknownBranch = "unknown_branch"
    /// No request waits for an answer.
    NothingPending = "nothing_pending"
    /// A limit of the run is reached.
    LimitExceeded = "limit_exceeded"
    /// Another run already guards the session.
    RunOpen = "run_open"
    /// The agent must bring the run to a final state before it finishes.
    FinishRequired = "finish_required"
    /// The arguments cannot be judged.
    InvalidArguments = "invalid_arguments"
    /// There is no such tool.
    UnknownTool = "unknown_tool"
    /// One message has more calls than are judged.
    TooManyCalls = "too_many_calls"
    /// A submitted result does not match its schema.
    SchemaInvalid = "schema_invalid"
    /// The run has spent its budget for models.
    Budget = "budget"
    /// The call would write a file outside the project.
    OutsideProject = "outside_project"
    /// The call would read a secret.
    SecretRead = "secret_read"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
