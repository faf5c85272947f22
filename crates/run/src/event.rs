//! Events: what happened. A run is the fold of its events.

mod name;

pub use crate::parts::{
    About, AllowSource, ApprovalKind, BranchStart, CallMarks, CallRecord, Cause, EvidenceMark,
    GrantThen, InterruptHit, JoinedNext, Merged, MergedConversation, MessageRange, NoAnswer,
    Passing, PendingGrant, PendingTransition, ProbeMark, ProbedCommand, PromptCall, PromptEnd,
    ProtectedChange, ProtectedFate, RegionKind, RegionOutcome, RegionsStart, RequestKind,
    SeenCondition, TokenPlace, ToolChange, TransitionKind, VoidReason, WatchedFile,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    attempt::{FinishReason, PendingCall, Usage},
    call::WrittenPath,
    defaults::{is_default, is_zero},
    machine::{DataFlags, EffectKind, Object, Outcome, Target},
    names::{
        AgentId, ApprovalId, CallId, Digest, EventName, FramePath, InterruptName, MachineId, RunId,
        StateName,
    },
    passkey::PasskeyAssertion,
    refusal::Refusal,
    run::RunKind,
    substance::{Checked, FrozenChange},
};

/// Something that happened to a run, with everything that `evolve` needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The run.
        run: RunId,
        /// Id of the machine.
        machine: MachineId,
        /// Content hash of the machine.
        hash: String,
        /// The first state.
        initial: StateName,
        /// Initial context, with the input applied.
        context: Object,
        /// Name of whoever started it.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
        /// Who does the work of the run, and what a durable run starts with.
        #[serde(default, skip_serializing_if = "RunKind::is_guarded")]
        kind: RunKind,
    },
    /// The output of a state was added to the context and the conversation.
    OutputKept {
        /// Path of the frame concerned.
        path: FramePath,
        /// The state.
        state: StateName,
        /// How the output is added to context and conversation.
        flags: DataFlags,
        /// Whether a person may still change the output; the data before it is then kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_change: bool,
        /// Whether an assistant produced the output.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        spoken: bool,
    },
    /// A person changed the output of the state that a frame has just left; the frame is back in that state.
    OutputChanged {
        /// Path of the frame concerned.
        path: FramePath,
        /// The state.
        state: StateName,
        /// The new output.
        text: String,
        /// Name of the person.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A person added a message to a conversation.
    PersonSaid {
        /// Path of the frame concerned.
        path: FramePath,
        /// Text of the message; if it is a JSON object, its keys were added to the context.
        text: String,
        /// Name of the person.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A conversation was condensed to its first message and a summary.
    HistoryCondensed {
        /// Path of the frame concerned.
        path: FramePath,
        /// Summary; `None`: there was none, and the conversation is unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The model's name.
        model: String,
        /// Tokens and money spent.
        usage: Usage,
    },
    /// A transition was selected by its conditions.
    TransitionSelected {
        /// Path of the frame concerned.
        path: FramePath,
        /// State that the transition leaves.
        state: StateName,
        /// Conditions in the order evaluated, each with the values it saw; the first that holds decides.
        conditions: Vec<SeenCondition>,
        /// Number of earlier conditions that are left out.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
        /// Target of the transition.
        to: Target,
    },
    /// Something differs from what the workflow expects, and the run continues.
    Noted {
        /// Path of the frame concerned.
        path: FramePath,
        /// A stable code.
        code: String,
        /// One sentence.
        message: String,
    },
    /// A stage was set up: its available tools are known, and its context is fixed.
    StageEntered {
        /// Path of the frame concerned.
        path: FramePath,
        /// The stage.
        stage: StateName,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Tools that the model is offered.
        tools: Vec<String>,
        /// Listed tools that are not available.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// The body of a stage was filled, and a new transcript was opened.
    StageStarted {
        /// Path of the frame concerned.
        path: FramePath,
        /// Digest of the filled body.
        body: Digest,
    },
    /// A model is called.
    ModelCalled {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the requested message, from 1.
        turn: u32,
        /// The provider's name.
        provider: String,
        /// Name of the model at that provider.
        model: String,
        /// Digest of the request sent.
        digest: Digest,
    },
    /// A complete message of a model arrived.
    ModelResponded {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the message, from 1.
        turn: u32,
        /// Digest of the whole message, which is stored beside the log.
        digest: Digest,
        /// Reason that the message ended.
        finish: FinishReason,
        /// Calls in the message, in order.
        calls: Vec<PendingCall>,
        /// Tokens and money spent.
        usage: Usage,
        /// Duration from the request to the end, in milliseconds.
        ms: u64,
    },
    /// A model call failed.
    ModelFailed {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the requested message.
        turn: u32,
        /// A stable code.
        code: String,
        /// One sentence.
        message: String,
        /// Time of the next attempt, in milliseconds since 1970; `None`: there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_ms: Option<u64>,
    },
    /// A call of a stage may run.
    ToolAllowed {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call; its id is made of turn and position.
        call: CallRecord,
        /// Rule or person that allowed the call.
        source: AllowSource,
        /// Whether it only reads.
        reads: bool,
        /// Consequences of the call for the run.
        marks: CallMarks,
    },
    /// An allowed call of a stage was passed to its tool.
    ToolStarted {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call.
        call: CallId,
    },
    /// A call of a stage may not run.
    ToolDenied {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call.
        call: CallRecord,
        /// What denied the call: `policy`, `mode`, `grant` or `stage`.
        source: String,
        /// Code and sentence of the refusal.
        refusal: Refusal,
    },
    /// A call of a stage has ended.
    ToolEnded {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call.
        call: CallId,
        /// Whether it succeeded.
        ok: bool,
        /// Code of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Exit code of a shell line, if known for certain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i64>,
        /// Size of the result in bytes, before it was cut.
        bytes: u64,
        /// Duration in milliseconds.
        ms: u64,
        /// Paths that the call was seen to write, beyond those predicted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<WrittenPath>,
        /// Digest of the text returned to the model, which is stored beside the log.
        told: Digest,
        /// Text returned to the model, if a person settled the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The result that a model submitted was rejected.
    CompletionRejected {
        /// Path of the frame concerned.
        path: FramePath,
        /// Id of the call; `None`: the result is a plain answer.
        call: Option<CallId>,
        /// Schema errors, each with its place and what was expected; empty: another result was accepted.
        findings: Vec<String>,
    },
    /// The result that a model submitted was accepted.
    CompletionAccepted {
        /// Path of the frame concerned.
        path: FramePath,
        /// Id of the call; `None`: the result is a plain answer.
        call: Option<CallId>,
        /// Digest of the arguments.
        digest: Digest,
    },
    /// All calls of a message are settled.
    TurnEnded {
        /// Path of the frame concerned.
        path: FramePath,
        /// The number of the message.
        n: u32,
        /// Number of its calls.
        calls: u32,
        /// Reminder sent to the model; empty: none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reminder: String,
    },
    /// The model has finished the stage, or stopped trying.
    StageActed {
        /// Path of the frame concerned.
        path: FramePath,
        /// `ok`, or the code of what prevented it.
        outcome: String,
        /// Number of messages received.
        turns: u32,
    },
    /// The assertions were evaluated over the submitted result.
    StageAsserted {
        /// Path of the frame concerned.
        path: FramePath,
        /// Whether all hold.
        ok: bool,
        /// First assertion that does not hold, and why; empty: all hold.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// An attempt of a stage ended.
    StageExited {
        /// Path of the frame concerned.
        path: FramePath,
        /// The stage.
        stage: StateName,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// `ok`, `skipped`, `cap_hit`, `cancelled` or another stable code.
        outcome: String,
        /// Number of messages received.
        turns: u32,
        /// Whether the limit on messages was reached.
        cap_hit: bool,
        /// Tokens and money spent.
        usage: Usage,
        /// Position of the output among those of the other stages; `None`: it is not kept there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upstream: Option<usize>,
        /// Submitted result; null: none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        payload: Value,
        /// Cause of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Cause>,
        /// Whether another attempt follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A stage failed, and a transition handles the error, which templates can read.
    StageFailed {
        /// Path of the frame concerned.
        path: FramePath,
        /// The stage.
        stage: StateName,
        /// Number of the attempt.
        attempt: u32,
        /// A stable code.
        code: String,
        /// One sentence.
        message: String,
    },
    /// A tool call may run.
    CallAllowed {
        /// Path of the frame that the call counts in.
        path: FramePath,
        /// The call.
        call: CallRecord,
        /// Rule or person that allowed the call.
        source: AllowSource,
        /// Consequences of the call for the run.
        marks: CallMarks,
    },
    /// A tool call may not run.
    CallDenied {
        /// Path of the frame that was asked.
        path: FramePath,
        /// The call.
        call: CallRecord,
        /// Code and sentence of the refusal.
        refusal: Refusal,
    },
    /// A person is asked about a transition, a state or a call.
    RequestOpened {
        /// Path of the frame that asks. The frame waits, unless the request is about a call or asked in a client's own prompt.
        path: FramePath,
        /// Subject of the request.
        about: About,
        /// Digest of everything an approval depends on.
        question: Digest,
        /// Call for which the client asks in its own prompt; `None`: it does not ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptCall>,
        /// What an approval requires besides a person's answer.
        #[serde(default, skip_serializing_if = "is_default")]
        approval: ApprovalKind,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A person answered a request.
    RequestAnswered {
        /// Path of the frame that asked.
        path: FramePath,
        /// Id of the request.
        id: ApprovalId,
        /// Kind of the request.
        about: RequestKind,
        /// Digest of everything the answer depends on.
        question: Digest,
        /// Whether the request was approved.
        yes: bool,
        /// Name of whoever answered.
        by: String,
        /// Note of the person; the agent sees the note of a rejection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Passkey assertion that came with an approval; verifying the log checks it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passkey: Option<Box<PasskeyAssertion>>,
        /// Digest of the votes that the answer counts, which a server stores beside the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        votes: Option<Digest>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A request became void: nobody answered it, and nobody needs to.
    RequestVoided {
        /// Path of the frame that asked.
        path: FramePath,
        /// Id of the request.
        id: ApprovalId,
        /// Digest of everything an answer would have depended on.
        question: Digest,
        /// Reason that the request is void.
        why: VoidReason,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// An approved call used its approval.
    RequestUsed {
        /// Path of the frame that asked.
        path: FramePath,
        /// Id of the request.
        id: ApprovalId,
        /// Digest of the call's tool and arguments.
        question: Digest,
    },
    /// An allowed call ended.
    CallEnded {
        /// The call.
        call: CallId,
        /// Whether it succeeded.
        ok: bool,
        /// Exit code of a shell line, if known for certain.
        exit: Option<i64>,
        /// Size of the result in bytes.
        bytes: u64,
        /// Paths that the call was seen to write, beyond those predicted.
        wrote: Vec<WrittenPath>,
        /// How each command of a shell line was seen to end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<ProbedCommand>,
        /// Whether no outcome was seen and success is assumed.
        assumed: bool,
        /// What else was checked of a shell line because a guard asks for it.
        #[serde(default, skip_serializing_if = "Checked::is_nothing")]
        checked: Checked,
        /// Whether the call may have written until it ended, so that earlier evidence is stale.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        writes: bool,
    },
    /// A shell line was started by `interlock exec`.
    LineConfined {
        /// The call.
        call: CallId,
        /// Confinement level that the kernel enforces.
        level: String,
        /// Parts of the plan that this system cannot enforce.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unconfined: Vec<String>,
        /// Whether the end of the line settles what the call proves, whatever the client reports; false in old logs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settles: bool,
    },
    /// A shell line that `interlock exec` started ended.
    LineEnded {
        /// The call.
        call: CallId,
        /// Exit code as seen; `None`: no evidence.
        exit: Option<i64>,
        /// Paths that the line was seen to write.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<WrittenPath>,
        /// How each command of the line was seen to end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<ProbedCommand>,
        /// Whether the line may have written more than `wrote`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
        /// What else was checked of the line because a guard asks for it.
        #[serde(default, skip_serializing_if = "Checked::is_nothing")]
        checked: Checked,
    },
    /// A sub-agent was bound to a branch.
    AgentBound {
        /// The sub-agent.
        agent: AgentId,
        /// The branch.
        path: FramePath,
    },
    /// A sub-agent stopped; its branch is free for others.
    AgentReleased {
        /// The sub-agent.
        agent: AgentId,
    },
    /// The agent was stopped from finishing before the run had ended.
    FinishRefused {
        /// Number of refusals since the last transition, from 1.
        attempt: u32,
    },
    /// A frame took a transition.
    TransitionTaken {
        /// Path of the frame concerned.
        path: FramePath,
        /// The event.
        event: EventName,
        /// The state left.
        from: StateName,
        /// The state entered.
        to: StateName,
        /// How the target was found.
        how: TransitionKind,
        /// Data merged into the context.
        data: Object,
        /// Name of whoever asked.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A requested transition was not taken.
    TransitionRejected {
        /// Path of the frame that was asked, if one was found.
        path: FramePath,
        /// The event asked for.
        event: String,
        /// Code and sentence of the refusal.
        refusal: Refusal,
    },
    /// A written file raised an interrupt, and the frame entered its handler.
    InterruptRaised {
        /// Path of the frame concerned.
        path: FramePath,
        /// The interrupt.
        interrupt: InterruptName,
        /// The file that matched, relative to the project root.
        file: String,
        /// State that was left, and that the handler returns to.
        from: StateName,
        /// The handler.
        to: StateName,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// An interrupt was queued until the handler returns or a person answers.
    InterruptQueued {
        /// Path of the frame concerned.
        path: FramePath,
        /// The interrupt.
        interrupt: InterruptName,
        /// The file that matched.
        file: String,
    },
    /// A queued interrupt left the queue.
    InterruptDequeued {
        /// Path of the frame concerned.
        path: FramePath,
    },
    /// The lines of text that a machine runs for, one after the other, were listed.
    ItemsListed {
        /// Path of the frame concerned.
        path: FramePath,
        /// All lines.
        items: Vec<String>,
    },
    /// Regions started.
    RegionsStarted {
        /// Path of the frame above the regions; for a region that splits, of that region.
        path: FramePath,
        /// The regions, each with its first state.
        start: RegionsStart,
    },
    /// A failed region restarted in the state where it failed.
    RegionReopened {
        /// Path of the region.
        path: FramePath,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A region waits at a join that other regions can still reach.
    RegionWaits {
        /// Path of the region.
        path: FramePath,
    },
    /// The region of an item entered the next state of its chain.
    RegionPassed {
        /// Path of the region.
        path: FramePath,
        /// The state entered.
        to: StateName,
        /// New value of the item; `None`: unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A region ended.
    RegionEnded {
        /// Path of the region.
        path: FramePath,
        /// Kind of the region.
        kind: RegionKind,
        /// Outcome.
        outcome: RegionOutcome,
        /// States that the region leads to, for the region of an item or of a fork inside one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exits: Vec<StateName>,
        /// The first cause of a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// Regions joined.
    Joined {
        /// Path of the frame above the regions.
        path: FramePath,
        /// Names of the regions that continue as one, which is the first of them; empty: all regions joined, and the frame above continues.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
        /// Outcome.
        outcome: Outcome,
        /// Merged results of the regions.
        #[serde(default, skip_serializing_if = "is_default")]
        merged: Merged,
        /// Number of failed regions, for a machine that ran for lines of text.
        #[serde(default, skip_serializing_if = "is_default")]
        failed: u64,
        /// Cause of the failure, if the captured values are kept nevertheless.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// State entered by joining; `None`: the frame's own event selects the next state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<JoinedNext>,
        /// Whether a person may still separate them; the regions before joining are then kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_part: bool,
    },
    /// Joined regions were restored, so that the output of one of them can be changed.
    Parted {
        /// Path of the frame above the regions.
        path: FramePath,
        /// Name of the region that continued for all, or whose output is changed.
        line: String,
    },
    /// A machine was called.
    MachineCalled {
        /// Path of the frame that calls.
        path: FramePath,
        /// Key of the called machine.
        machine: MachineId,
        /// Name of the machine in paths.
        shown: String,
        /// First state of the called machine.
        initial: StateName,
        /// Context of the called machine.
        context: Object,
    },
    /// A called machine ended.
    MachineReturned {
        /// Path of the frame that called.
        path: FramePath,
        /// Outcome.
        outcome: Outcome,
        /// Data merged into the caller's context.
        merged: Object,
        /// Output of the caller's state.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        output: Value,
        /// Why it failed; `None` in logs that do not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// An effect was started; it is performed only after this event is in the log.
    EffectStarted {
        /// Path of the frame concerned.
        path: FramePath,
        /// Kind of the effect.
        kind: EffectKind,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Input of the effect with every hole filled; null: as in the previous attempt.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
        /// Absolute path of the file that the output is written to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// An attempt failed, and another follows.
    AttemptFailed {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Cause of the failure.
        error: Cause,
        /// Start of the next attempt, in milliseconds since 1970.
        again_ms: u64,
    },
    /// The runner that performed an effect is gone, and the outcome of the effect is unknown.
    EffectLost {
        /// Path of the frame concerned.
        path: FramePath,
    },
    /// A person decided how a lost effect is settled.
    EffectSettled {
        /// Path of the frame concerned.
        path: FramePath,
        /// `again`, `failed` or `done`.
        how: String,
        /// Name of the person.
        by: String,
    },
    /// An activity that Interlock runs ended.
    ActivityEnded {
        /// Path of the frame concerned.
        path: FramePath,
        /// Output of the activity; null after an error.
        output: Value,
        /// Cause of the failure.
        error: Option<Cause>,
        /// Context key in which the trimmed output was stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// Beginning and end of standard error, if the activity succeeded.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
    },
    /// A person set variables.
    VariablesSet {
        /// The new values.
        values: Object,
        /// Name of the person.
        by: String,
    },
    /// A person moved the run to another version of its workflow; the current states start afresh.
    MachineAdopted {
        /// Id of the machine in that version.
        machine: MachineId,
        /// Content hash of that version.
        hash: String,
        /// Variables of that version that the run did not have.
        variables: Object,
        /// Name of the person.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A run that had failed or was cancelled continues at the states that failed.
    RunReopened {
        /// Name of whoever asked.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// Files of the project changed, but no call was seen to change them; earlier evidence is stale.
    FilesChanged {
        /// Some of the files, relative to the project.
        files: Vec<String>,
        /// Call before which they changed; `None`: just now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<CallId>,
    },
    /// A person's approval of a transition or a state accepted frozen files and tests as they are.
    ProjectAccepted {
        /// Name of the person.
        by: String,
    },
    /// The known differences of frozen files from the run's start or the last approval have changed.
    FrozenCompared {
        /// Changes, one for each pattern with differences; empty: all files are unchanged again.
        changes: Vec<FrozenChange>,
    },
    /// Protected things differ from the start of the run.
    ProtectedChanged {
        /// Changes, each path once.
        changes: Vec<ProtectedChange>,
    },
    /// The token for a person's scripts was seen where the agent reads or writes.
    TokenSeen {
        /// Place where the token was seen.
        place: TokenPlace,
    },
    /// A process below the run's client contacted the console, where only a person may answer; it was refused.
    ConsoleRefused {
        /// Process id.
        pid: u32,
        /// Name of the program, as the system reports it.
        program: String,
        /// Method and path of the request.
        request: String,
    },
    /// A server tool differs from when the run first saw it.
    ToolChanged(ToolChange),
    /// A person accepted the current definition of a server tool.
    ToolAccepted {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Digest of the accepted definition.
        digest: Digest,
        /// Name of the person.
        by: String,
    },
    /// A person decided whether to trust what the project widens.
    TrustDecided {
        /// Root directory of the project.
        project: String,
        /// `trust`, `this_time` or `no`.
        word: String,
        /// Digest of what it widens.
        digest: Digest,
        /// Name of the person.
        by: String,
    },
    /// The run was paused.
    RunPaused {
        /// Name of whoever asked.
        by: String,
        /// The reason given.
        reason: Option<String>,
    },
    /// The run was resumed.
    RunResumed {
        /// Name of whoever asked.
        by: String,
    },
    /// A person cancelled the run.
    RunCancelled {
        /// Name of the person.
        by: String,
    },
    /// The run ended. The name of the event is `RunCompleted` or `RunFailed`.
    RunEnded {
        /// Outcome.
        outcome: Outcome,
        /// The first cause of a failure, if no final state was reached.
        cause: Option<Cause>,
    },
}
