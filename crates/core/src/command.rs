//! Commands: what a run is asked.

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
pub use tools::AvailableTool;
pub(crate) use tools::offered;

/// A command, with the time at which it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Milliseconds since 1970, as the caller's clock has it.
    pub at_ms: u64,
    /// What the run is to do or is told.
    pub kind: CommandKind,
}

/// What a run is to do, or is told.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandKind {
    /// Start the run, with keys that patch the machine's context.
    Start {
        /// Patches the context, key by key.
        input: Object,
        /// Name of whoever starts it.
        by: String,
        /// What it begins with, where Interlock carries it out itself; an input is read where the machine has a conversation.
        durable: Option<DurableRun>,
    },
    /// May this call run?
    Propose(Box<ToolCall>),
    /// An allowed call has ended.
    Record(CallResult),
    /// `interlock exec` has started a line.
    StartLine(LineStart),
    /// A line that `interlock exec` started has ended.
    EndLine(LineEnd),
    /// Take a transition that an agent or a person asks for.
    Transition(TransitionRequest),
    /// A client asks its person about a transition in a prompt of its own.
    AskInPrompt {
        /// The transition that the call would ask for.
        request: TransitionRequest,
        /// The call that brings the question to the person.
        prompt: PromptCall,
    },
    /// Questions in a client's own prompt are over, unless the person said yes before.
    ClosePrompts {
        /// The session that asked.
        session: String,
        /// The sub-agent that asked; `None`: the main agent.
        agent: Option<AgentId>,
        /// The call that shows it: the next one, or the one that ran with other arguments.
        call: Option<CallId>,
        /// Reason that they are over.
        why: PromptEnd,
    },
    /// A sub-agent has stopped; others may take the branch it left unfinished.
    ReleaseAgent {
        /// The sub-agent.
        agent: AgentId,
    },
    /// May the agent end its work here?
    Finish,
    /// A person says yes to what waits.
    Approve(Answer),
    /// A person says no to what waits.
    Reject(Answer),
    /// An activity that Interlock carries out has ended.
    EndActivity {
        /// Path of the frame; `None`: the only one running.
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
    /// Resume the run; what was reported of protected things counts as seen by whoever asks.
    Resume {
        /// Name of whoever asks.
        by: String,
    },
    /// Files of the project changed since a check ended, and no call was seen to change them.
    ReportFiles {
        /// Some of them, relative to the project.
        files: Vec<String>,
        /// The call before which they did; `None`: just now.
        before: Option<CallId>,
    },
    /// This is how frozen files differ now from how they were.
    ReportFrozen {
        /// Each pattern of which some do.
        changes: Vec<FrozenChange>,
    },
    /// These protected things are not as they were, and no person said so.
    ReportProtected {
        /// What is different, each path once.
        changes: Vec<ProtectedChange>,
    },
    /// The token that lets a person's scripts answer stood where the agent reads or writes.
    ReportToken {
        /// Place where the token was seen.
        place: TokenPlace,
    },
    /// A tool of a server is not what it was when the run saw it first.
    ReportTool(ToolChange),
    /// A process below the run's client reached the console and was refused.
    ReportConsole {
        /// The id of the process.
        pid: u32,
        /// The name of its program.
        program: String,
        /// What it asked for: the method and the path.
        request: String,
    },
    /// A person takes a tool of a server as it was reported last.
    AcceptTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Name of whoever asks.
        by: String,
    },
    /// A person has said whether what the project widens counts.
    DecideTrust {
        /// The project's root.
        project: String,
        /// `trust`, `this_time`, `no`.
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
    /// The attempt of a model stage does or has done something.
    Stage {
        /// The frame that stands in it.
        path: FramePath,
        /// The attempt that is meant.
        attempt: u32,
        /// Command to the stage.
        command: StageCommand,
    },
    /// A node under way does or has done something.
    Node {
        /// Path of the frame concerned.
        path: FramePath,
        /// The try that is meant.
        attempt: u32,
        /// Command to the node.
        command: NodeCommand,
    },
    /// Time has passed; waits that are due end, and tries that are due begin.
    Advance,
    /// These are the files that the texts of a state name.
    Supply {
        /// Path of the frame.
        path: FramePath,
        /// Every file that is asked for, by absolute path.
        files: Files,
    },
    /// Who carried out the effects under way is gone.
    LoseEffects,
    /// A person says what became of an effect that was lost.
    SettleEffect {
        /// Path of the state; `None`: the only one.
        path: Option<String>,
        /// What a person says became of the effect.
        how: EffectSettlement,
        /// Name of the person who says so.
        by: String,
    },
    /// Reopen a run that failed or was cancelled, where it was.
    Reopen {
        /// Name of whoever asks.
        by: String,
    },
    /// A person moves a run of steps to another version of its workflow.
    Adopt {
        /// The other version, sealed.
        machine: Box<Machine>,
        /// Name of whoever asks.
        by: String,
    },
    /// A person sets variables.
    SetVariables {
        /// The new values.
        values: Object,
        /// Name of whoever asks.
        by: String,
    },
}

/// What became of an effect that was lost.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectSettlement {
    /// It is to be started again.
    Again,
    /// It counts as failed, with this code.
    Failed(Value),
    /// It counts as done, with this output.
    Done(Value),
}

/// A shell line as `interlock exec` starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineStart {
    /// The call it belongs to.
    pub call: CallId,
    /// How far the kernel holds it.
    pub level: String,
    /// What its plan wants and this system does not hold.
    pub not_held: Vec<String>,
}

/// A shell line as `interlock exec` saw it end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEnd {
    /// The call it belongs to.
    pub call: CallId,
    /// The frame it was judged in.
    pub path: FramePath,
    /// Its exit code; `None`: no evidence.
    pub exit: Option<i64>,
    /// Paths it was seen to write.
    pub wrote: Vec<WrittenPath>,
    /// How its commands were seen to end, each by itself.
    pub commands: Vec<ProbedCommand>,
    /// Whether it may have written more than `wrote` says.
    pub unseen: bool,
    /// What else was seen of it, where a guard asks for it.
    pub checked: Checked,
}

/// A request for a transition.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionRequest {
    /// The event.
    pub event: String,
    /// Merged into the context when it succeeds.
    pub data: Object,
    /// The branch it is for.
    pub branch: Option<String>,
    /// The sub-agent that asks.
    pub agent: Option<AgentId>,
    /// Who asks: `agent`, or a person's name.
    pub by: String,
    /// The yes a person has already given in the client's own prompt.
    pub approved_by: Option<Consent>,
}

/// Who asks where the agent does, main or sub-agent.
pub const AGENT: &str = "agent";

impl TransitionRequest {
    /// Tells whether a person asks, who may act in any branch.
    #[must_use]
    pub fn is_by_a_person(&self) -> bool {
        self.agent.is_none() && self.by != AGENT
    }
}

/// A yes that a person gave before the run was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// Name of whoever did it.
    pub by: String,
    /// To exactly what; anything else is asked anew.
    pub question: Digest,
}

/// A person's answer to what waits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Name of the person who answers.
    pub by: String,
    /// Corrects the data of the transition.
    pub data: Object,
    /// Told to the agent.
    pub note: Option<String>,
    /// The approval's id, or the state or branch path meant; `None`: the only state waiting.
    pub path: Option<String>,
    /// Only what was asked before this event of the run; `None`: whatever waits.
    pub before: Option<u64>,
    /// Said to the line before its state begins.
    pub message: Option<String>,
    /// The output of the state before, as it should be.
    pub edit: Option<String>,
    /// Which state's output is meant, where lines have met.
    pub of: Option<String>,
    /// The assertion of a passkey that came with it.
    pub passkey: Option<Box<PasskeyAssertion>>,
}

/// How an activity ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ActivityOutcome {
    /// With an output, and the beginning and the end of what it wrote to standard error.
    Done {
        /// The output.
        output: Value,
        /// Standard error; empty: nothing.
        stderr: String,
    },
    /// With an error: a stable code or a number of the program, one sentence, and what it wrote.
    Failed(Cause),
}

impl ActivityOutcome {
    /// Makes the end of an activity that wrote nothing to standard error.
    pub fn done(output: impl Into<Value>) -> Self {
        Self::Done {
            output: output.into(),
            stderr: String::new(),
        }
    }
}

/// What is to be done for one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Stable: run, frame path and the sequence number of the state's entry.
    pub id: String,
    /// Number of the try, from 1.
    pub attempt: u32,
    /// What kind of work it is.
    pub kind: EffectKind,
    /// Path of the frame concerned.
    pub frame: FramePath,
    /// The state's path, as shown.
    pub path: String,
    /// What people call it where it is for an item: `process-file 2 of 3`.
    pub title: Option<String>,
    /// What the work is given, every hole filled.
    pub input: Arc<Value>,
    /// The file that its output goes to, absolute.
    pub file: Option<String>,
    /// The context key that its output goes to.
    pub key: Option<String>,
    /// What is to be done with it.
    pub status: EffectStatus,
    /// When its time is over, in milliseconds since 1970: [`CommandKind::Advance`] ends it then. `None`: it has no bound.
    pub late_ms: Option<u64>,
}

/// What is to be done with an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectStatus {
    /// The state's texts need these files first, by absolute path; see [`CommandKind::Supply`].
    Reading(Vec<String>),
    /// It is to be carried out.
    Running,
    /// Nothing, until [`CommandKind::Advance`] at this time, in milliseconds since 1970.
    Waiting(u64),
    /// A person answers or resumes.
    Person,
    /// It was cut off; a person says what became of it.
    Lost,
}
