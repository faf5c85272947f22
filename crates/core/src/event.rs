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
    attempt::{Finish, PendingCall, Usage},
    call::WrittenPath,
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Something that happened to a run. Holds all that `evolve` needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The run.
        run: RunId,
        /// Its machine.
        machine: MachineId,
        /// The machine's content hash.
        hash: String,
        /// The first state.
        initial: StateName,
        /// The context, patched by the input.
        context: Object,
        /// Name of whoever started it.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
        /// Who does its work, and what it begins with where that is Interlock itself.
        #[serde(default, skip_serializing_if = "RunKind::is_guarded")]
        kind: RunKind,
    },
    /// The output of a state entered the context and the conversation of its line.
    OutputKept {
        /// Path of the frame concerned.
        path: FramePath,
        /// The state.
        state: StateName,
        /// What the output does to context and conversation.
        flags: DataFlags,
        /// Whether a person may still change it: what was before is then remembered.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_change: bool,
        /// Whether an assistant said it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        spoken: bool,
    },
    /// A person changed the output of the state that a line has just left: the line is back there.
    OutputChanged {
        /// Path of the frame concerned.
        path: FramePath,
        /// The state.
        state: StateName,
        /// The new output.
        text: String,
        /// Name of whoever did it.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A person said something to a line.
    PersonSaid {
        /// Path of the frame concerned.
        path: FramePath,
        /// What; the keys of one that is an object entered the context.
        text: String,
        /// Name of whoever did it.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// The conversation of a line was condensed to its first message and a summary.
    HistoryCondensed {
        /// Path of the frame concerned.
        path: FramePath,
        /// The summary; `None`: none could be had, and the conversation is as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The model's name.
        model: String,
        /// Tokens and money spent.
        usage: Usage,
    },
    /// A transition was selected by what conditions saw.
    TransitionSelected {
        /// Path of the frame concerned.
        path: FramePath,
        /// The state that leads on.
        state: StateName,
        /// What each condition saw, in the order asked; the first that holds decides.
        conditions: Vec<SeenCondition>,
        /// Conditions before those that are not told.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
        /// Target of the transition.
        to: Target,
    },
    /// Something is not as the workflow wants it, and the run goes on all the same.
    Noted {
        /// Path of the frame concerned.
        path: FramePath,
        /// A stable code.
        code: String,
        /// One sentence.
        message: String,
    },
    /// A stage was set up: what is there of its tools is known, and the context is what it will be given.
    StageEntered {
        /// Path of the frame concerned.
        path: FramePath,
        /// The stage.
        stage: StateName,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// The tools that the model is told of.
        tools: Vec<String>,
        /// Listed tools that are not there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// The body of a stage was filled, and a transcript without history opened.
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
        /// The number of the message that is asked for, from 1.
        turn: u32,
        /// The provider's name.
        provider: String,
        /// The model's name there.
        model: String,
        /// Digest of the request sent.
        digest: Digest,
    },
    /// A message of a model arrived whole.
    ModelResponded {
        /// Path of the frame concerned.
        path: FramePath,
        /// Its number, from 1.
        turn: u32,
        /// Digest of the whole message, which is kept beside the log.
        digest: Digest,
        /// Reason that the message ended.
        finish: Finish,
        /// Its calls, in order.
        calls: Vec<PendingCall>,
        /// Tokens and money spent.
        usage: Usage,
        /// Duration from the request to the end, in milliseconds.
        ms: u64,
    },
    /// A call of a model came to nothing.
    ModelFailed {
        /// Path of the frame concerned.
        path: FramePath,
        /// The number of the message that was asked for.
        turn: u32,
        /// A stable code.
        code: String,
        /// One sentence.
        message: String,
        /// When it is called again, in milliseconds since 1970; `None`: it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_ms: Option<u64>,
    },
    /// A call of a stage may run.
    ToolAllowed {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call; its id says turn and place.
        call: CallRecord,
        /// Rule or person that allowed the call.
        source: AllowSource,
        /// Whether it only reads.
        reads: bool,
        /// What follows from it for the run.
        marks: CallMarks,
    },
    /// A call of a stage that may run is handed to its tool.
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
        /// Who says so: `policy`, `mode`, `grant` or `stage`.
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
        /// The code of its failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The exit code of a shell line, when known for sure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i64>,
        /// Bytes of the result, before it was cut.
        bytes: u64,
        /// Duration in milliseconds.
        ms: u64,
        /// Paths it was seen to write, beyond those foreseen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<WrittenPath>,
        /// Digest of what the model is told, which is kept beside the log.
        told: Digest,
        /// What the model is told, where a person said what became of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// What a model handed in does not fit.
    CompletionRejected {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call; `None`: an answer without one.
        call: Option<CallId>,
        /// Each with its place and what was wanted; empty: another one was taken.
        findings: Vec<String>,
    },
    /// What a model handed in fits.
    CompletionAccepted {
        /// Path of the frame concerned.
        path: FramePath,
        /// The call; `None`: an answer without one.
        call: Option<CallId>,
        /// Digest of the arguments.
        digest: Digest,
    },
    /// All calls of a message are dealt with.
    TurnEnded {
        /// Path of the frame concerned.
        path: FramePath,
        /// The number of the message.
        n: u32,
        /// Number of its calls.
        calls: u32,
        /// What the model is reminded of; empty: nothing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reminder: String,
    },
    /// The model has done its part, or will not any more.
    StageActed {
        /// Path of the frame concerned.
        path: FramePath,
        /// `ok`, or the code of what came in between.
        outcome: String,
        /// Messages that arrived.
        turns: u32,
    },
    /// The assertions were read over what was handed in.
    StageAsserted {
        /// Path of the frame concerned.
        path: FramePath,
        /// Whether all hold.
        ok: bool,
        /// First assertion that does not hold, and why; empty: all hold.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// An attempt of a stage is over, with all that belongs to it.
    StageExited {
        /// Path of the frame concerned.
        path: FramePath,
        /// The stage.
        stage: StateName,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// `ok`, `skipped`, `cap_hit`, `cancelled` or another stable code.
        outcome: String,
        /// Messages that arrived.
        turns: u32,
        /// Whether the cap of messages was reached.
        cap_hit: bool,
        /// Tokens and money spent.
        usage: Usage,
        /// Where its output goes among those of the other stages; `None`: nowhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upstream: Option<usize>,
        /// What was handed in; null: nothing.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        payload: Value,
        /// Cause of the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Cause>,
        /// Whether another attempt follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// The error that a transition of a stage was taken for, as texts name it.
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
        /// The frame it counts in.
        path: FramePath,
        /// The call.
        call: CallRecord,
        /// Rule or person that allowed the call.
        source: AllowSource,
        /// What follows from it for the run.
        marks: CallMarks,
    },
    /// A tool call may not run.
    CallDenied {
        /// The frame that was asked.
        path: FramePath,
        /// The call.
        call: CallRecord,
        /// Code and sentence of the refusal.
        refusal: Refusal,
    },
    /// A person is asked about a transition, a state or a call.
    RequestOpened {
        /// The frame that asks. It stands still, unless a call or a client's own prompt waits.
        path: FramePath,
        /// Subject of the request.
        about: About,
        /// Digest of all that a yes rests on.
        question: Digest,
        /// The call with which the client asks in a prompt of its own; `None`: it does not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptCall>,
        /// What a yes has to come with.
        #[serde(default, skip_serializing_if = "ApprovalKind::is_default")]
        approval: ApprovalKind,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A person answered what they were asked.
    RequestAnswered {
        /// The frame that asked.
        path: FramePath,
        /// Id of the request.
        id: ApprovalId,
        /// What kind of request it is.
        about: RequestKind,
        /// Digest of all that the answer rests on.
        question: Digest,
        /// Whether it was a yes.
        yes: bool,
        /// Name of whoever answered.
        by: String,
        /// What else they said; of a no, the agent is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The assertion of a passkey that came with a yes; a verification of the log checks it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passkey: Option<Box<PasskeyAssertion>>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// What a person was asked is void: nobody answered, and nobody needs to.
    RequestVoided {
        /// The frame that asked.
        path: FramePath,
        /// Id of the request.
        id: ApprovalId,
        /// Digest of all that an answer would have rested on.
        question: Digest,
        /// Reason that the request is void.
        why: VoidReason,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// The call that a person said yes to uses the yes up.
    RequestUsed {
        /// The frame that asked.
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
        /// The exit code of a shell line, when known for sure.
        exit: Option<i64>,
        /// Bytes of the result.
        bytes: u64,
        /// Paths it was seen to write, beyond those foreseen.
        wrote: Vec<WrittenPath>,
        /// How commands of a shell line were seen to end, each by itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<ProbedCommand>,
        /// Whether no outcome was seen and success is taken for granted.
        assumed: bool,
        /// What else was seen of a shell line, where a guard asks for it.
        #[serde(default, skip_serializing_if = "Checked::is_nothing")]
        checked: Checked,
        /// Whether it may have written until it ended, so that what was seen before is stale.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        writes: bool,
    },
    /// A shell line was started by `interlock exec`.
    LineConfined {
        /// The call.
        call: CallId,
        /// How far the kernel holds it.
        level: String,
        /// What its plan wants and this system does not hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_held: Vec<String>,
        /// Whether its end settles what the call proves, whatever its client says; not so in old logs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settles: bool,
    },
    /// A line that `interlock exec` started has ended.
    LineEnded {
        /// The call.
        call: CallId,
        /// Its exit code, as seen; `None`: no evidence.
        exit: Option<i64>,
        /// Paths it was seen to write.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<WrittenPath>,
        /// How its commands were seen to end, each by itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<ProbedCommand>,
        /// Whether it may have written more than `wrote` says.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
        /// What else was seen of it, where a guard asks for it.
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
    /// A sub-agent has stopped; its branch is free for others.
    AgentReleased {
        /// The sub-agent.
        agent: AgentId,
    },
    /// The agent was about to end its work before the run had ended.
    FinishRefused {
        /// Which refusal without a transition in between, from 1.
        attempt: u32,
    },
    /// A frame moved.
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
        /// Merged into the context.
        data: Object,
        /// Name of whoever asked.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A transition was asked for and not taken.
    TransitionRejected {
        /// The frame that was asked, if one was found.
        path: FramePath,
        /// The event asked for.
        event: String,
        /// Code and sentence of the refusal.
        refusal: Refusal,
    },
    /// A written file moved a frame to a handler.
    InterruptRaised {
        /// Path of the frame concerned.
        path: FramePath,
        /// The interrupt.
        interrupt: InterruptName,
        /// The file that matched, relative to the project root.
        file: String,
        /// The state left, to be returned to.
        from: StateName,
        /// The handler.
        to: StateName,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A match is kept until the handler returns or a person answers.
    InterruptQueued {
        /// Path of the frame concerned.
        path: FramePath,
        /// The interrupt.
        interrupt: InterruptName,
        /// The file that matched.
        file: String,
    },
    /// A kept match left the queue.
    InterruptDequeued {
        /// Path of the frame concerned.
        path: FramePath,
    },
    /// The lines of text that a machine runs for, one after the other.
    ItemsListed {
        /// Path of the frame concerned.
        path: FramePath,
        /// Each line.
        items: Vec<String>,
    },
    /// Regions started.
    RegionsStarted {
        /// The frame above them; of a line that splits, the line itself.
        path: FramePath,
        /// Which regions, and what each starts with.
        start: RegionsStart,
    },
    /// A region that had failed goes on where it failed.
    RegionReopened {
        /// The region.
        path: FramePath,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A line waits where others may still come.
    RegionWaits {
        /// The line.
        path: FramePath,
    },
    /// The line of an item goes on to the next state of its chain.
    RegionPassed {
        /// The line.
        path: FramePath,
        /// The state entered.
        to: StateName,
        /// What the item is from now on; `None`: what it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A region ended.
    RegionEnded {
        /// The region.
        path: FramePath,
        /// Kind of the region.
        kind: RegionKind,
        /// Outcome.
        outcome: RegionOutcome,
        /// Where it would lead: of an item's line, or of a line of a fork within one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exits: Vec<StateName>,
        /// The first cause of a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// Regions joined.
    Joined {
        /// The frame above them.
        path: FramePath,
        /// The names of lines that go on as one, the first of which goes on; empty: all regions joined, and the frame above them goes on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
        /// Outcome.
        outcome: Outcome,
        /// What they bring together.
        #[serde(default, skip_serializing_if = "is_default")]
        merged: Merged,
        /// Regions that failed, of a machine that ran for lines of text.
        #[serde(default, skip_serializing_if = "is_default")]
        failed: u64,
        /// Why it failed, where what they captured is kept all the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// The state entered by it; `None`: the frame's own event leads on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<JoinedNext>,
        /// Whether a person may still part them: what they were is then remembered.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_part: bool,
    },
    /// Regions that had joined are as they were before, so that the output of one can be changed.
    Parted {
        /// The frame above them.
        path: FramePath,
        /// The line that had gone on, or whose output is changed.
        line: String,
    },
    /// A machine was called.
    MachineCalled {
        /// The frame that calls.
        path: FramePath,
        /// Key of the called machine.
        machine: MachineId,
        /// Its name in paths.
        shown: String,
        /// Its first state.
        initial: StateName,
        /// Its context.
        context: Object,
    },
    /// A called machine ended.
    MachineReturned {
        /// The frame that called.
        path: FramePath,
        /// Outcome.
        outcome: Outcome,
        /// Merged into the caller's context.
        merged: Object,
        /// The output that the caller's state has by it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        output: Value,
        /// Why it failed; `None` in logs that do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// An effect is started: whoever carries it out begins after this is in the log.
    EffectStarted {
        /// Path of the frame concerned.
        path: FramePath,
        /// What kind of work it is.
        kind: EffectKind,
        /// Number of the try, from 1.
        attempt: u32,
        /// What the work is given, every hole filled; null: as in the try before.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
        /// The file that its output goes to, absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A try failed and another follows.
    AttemptFailed {
        /// Path of the frame concerned.
        path: FramePath,
        /// Number of the try, from 1.
        attempt: u32,
        /// The failure.
        error: Cause,
        /// When the next begins, in milliseconds since 1970.
        again_ms: u64,
    },
    /// Who carried an effect out is gone, and what became of it is not known.
    EffectLost {
        /// Path of the frame concerned.
        path: FramePath,
    },
    /// A person said what became of a lost effect.
    EffectSettled {
        /// Path of the frame concerned.
        path: FramePath,
        /// `again`, `failed` or `done`.
        how: String,
        /// Name of whoever did it.
        by: String,
    },
    /// An activity that Interlock carries out ended.
    ActivityEnded {
        /// Path of the frame concerned.
        path: FramePath,
        /// Its output; null after an error.
        output: Value,
        /// Its error.
        error: Option<Cause>,
        /// The context key that the output went to, as text without blanks at its ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The beginning and the end of what it wrote to standard error, where it succeeded.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        stderr: String,
    },
    /// A person set variables.
    VariablesSet {
        /// The new values.
        values: Object,
        /// Name of whoever did it.
        by: String,
    },
    /// A person moved the run to another version of its workflow: where it stands is begun anew.
    MachineAdopted {
        /// The version's id.
        machine: MachineId,
        /// The version's content hash.
        hash: String,
        /// Variables that it has and the run did not.
        variables: Object,
        /// Name of whoever did it.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// A run that had failed or was cancelled goes on at the states that failed.
    RunReopened {
        /// Name of whoever asked.
        by: String,
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
    /// Files of the project changed, and no call was seen to change them: earlier evidence is stale.
    FilesChanged {
        /// Some of them, relative to the project.
        files: Vec<String>,
        /// The call before which they did; `None`: just now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<CallId>,
    },
    /// By a yes to a transition or a state, a person takes frozen files and tests as they are.
    ProjectAccepted {
        /// Name of whoever did it.
        by: String,
    },
    /// Frozen files differ otherwise than was known from how they were at the run's start or at the last approval.
    FrozenCompared {
        /// Each pattern of which some do; empty: all are as they were again.
        changes: Vec<FrozenChange>,
    },
    /// Protected things are not as they were when the run began.
    ProtectedChanged {
        /// What is different, each path once.
        changes: Vec<ProtectedChange>,
    },
    /// The token that lets a person's scripts answer stood where the agent reads or writes.
    TokenSeen {
        /// Place where the token was seen.
        place: TokenPlace,
    },
    /// A process below the run's client reached the console, where only a person answers; it was refused.
    ConsoleRefused {
        /// The id of the process.
        pid: u32,
        /// The name of its program, as the system keeps it.
        program: String,
        /// What it asked for: the method and the path.
        request: String,
    },
    /// A tool of a server is not what it was when the run saw it first.
    ToolChanged(ToolChange),
    /// A person takes a tool of a server as it is now.
    ToolAccepted {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Digest of its definition.
        digest: Digest,
        /// Name of whoever did it.
        by: String,
    },
    /// A person has said whether what the project widens counts.
    TrustDecided {
        /// The project's root.
        project: String,
        /// `trust`, `this_time`, `no`.
        word: String,
        /// Digest of what it widens.
        digest: Digest,
        /// Name of whoever did it.
        by: String,
    },
    /// The run stands still.
    RunPaused {
        /// Name of whoever asked.
        by: String,
        /// The reason given.
        reason: Option<String>,
    },
    /// The run goes on.
    RunResumed {
        /// Name of whoever asked.
        by: String,
    },
    /// The run was ended by a person.
    RunCancelled {
        /// Name of whoever did it.
        by: String,
    },
    /// The run ended; its name is `RunCompleted` or `RunFailed`.
    RunEnded {
        /// Outcome.
        outcome: Outcome,
        /// The first cause of a failure, when no final state was reached.
        cause: Option<Cause>,
    },
}
