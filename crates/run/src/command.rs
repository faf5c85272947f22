//! Commands: the input of a run.

mod node;
mod stage;
mod tools;

use std::sync::Arc;

use interlock_expr::text::Files;
use serde_json::Value;

use crate::{
    call::{CallResult, ToolCall, WrittenPath},
    machine::{EffectKind, Machine, Object},
    names::{AgentId, CallId, Digest, FramePath},
    parts::{Cause, ProbedCommand, PromptCall, PromptEnd, ProtectedChange, TokenPlace, ToolChange},
    passkey::PasskeyAssertion,
    run::DurableRun,
    substance::{Checked, FrozenChange},
};

pub use node::NodeCommand;
pub use stage::{CALLS_MAX, StageCommand};
pub use tools::{AvailableTool, offered};

/// A command with the time at which it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Time in milliseconds since 1970, by the caller's clock.
    pub at_ms: u64,
    /// What the run is asked to do, or what is reported to it.
    pub kind: CommandKind,
}

/// What a run is asked to do, or what is reported to it.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandKind {
    /// Start the run.
    Start {
        /// Keys that override the machine's context.
        input: Object,
        /// Name of whoever starts the run.
        by: String,
        /// What a durable run starts with; its `input` is used if the machine has a conversation.
        durable: Option<DurableRun>,
    },
    /// Judge a tool call.
    Propose(Box<ToolCall>),
    /// Record the end of an allowed call.
    Record(CallResult),
    /// Record that `interlock exec` has started a shell line.
    StartLine(LineStart),
    /// Record the end of a shell line that `interlock exec` started.
    EndLine(LineEnd),
    /// Take a transition that an agent or a person requests.
    Transition(TransitionRequest),
    /// Record that a client asks its person about a transition in its own prompt.
    AskInPrompt {
        /// Transition that the call would request.
        request: TransitionRequest,
        /// Call that brings the question to the person.
        prompt: PromptCall,
    },
    /// Close requests in a client's own prompt that have not been approved.
    ClosePrompts {
        /// Session that asked.
        session: String,
        /// Sub-agent that asked; `None`: the main agent.
        agent: Option<AgentId>,
        /// Call that shows that the prompt is over: the next one, or the one that ran with other arguments.
        call: Option<CallId>,
        /// Reason that the requests are closed.
        why: PromptEnd,
    },
    /// Release the branch of a sub-agent that has stopped.
    ReleaseAgent {
        /// The sub-agent.
        agent: AgentId,
    },
    /// Ask whether the agent may finish here.
    Finish,
    /// Approve a request.
    Approve(Answer),
    /// Reject a request.
    Reject(Answer),
    /// Record the end of an activity that Interlock runs.
    EndActivity {
        /// Path of the frame; `None`: the only running one.
        path: Option<String>,
        /// Outcome.
        outcome: ActivityOutcome,
    },
    /// Pause the run.
    Pause {
        /// Name of whoever asks.
        by: String,
        /// The reason given.
        reason: Option<String>,
    },
    /// Resume the run; reported changes of protected things count as accepted.
    Resume {
        /// Name of whoever asks.
        by: String,
        /// Changes that the person has seen; if others are reported, the run stays paused. `None`: all reported changes.
        seen: Option<Vec<ProtectedChange>>,
    },
    /// Report files of the project that changed since a check ended without a call that changed them.
    ReportFiles {
        /// Some of the files, relative to the project.
        files: Vec<String>,
        /// Call before which they changed; `None`: just now.
        before: Option<CallId>,
    },
    /// Report the current differences of frozen files.
    ReportFrozen {
        /// Changes, one for each pattern with differences.
        changes: Vec<FrozenChange>,
    },
    /// Report protected things that changed without a person's consent.
    ReportProtected {
        /// Changes, each path once.
        changes: Vec<ProtectedChange>,
    },
    /// Report that the token for a person's scripts was seen where the agent reads or writes.
    ReportToken {
        /// Place where the token was seen.
        place: TokenPlace,
    },
    /// Report that a server tool differs from when the run first saw it.
    ReportTool(ToolChange),
    /// Report that a process below the run's client was refused by the console.
    ReportConsole {
        /// Process id.
        pid: u32,
        /// Name of the program.
        program: String,
        /// Method and path of the request.
        request: String,
    },
    /// Accept a server tool as last reported.
    AcceptTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Name of whoever asks.
        by: String,
    },
    /// Record whether a person trusts what the project widens.
    DecideTrust {
        /// Root directory of the project.
        project: String,
        /// `trust`, `this_time` or `no`.
        word: String,
        /// Digest of what it widens.
        digest: Digest,
        /// Name of whoever did it.
        by: String,
    },
    /// Cancel the run.
    Cancel {
        /// Name of whoever asks.
        by: String,
    },
    /// Command or report for an attempt of a model stage.
    Stage {
        /// Path of the frame in the stage.
        path: FramePath,
        /// Number of the attempt.
        attempt: u32,
        /// Command to the stage.
        command: StageCommand,
    },
    /// Report of a node that is under way.
    Node {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the attempt.
        attempt: u32,
        /// Command to the node.
        command: NodeCommand,
    },
    /// End the waits and start the attempts that are due.
    Advance,
    /// Supply the files that the texts of a state name.
    Supply {
        /// Path of the frame.
        path: FramePath,
        /// Contents of every requested file, by absolute path.
        files: Files,
    },
    /// Mark the effects under way as lost: their runner is gone.
    LoseEffects,
    /// Settle a lost effect as a person decides.
    SettleEffect {
        /// Path of the state; `None`: the only lost one.
        path: Option<String>,
        /// How the effect is settled.
        how: EffectSettlement,
        /// Name of the person who decides.
        by: String,
    },
    /// Reopen a run that failed or was cancelled, in the states where it stopped.
    Reopen {
        /// Name of whoever asks.
        by: String,
    },
    /// Move a durable run to another version of its workflow.
    Adopt {
        /// Machine of the other version, sealed.
        machine: Box<Machine>,
        /// Name of whoever asks.
        by: String,
    },
    /// Set variables.
    SetVariables {
        /// The new values.
        values: Object,
        /// Name of whoever asks.
        by: String,
    },
}

/// How a lost effect is settled.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectSettlement {
    /// Start it again.
    Again,
    /// Count it as failed, with this code.
    Failed(Value),
    /// Count it as done, with this output.
    Done(Value),
}

/// The start of a shell line by `interlock exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineStart {
    /// Id of the call that the line belongs to.
    pub call: CallId,
    /// Confinement level that the kernel enforces.
    pub level: String,
    /// Parts of the plan that this system cannot enforce.
    pub unconfined: Vec<String>,
}

/// The end of a shell line as `interlock exec` saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEnd {
    /// Id of the call that the line belongs to.
    pub call: CallId,
    /// Path of the frame that the line was judged in.
    pub path: FramePath,
    /// Exit code; `None`: no evidence.
    pub exit: Option<i64>,
    /// Paths that the line was seen to write.
    pub wrote: Vec<WrittenPath>,
    /// How each command of the line was seen to end.
    pub commands: Vec<ProbedCommand>,
    /// Whether the line may have written more than `wrote`.
    pub unseen: bool,
    /// What else was checked of the line because a guard asks for it.
    pub checked: Checked,
}

/// A request for a transition.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRequest {
    /// The event.
    pub event: String,
    /// Data merged into the context if the transition is taken.
    pub data: Object,
    /// Branch that should take the transition.
    pub branch: Option<String>,
    /// Sub-agent that asks.
    pub agent: Option<AgentId>,
    /// `agent`, or the name of the person who asks.
    pub by: String,
    /// Approval that a person has already given in the client's own prompt.
    pub approved_by: Option<Consent>,
}

/// Value of [`TransitionRequest::by`] for requests of agents.
pub const AGENT: &str = "agent";

impl TransitionRequest {
    /// Returns whether a person asks; a person may act in any branch.
    #[must_use]
    pub fn is_by_a_person(&self) -> bool {
        self.agent.is_none() && self.by != AGENT
    }
}

/// An approval that a person gave before the run was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Name of whoever did it.
    pub by: String,
    /// Digest of what was approved; anything else is asked again.
    pub question: Digest,
}

/// A person's answer to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Name of the person who answers.
    pub by: String,
    /// Corrections to the data of the transition.
    pub data: Object,
    /// Note for the agent.
    pub note: Option<String>,
    /// Id of the request, or path of the state or branch; `None`: the only open request.
    pub path: Option<String>,
    /// Answers only requests opened before this event of the run; `None`: any open request.
    pub before: Option<u64>,
    /// Message added to the conversation before the state begins.
    pub message: Option<String>,
    /// Corrected output of the previous state.
    pub edit: Option<String>,
    /// State whose output is corrected, if regions have joined.
    pub of: Option<String>,
    /// Passkey assertion that came with the answer.
    pub passkey: Option<Box<PasskeyAssertion>>,
    /// Digest of the votes that the answer counts; `None`: one person answers.
    pub votes: Option<Digest>,
}

/// How an activity ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ActivityOutcome {
    /// It succeeded with an output.
    Done {
        /// The output.
        output: Value,
        /// Beginning and end of standard error; empty: none.
        stderr: String,
    },
    /// It failed.
    Failed(Cause),
}

impl ActivityOutcome {
    /// Makes the outcome of an activity that succeeded and wrote nothing to standard error.
    pub fn done(output: impl Into<Value>) -> Self {
        Self::Done {
            output: output.into(),
            stderr: String::new(),
        }
    }
}

/// Work to be done for one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Stable id, made of run, frame path and the sequence number of the state entry.
    pub id: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Kind of the effect.
    pub kind: EffectKind,
    /// Path of the frame concerned.
    pub frame: FramePath,
    /// Path of the state as shown to people.
    pub path: String,
    /// Title for people if the effect is for an item: `process-file 2 of 3`.
    pub title: Option<String>,
    /// Input with every hole filled.
    pub input: Arc<Value>,
    /// Absolute path of the file that the output is written to.
    pub file: Option<String>,
    /// Context key that the output is stored in.
    pub key: Option<String>,
    /// What is to be done next.
    pub status: EffectStatus,
    /// Deadline in milliseconds since 1970, after which [`CommandKind::Advance`] ends the effect; `None`: none.
    pub late_ms: Option<u64>,
}

/// What is to be done next for an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectStatus {
    /// The texts of the state need these files, by absolute path; see [`CommandKind::Supply`].
    Reading(Vec<String>),
    /// It is to be carried out.
    Running,
    /// Wait until this time, in milliseconds since 1970, and send [`CommandKind::Advance`].
    Waiting(u64),
    /// Wait for a person to answer or resume.
    Person,
    /// The effect was interrupted; a person decides how it is settled.
    Lost,
}
