//! The parts of commands, events and runs.

mod regions;

pub use regions::{
    BranchStart, JoinedNext, Merged, MergedConversation, MessageRange, RegionKind, RegionOutcome,
    RegionsStart,
};

pub use crate::{
    cause::{Cause, Passing},
    machine::ApprovalKind,
};

use interlock_expr::Object;
use serde::{Deserialize, Serialize};

use crate::{
    names::{AgentId, CallId, Digest, EventName, InterruptName},
    refusal::Refusal,
    substance::ReportSource,
};

/// How the target of a transition was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransitionKind {
    /// The event's own transition.
    Written,
    /// The state's `safe_next`, for an event that the state does not have.
    SafeNext,
    /// The state that an interrupt left.
    Returned,
}

/// Why a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowSource {
    /// The state's policy allows it.
    Policy,
    /// A person granted it.
    Grant,
    /// It is one of Interlock's own tools.
    Control,
    /// The stage lists its tool.
    Stage,
    /// The run's mode allows it.
    Mode,
}

/// What an approval of a stage's call leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantThen {
    /// Refusal that applies despite the approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Refusal>,
    /// Whether the call only reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// Keys that are allowed for the rest of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// A call as recorded in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call.
    pub id: CallId,
    /// Name of the tool in the client.
    pub tool: String,
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// The arguments in one line.
    pub summary: String,
    /// The sub-agent that proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// Consequences of an allowed call for the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallMarks {
    /// Whether the call counts against the limit of calls.
    pub counts: bool,
    /// Whether the call counts as a write, which makes earlier evidence stale.
    pub writes: bool,
    /// Whether the call is a shell line.
    pub shell: bool,
    /// Normalised absolute paths that the call writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Interrupts raised if the call succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<InterruptHit>,
    /// Files of a shell line that match an interrupt, checked again if the line fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<WatchedFile>,
    /// Evidence given if the call succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceMark>,
    /// Entry of the person's `[shell] allow` that alone allows the line; such a line is not confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_person: Option<String>,
    /// Sub-agent that proposed the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// A written file that matches an interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptHit {
    /// The interrupt.
    pub interrupt: InterruptName,
    /// The file, relative to the project root.
    pub file: String,
}

/// A file that a call may write, with its state before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFile {
    /// The normalised absolute path.
    pub path: String,
    /// Path relative to the project root.
    pub relative: String,
    /// State on disk before the call.
    pub before: String,
}

/// Evidence that a call may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceMark {
    /// Key of the evidence in the run.
    pub key: String,
    /// Whether exit code 0 of the call proves success.
    pub proves_success: bool,
    /// Whether any exit code of the call counts.
    pub proves_exit: bool,
    /// Positions where commands start that count as evidence; a probe sees how each ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeMark>,
    /// Whether the line has finished writing before a counting command begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_writes: bool,
    /// Whether success proves nothing, because a variable set for the command may choose what it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failure_only: bool,
    /// Report to read when the call ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportMark>,
}

/// A report that a call may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportMark {
    /// Report that the mark is about.
    pub source: ReportSource,
    /// Whether only the check itself can write the report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// A position in a line where a command starts that counts as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeMark {
    /// Byte offset of the first word of the command.
    pub at: usize,
    /// Whether any exit code seen there belongs to the command; 0 always does.
    pub exit: bool,
}

/// Exit codes seen for the command at one position of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedCommand {
    /// Byte offset of the first word of the command.
    pub at: usize,
    /// Exit code of each start; `None`: ended by a signal, or not seen.
    pub exits: Vec<Option<i64>>,
}

/// A condition with the values it read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenCondition {
    /// Condition as written, shortened if long.
    pub condition: String,
    /// Whether the condition holds; `None`: it could not be evaluated.
    pub holds: Option<bool>,
    /// Values read, by name; long ones are shortened.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub saw: Object,
}

/// A change of a protected thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedChange {
    /// Absolute path.
    pub path: String,
    /// Name of the thing, for people.
    pub what: String,
    /// How it has changed.
    pub fate: ProtectedFate,
    /// Digest of its current contents; `None`: it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether the change was undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// Where a person's token was exposed to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenPlace {
    /// In a proposed call; the token is void.
    Call,
    /// In a result that the agent reads; the token is void.
    Result,
    /// In a request to a model of a stage; the token is void.
    Prompt,
    /// In the environment of the client; the token cannot answer this run.
    Environment,
}

impl TokenPlace {
    /// Returns the consequence as a sentence for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "in a call of the agent: void",
            Self::Result => "in a result that the agent reads: void",
            Self::Prompt => "in what a model was to be sent: void",
            Self::Environment => "in the client's environment: it does not answer this run",
        }
    }
}

/// A server tool that differs from when the run first saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChange {
    /// Name of the server; empty: the wrapped one.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: String,
    /// Digest of the definition that the run saw first.
    pub pinned: Digest,
    /// Digest of the current definition; empty: the server no longer lists the tool.
    pub found: Digest,
    /// Fields of the definition that differ.
    pub parts: Vec<String>,
}

/// How a protected thing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedFate {
    /// It is new.
    Appeared,
    /// Its contents changed.
    Changed,
    /// It is gone.
    Vanished,
}

impl ProtectedChange {
    /// Describes the change for people: path, name and how it changed.
    #[must_use]
    pub fn sentence(&self) -> String {
        let fate = match self.fate {
            ProtectedFate::Appeared => "is new",
            ProtectedFate::Changed => "was changed",
            ProtectedFate::Vanished => "is gone",
        };
        let undone = if self.undone { " and was restored" } else { "" };
        format!("`{}` ({}) {fate}{undone}", self.path, self.what)
    }
}

/// Subject of a request to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Whether a transition may be taken.
    Transition(PendingTransition),
    /// Whether a state may begin.
    Entry {
        /// What the person is asked.
        message: String,
    },
    /// Whether one call may run.
    Call(Box<PendingGrant>),
}

impl About {
    /// Returns what kind of request it is.
    #[must_use]
    pub const fn kind(&self) -> RequestKind {
        match self {
            Self::Transition(_) => RequestKind::Transition,
            Self::Entry { .. } => RequestKind::Entry,
            Self::Call(_) => RequestKind::Call,
        }
    }
}

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A transition.
    Transition,
    /// The entry of a state.
    Entry,
    /// A tool call.
    Call,
}

/// A transition that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingTransition {
    /// The event.
    pub event: EventName,
    /// Index of the transition among those of the event.
    pub index: usize,
    /// Data to merge into the context.
    pub data: Object,
    /// What the person is asked.
    pub message: String,
    /// Name of whoever requested the transition.
    pub by: String,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGrant {
    /// The call.
    pub call: CallRecord,
    /// Reason that the call needs a grant.
    pub refusal: Refusal,
    /// Consequences of the call once it runs.
    pub marks: CallMarks,
    /// What follows an approval in a stage; `None`: an agent outside proposes the call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<GrantThen>,
}

/// Why a request to a person is void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidReason {
    /// What it depends on has changed; the refusal says how.
    Refused(Refusal),
    /// Its state was cancelled before it began.
    Cancelled,
    /// The client's own prompt ended without an approval.
    Prompt(PromptEnd),
    /// Nobody will answer it.
    NoAnswer(NoAnswer),
}

impl VoidReason {
    /// Returns the reason as a sentence.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.message,
            Self::Cancelled => "its state is cancelled",
            Self::Prompt(end) => end.sentence(),
            Self::NoAnswer(why) => why.sentence(),
        }
    }
}

/// Why nobody answers a request for a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// The person deferred the answer.
    Deferred,
    /// The time limit was reached.
    Timeout,
    /// Nobody can be asked.
    NoChannel,
}

impl NoAnswer {
    /// Returns the reason as a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Deferred => "deferred: whoever was asked put it off",
            Self::Timeout => "timeout: nobody answered in time",
            Self::NoChannel => "no_channel: nobody is there to be asked",
        }
    }
}

/// A call for which a client asks its person in its own prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCall {
    /// Session that makes the call.
    pub session: String,
    /// Sub-agent that makes the call; `None`: the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The call.
    pub call: CallId,
}

/// Why a client's own prompt ended without an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptEnd {
    /// The agent made another call, so this one was refused.
    NextCall,
    /// The call that ran has other arguments than the one the person was asked about.
    OtherArguments,
    /// The turn is over.
    TurnOver,
    /// The session is over.
    SessionOver,
}

impl PromptEnd {
    /// Returns the reason as a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NextCall => "no person said yes in the client's prompt",
            Self::OtherArguments => {
                "the call that ran is not the one that a person was asked about"
            }
            Self::TurnOver => "no person said yes in the client's prompt before the turn ended",
            Self::SessionOver => {
                "no person said yes in the client's prompt before the session ended"
            }
        }
    }
}
