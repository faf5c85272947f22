//! The bodies of requests and replies, from which the OpenAPI document is generated.

use std::collections::BTreeMap;

use interlock_core::{
    call::{CallResult, ToolCall, WrittenPath},
    command::{CommandKind, LineEnd, LineStart, TransitionRequest},
    event::{ProbedCommand, ProtectedChange, TokenPlace, ToolChange},
    machine::Object,
    names::{AgentId, CallId, FramePath},
    substance::{Checked, FrozenChange},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    console::{AskedView, EvidenceView, Told},
    people::ApprovalView,
};

/// Any JSON object.
type AnyObject = BTreeMap<String, Value>;

/// A run to start.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBody {
    /// The workflow file. It is compiled by the server, and cannot refer to other files. With `bundle`, it may only be
    /// stricter than the bundle's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowFile>,
    /// The file of the tenant's current bundle that the run follows, such as `fix.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The name of one workflow, if the file has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// The name of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Keys that override the workflow's context.
    #[serde(default)]
    #[schemars(with = "AnyObject")]
    pub input: Object,
}

/// A workflow file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowFile {
    /// Its name: `fix.yaml`. A name that ends in `.json` is read as JSON.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A command to a run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandBody {
    /// The command.
    pub command: WireCommand,
    /// The epoch of the run's carrier; any other one is refused.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The number of events that the command was made for; if the run has others, it is refused.
    #[serde(default)]
    pub seq: Option<u64>,
}

/// What a run is asked to do, or what is reported to it: an object with one key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WireCommand {
    /// Judge a tool call, given with the facts that its machine derived.
    Propose(#[schemars(with = "AnyObject")] Box<ToolCall>),
    /// Record the result of an allowed call.
    Record(#[schemars(with = "AnyObject")] CallResult),
    /// Record that an allowed shell line has started.
    StartLine {
        /// The call that the line belongs to.
        #[schemars(with = "String")]
        call: CallId,
        /// How far the kernel confines it.
        level: String,
        /// Parts of the plan that the machine cannot enforce.
        #[serde(default)]
        unconfined: Vec<String>,
    },
    /// Record the end of a shell line.
    EndLine {
        /// The call that the line belongs to.
        #[schemars(with = "String")]
        call: CallId,
        /// The frame that the line was judged in.
        #[serde(default)]
        #[schemars(with = "Vec<String>")]
        path: FramePath,
        /// The exit code, if it is known.
        #[serde(default)]
        exit: Option<i64>,
        /// The paths that the line was seen to write.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        wrote: Vec<WrittenPath>,
        /// How each command of the line ended.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        commands: Vec<ProbedCommand>,
        /// Whether it may have written more than `wrote`.
        #[serde(default)]
        unseen: bool,
        /// What else was checked.
        #[serde(default)]
        #[schemars(with = "AnyObject")]
        checked: Checked,
    },
    /// Take the transition that an event leads to.
    Transition {
        /// The event.
        event: String,
        /// Data merged into the context if the transition is taken.
        #[serde(default)]
        #[schemars(with = "AnyObject")]
        data: Object,
        /// The branch that should take it.
        #[serde(default)]
        branch: Option<String>,
        /// The sub-agent that asks.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        agent: Option<AgentId>,
    },
    /// Release the branch of a sub-agent that has stopped.
    ReleaseAgent {
        /// The sub-agent.
        #[schemars(with = "String")]
        agent: AgentId,
    },
    /// Ask whether the agent may finish here.
    Finish {},
    /// Report files that changed without a call that changed them.
    ReportFiles {
        /// Some of the files, relative to the project.
        files: Vec<String>,
        /// The call before which they changed.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        before: Option<CallId>,
    },
    /// Report the current differences of frozen files.
    ReportFrozen {
        /// The differences.
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<FrozenChange>,
    },
    /// Report protected things that changed without a person's consent.
    ReportProtected {
        /// The changes.
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<ProtectedChange>,
    },
    /// Report that a person's token was seen where the agent reads or writes.
    ReportToken {
        /// The place.
        #[schemars(with = "String")]
        place: TokenPlace,
    },
    /// Report a server tool that differs from when the run first saw it.
    ReportTool(#[schemars(with = "AnyObject")] ToolChange),
    /// Report that a process below the run's client was refused by the console of its machine.
    ReportConsole {
        /// Process id.
        pid: u32,
        /// Name of the program.
        program: String,
        /// Method and path of the request.
        request: String,
    },
    /// Pause the run.
    Pause {
        /// The reason.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Resume the run, for a person.
    Resume {
        /// The changes of protected things that the person has seen and accepts: `changed` of the run.
        #[serde(default)]
        #[schemars(with = "Vec<AnyObject>")]
        changes: Vec<ProtectedChange>,
    },
    /// Cancel the run, for a person.
    Cancel {},
    /// Answer the question of a state with `ask-user`, for a person.
    Answer {
        /// The path of the state, as in `standing`; not needed if only one asks.
        #[serde(default)]
        state: Option<String>,
        /// The answer: a text, or the value or the number of an option.
        text: String,
    },
    /// Go on at a state with `pause`, for a person.
    GoOn {
        /// The path of the state, as in `standing`; not needed if only one pauses.
        #[serde(default)]
        state: Option<String>,
    },
    /// Say what becomes of a step that was interrupted, for a person.
    Settle {
        /// The path of the state, as in `standing`; without it, every interrupted step.
        #[serde(default)]
        state: Option<String>,
        /// What becomes of it.
        how: Settlement,
        /// Its output, if it counts as done.
        #[serde(default)]
        output: Option<String>,
    },
}

/// What becomes of a step that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It is started again.
    Again,
    /// It counts as failed, with code 1.
    Failed,
    /// It counts as done.
    Done,
}

impl WireCommand {
    /// Returns a command of a machine in the form in which it is sent; `None`: a server does not take it.
    ///
    /// Whoever asks is not part of it: the server knows that from the token.
    #[must_use]
    pub fn of(kind: &CommandKind) -> Option<Self> {
        Some(match kind.clone() {
            CommandKind::Propose(call) => Self::Propose(call),
            CommandKind::Record(result) => Self::Record(result),
            CommandKind::StartLine(LineStart {
                call,
                level,
                unconfined,
            }) => Self::StartLine {
                call,
                level,
                unconfined,
            },
            CommandKind::EndLine(LineEnd {
                call,
                path,
                exit,
                wrote,
                commands,
                unseen,
                checked,
            }) => Self::EndLine {
                call,
                path,
                exit,
                wrote,
                commands,
                unseen,
                checked,
            },
            CommandKind::Transition(TransitionRequest {
                event,
                data,
                branch,
                agent,
                ..
            }) => Self::Transition {
                event,
                data,
                branch,
                agent,
            },
            CommandKind::ReleaseAgent { agent } => Self::ReleaseAgent { agent },
            CommandKind::Finish => Self::Finish {},
            CommandKind::ReportFiles { files, before } => Self::ReportFiles { files, before },
            CommandKind::ReportFrozen { changes } => Self::ReportFrozen { changes },
            CommandKind::ReportProtected { changes } => Self::ReportProtected { changes },
            CommandKind::ReportToken { place } => Self::ReportToken { place },
            CommandKind::ReportTool(change) => Self::ReportTool(change),
            CommandKind::ReportConsole {
                pid,
                program,
                request,
            } => Self::ReportConsole {
                pid,
                program,
                request,
            },
            CommandKind::Pause { reason, .. } => Self::Pause { reason },
            CommandKind::Resume { seen, .. } => Self::Resume {
                changes: seen.unwrap_or_default(),
            },
            CommandKind::Cancel { .. } => Self::Cancel {},
            _ => return None,
        })
    }
}

/// A person's answer to a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// The id of the request.
    pub request: String,
    /// Whether it is approved.
    pub yes: bool,
    /// The number of events that the person has seen: `seq` of the run. A later request is not answered.
    pub seen: u64,
    /// A note for the agent.
    #[serde(default)]
    pub note: Option<String>,
    /// Corrections to the data of the transition.
    #[serde(default)]
    #[schemars(with = "AnyObject")]
    pub data: Object,
}

/// A run that was started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// Its id.
    pub run: String,
    /// The id of its workflow.
    pub workflow: String,
    /// The number of its events.
    pub seq: u64,
    /// The states that it is in.
    pub state: Value,
    /// Whether it is `running`, `awaiting_approval` or anything else.
    pub status: String,
    /// The bundle that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleRef>,
}

/// How a run has answered a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is done, or the call may run.
    Accepted,
    /// The transition waits for a person.
    Pending,
    /// The call waits for a person.
    Ask,
    /// It was refused.
    Refused,
}

/// The answer of a run to a command. The same command with the same key gets the same answer, byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// The id of the run.
    pub run: String,
    /// How the run has answered.
    pub verdict: Verdict,
    /// The code of the refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A sentence for the agent or the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The id of the request that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The frame that was addressed.
    pub path: Vec<String>,
    /// The number of events before the command.
    pub from: u64,
    /// The number of events after it.
    pub seq: u64,
    /// The time at which it was decided, by the clock of the database.
    pub at_ms: u64,
}

/// A page of runs, the newest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunLine>,
    /// The id for `before` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunLine {
    /// Its id.
    pub run: String,
    /// The id of its workflow.
    pub workflow: String,
    /// Its name.
    pub name: Option<String>,
    /// Who started it through this server.
    pub started_by: Option<String>,
    /// The number of its events.
    pub seq: u64,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its last event was recorded, in milliseconds since 1970.
    pub last_ms: u64,
    /// Whether it is `running`, `awaiting_approval` or anything else; `damaged` if its log cannot be read.
    #[serde(default)]
    pub status: String,
    /// The states that it is in.
    #[serde(default)]
    pub state: Vec<String>,
    /// The number of requests that wait for a person.
    #[serde(default)]
    pub waiting: u64,
}

/// A run, and what waits for a person in it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// Its id.
    pub run: String,
    /// The id of its workflow.
    pub workflow: String,
    /// Its name.
    pub name: Option<String>,
    /// Who started it.
    pub started_by: Option<String>,
    /// The number of its events.
    pub seq: u64,
    /// The hash of its last event.
    pub hash: String,
    /// The epoch of its carrier.
    pub epoch: u64,
    /// State, status, context, tools, events and limits, as `interlock status --json` has them.
    pub report: Value,
    /// The requests that wait for a person.
    pub requests: Vec<Value>,
    /// How far the approval of each request has come, if the tenant has a policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ApprovalView>,
    /// What a durable run stands at until a person says something: `question`, `pause`, or an interrupted step (`lost`, `lost_call`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standing: Vec<StandingView>,
    /// Who has paused the run, and why; none if it is not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PausedView>,
    /// Changes of protected things that no person has accepted.
    pub changed: Vec<Value>,
    /// What a yes to each request means, in words.
    #[serde(default)]
    pub asked: Vec<AskedView>,
    /// The evidence that guards read where the run stands.
    #[serde(default)]
    pub evidence: Vec<EvidenceView>,
    /// The bundle that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleRef>,
    /// The revision of the policy that holds now; none if the tenant has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<u64>,
}

/// Who has paused a run, and why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PausedView {
    /// Their name.
    pub by: String,
    /// The reason given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Something that a durable run stands at.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StandingView {
    /// The path of the state.
    pub state: String,
    /// Why it stands: `question`, `pause`, `lost`, `lost_call`.
    pub kind: String,
    /// What people call it where it is for an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The question, the reason of the pause, or what was interrupted.
    pub message: String,
    /// The values to choose from; none: any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Why it cannot be answered here, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// When the state was entered, in milliseconds since 1970.
    pub since_ms: u64,
}

/// A run as a machine needs it to judge calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotView {
    /// The number of its events.
    pub seq: u64,
    /// The hash of its last event.
    pub hash: String,
    /// What was recorded before any event.
    pub pin: Pinned,
    /// The run, folded from its events.
    #[schemars(with = "AnyObject")]
    pub run: Box<RawValue>,
}

/// What was recorded of a run before any event.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Pinned {
    /// Its hash, to which the first event is chained.
    pub digest: String,
    /// The name of the run.
    pub name: Option<String>,
    /// The name of the workflow file.
    pub source_name: String,
    /// The text of the workflow file.
    pub source_text: String,
    /// The JSON of what it was compiled to, whose hash is in the first event.
    pub machine: String,
}

/// Events of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// The events, in order.
    pub events: Vec<EventLine>,
    /// The number for `from` of the next request.
    pub next: u64,
    /// The number of events of the run.
    pub seq: u64,
}

/// An event as recorded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Its number, from 0.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: u64,
    /// Its hash, which covers the previous one.
    pub hash: String,
    /// The event, with exactly the bytes that its hash covers.
    #[schemars(with = "AnyObject")]
    pub event: Box<RawValue>,
    /// What it says, for people, if `told=1` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
}

/// The state of the server.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Always `true`; a server that cannot answer sends an error.
    pub ok: bool,
}

/// Any error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorLine,
}

/// An error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorLine {
    /// A stable code.
    pub code: String,
    /// One sentence, with what to do.
    pub message: String,
}

/// The bundle that a run was started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundleRef {
    /// The name of the bundle.
    pub name: String,
    /// Its revision.
    pub revision: u64,
    /// The file of the bundle.
    pub file: String,
    /// Whether the run follows a stricter workflow that was sent with the request.
    pub tightened: bool,
}
