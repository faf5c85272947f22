//! What commands, events and runs are made of.

mod regions;

pub use regions::{
    BranchStart, JoinedNext, Merged, MergedConversation, MessageRange, RegionKind, RegionOutcome,
    RegionsStart,
};

use interlock_expr::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The state's `safe_next`.
    SafeNext,
    /// Back to where an interrupt came from.
    Returned,
}

/// Why a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowSource {
    /// The state's policy lets it pass.
    Policy,
    /// A person granted it.
    Grant,
    /// It is a control tool.
    Control,
    /// The stage lists its tool.
    Stage,
    /// The mode of the run lets it pass.
    Mode,
}

/// What a person's yes to a call of a stage leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantThen {
    /// Why the call is denied all the same: what no grant excuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Refusal>,
    /// Whether it only reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// The keys that a yes lets pass for the rest of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// A call, as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call.
    pub id: CallId,
    /// The client's own name of the tool.
    pub tool: String,
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// The arguments in one line.
    pub summary: String,
    /// The sub-agent that proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// What follows from an allowed call for the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallMarks {
    /// Whether it counts against the state's calls.
    pub counts: bool,
    /// Whether it counts as a write, so that earlier evidence is void.
    pub writes: bool,
    /// Whether it is a shell line.
    pub shell: bool,
    /// Normalised absolute paths it writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Interrupts it raises when it succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<InterruptHit>,
    /// Files of a shell line that match an interrupt, to be looked at again should it fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<WatchedFile>,
    /// Evidence it gives when it succeeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceMark>,
    /// The entry of the person's `[shell] allow` by which alone it passes; such a line is not confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_person: Option<String>,
    /// The sub-agent whose call it is.
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

/// A file that a call may write, as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFile {
    /// The normalised absolute path.
    pub path: String,
    /// The same relative to the project root.
    pub relative: String,
    /// What the disk said of it.
    pub before: String,
}

/// A piece of evidence a call may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceMark {
    /// Under which the run keeps it.
    pub key: String,
    /// Whether exit code 0 of the call proves it.
    pub proves_success: bool,
    /// Whether any exit code of the call is its own.
    pub proves_exit: bool,
    /// Where the line starts every command that counts for it, so that a probe sees how each ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeMark>,
    /// Whether all that the line may write is over before a command that counts begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_writes: bool,
    /// Whether its success says nothing, since a variable set for it may choose what it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failure_only: bool,
    /// The report that is read when the call ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportMark>,
}

/// A report that a call may give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportMark {
    /// Report that the mark is about.
    pub source: ReportSource,
    /// Whether nothing of the line but the whole check itself may write it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// A place of a line at which a command starts that counts as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeMark {
    /// The byte of the line at which its first word begins.
    pub at: usize,
    /// Whether any exit code seen there is that of the command; 0 always is.
    pub exit: bool,
}

/// How the command at a place of a line was seen to end, each time it was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbedCommand {
    /// The byte of the line at which its first word begins.
    pub at: usize,
    /// The exit code of each start; `None`: it ended by a signal, or its end was not seen.
    pub exits: Vec<Option<i64>>,
}

/// A condition, and what it saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenCondition {
    /// The condition as written, cut where it is long.
    pub condition: String,
    /// Whether it holds; `None`: it could not be evaluated.
    pub holds: Option<bool>,
    /// What it read, by name; what is long is cut.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub saw: Object,
}

/// The first cause of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// A stable code, or the program's own.
    pub code: Value,
    /// One sentence.
    pub message: String,
    /// The path of the state that failed, where it is not the one that ends; empty: not said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The end of what it wrote to standard error, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The end of what it wrote to standard output, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Whether somebody cancelled it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Whether it may pass by itself; `None`: it does not say, or it will not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passing: Option<Passing>,
}

/// A failure that may pass by itself: a busy server, a lost connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// How long it wants to be left alone, in milliseconds; `None`: it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

impl Cause {
    /// Pairs a code with its sentence.
    pub fn new(code: impl Into<Value>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            state: String::new(),
            stderr: String::new(),
            stdout: String::new(),
            cancelled: false,
            passing: None,
        }
    }

    /// Returns the cause with only the end of each stream, without blanks at its ends.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        for stream in [&mut self.stderr, &mut self.stdout] {
            let end = end_of(stream);
            if end.len() < stream.len() {
                *stream = end.to_owned();
            }
        }
        self
    }

    /// Returns the code as a number, from 1 to 255; a code that is a name counts as 1.
    #[must_use]
    pub fn number(&self) -> u8 {
        let number = self.code.as_i64().and_then(|code| u8::try_from(code).ok());
        number.filter(|code| *code != 0).unwrap_or(1)
    }
}

/// Bytes of a stream of a failed program that texts may name.
const END_BYTES: usize = 64 * 1024;

/// Returns the last part of what a program wrote, without blanks at its ends.
fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.ceil_char_boundary(text.len().saturating_sub(END_BYTES));
    text.get(from..).unwrap_or_default().trim_start()
}

/// A protected thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedChange {
    /// Its absolute path.
    pub path: String,
    /// Name of the thing, for people.
    pub what: String,
    /// How the thing has changed.
    pub fate: ProtectedFate,
    /// What it holds now, as a digest of what is compared; `None`: nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether it was put back, so that it is again as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// Where a person's token was in an agent's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenPlace {
    /// In a call that the agent proposed: the token is void.
    Call,
    /// In a result that the agent reads: the token is void.
    Result,
    /// In what a model of a stage is sent: the token is void.
    Prompt,
    /// In the environment of the client: the token does not answer this run.
    Environment,
}

impl TokenPlace {
    /// Returns what it means, for people.
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

/// A tool of a server that is not what it was when the run saw it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChange {
    /// The server; empty: the one that is wrapped.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// Digest of the definition it had.
    pub pinned: Digest,
    /// Digest of the definition it has now; empty: its server lists it no more.
    pub found: Digest,
    /// The fields of the definition that differ.
    pub parts: Vec<String>,
}

/// What became of a protected thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedFate {
    /// It was not there before.
    Appeared,
    /// It holds something else.
    Changed,
    /// It is gone.
    Vanished,
}

impl ProtectedChange {
    /// Writes the change as people read it: the path, what it is, what became of it.
    #[must_use]
    pub fn sentence(&self) -> String {
        let fate = match self.fate {
            ProtectedFate::Appeared => "is new",
            ProtectedFate::Changed => "was changed",
            ProtectedFate::Vanished => "is gone",
        };
        let undone = if self.undone { " and was put back" } else { "" };
        format!("`{}` ({}) {fate}{undone}", self.path, self.what)
    }
}

/// What a person is asked about.
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

/// What a person's yes has to come with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// Nothing else: it is given wherever a person is asked.
    #[default]
    Person,
    /// An assertion of one of the person's passkeys.
    Passkey,
}

impl ApprovalKind {
    /// Tells whether a yes alone is enough.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What kind of thing waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A transition.
    Transition,
    /// The beginning of a state.
    Entry,
    /// A tool call.
    Call,
}

/// A transition that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingTransition {
    /// The event.
    pub event: EventName,
    /// Which of its transitions.
    pub index: usize,
    /// What the agent wants merged into the context.
    pub data: Object,
    /// What the person is asked.
    pub message: String,
    /// Who asked for the transition.
    pub by: String,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGrant {
    /// The call.
    pub call: CallRecord,
    /// Reason that the call needs a grant.
    pub refusal: Refusal,
    /// What follows from it once it runs.
    pub marks: CallMarks,
    /// What a yes leads to in a stage; `None`: an agent outside proposes the call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<GrantThen>,
}

/// Why a request to a person is void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidReason {
    /// What it rests on is no longer so: the refusal says what.
    Refused(Refusal),
    /// Its state is cancelled before it has begun.
    Cancelled,
    /// The client's own prompt is over without a yes.
    Prompt(PromptEnd),
    /// Nobody answers it.
    NoAnswer(NoAnswer),
}

impl VoidReason {
    /// Says it in words.
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
    /// Whoever was asked put it off.
    Deferred,
    /// The time for it is over.
    Timeout,
    /// Nobody is there to be asked.
    NoChannel,
}

impl NoAnswer {
    /// Says it in words.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Deferred => "deferred: whoever was asked put it off",
            Self::Timeout => "timeout: nobody answered in time",
            Self::NoChannel => "no_channel: nobody is there to be asked",
        }
    }
}

/// The call with which a client asks its person in a prompt of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCall {
    /// The session that makes the call.
    pub session: String,
    /// The sub-agent that makes it; `None`: the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The call.
    pub call: CallId,
}

/// Why a question in a client's own prompt is over without a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptEnd {
    /// Who asked goes on with another call: this one was refused.
    NextCall,
    /// The call that ran has other arguments than the one that was asked about.
    OtherArguments,
    /// The turn is over.
    TurnOver,
    /// The session is over.
    SessionOver,
}

impl PromptEnd {
    /// Says it in words.
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
