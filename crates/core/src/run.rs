//! The run: the value that events fold to.
//!
//! Bounded in memory: counters and the evidence that some guard names, never
//! the history.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::WrittenPath,
    dialogue::{Dialogue, Opening},
    event::{
        BranchOutcome, CallMarks, Cause, GrantThen, InterruptHit, ProtectedChange, ToolChange,
    },
    machine::{ModeRules, Object, Outcome},
    names::{
        AgentId, ApprovalId, CallId, Digest, EventName, FramePath, InterruptName, MachineId, RunId,
        StateName,
    },
    stage::{Acting, Usage},
    text::{Caught, Places},
};

/// One execution of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Events folded so far; the next event has this sequence number.
    pub seq: u64,
    /// Whether it goes on.
    pub phase: Phase,
    /// Why and by whom it stands still.
    pub paused: Option<Pause>,
    /// The outermost line of execution.
    pub root: Frame,
    /// The folders that texts name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Arc<Places>>,
    /// Content hash of the version that a person moved the run to; `None`: the one it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<String>,
    /// States entered so far, where the machine is durable.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entered: u64,
    /// What was seen, by the evidence guard's key.
    pub evidence: BTreeMap<String, Seen>,
    /// Sequence number of the last allowed write.
    pub last_write: Option<u64>,
    /// Allowed calls whose outcome is not known yet, oldest first.
    pub calls: VecDeque<OpenCall>,
    /// The branch each sub-agent works in.
    pub agents: BTreeMap<AgentId, FramePath>,
    /// Sub-agents that have stopped; what they left is free for others.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub away: BTreeSet<AgentId>,
    /// Requests for grants, and grants not used yet.
    pub grants: Vec<Grant>,
    /// What became of the last requests to a person, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub settled: VecDeque<Settled>,
    /// How far the kernel held the line started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    /// Protected things that changed and that no person has accepted, the newest report of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ProtectedChange>,
    /// What a person has accepted of them: the digest by path, `None` for nothing there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted: BTreeMap<String, Option<String>>,
    /// Tools of servers that changed and that no person has accepted, the newest report of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_changed: Vec<ToolChange>,
    /// What a person has accepted of them: each with the digest of its definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_accepted: Vec<AcceptedTool>,
    /// What becomes of calls in stages that list no tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeRules>,
    /// Keys of calls that a person let pass for the rest of the run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keys: BTreeSet<String>,
    /// Attempts of stages so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executions: u64,
    /// What calls of models have cost so far.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent: Usage,
    /// What a person began the conversation with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Arc<Opening>>,
}

/// A changed tool of a server as a person has accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedTool {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Of its definition.
    pub digest: Digest,
}

/// How far the kernel held a shell line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// The level reached.
    pub level: String,
    /// What the line's plan wanted and the system did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_held: Vec<String>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not begun.
    New,
    /// Going on.
    Open,
    /// Ended by its machine.
    Ended {
        /// How.
        outcome: Outcome,
        /// The first cause of a failure.
        cause: Option<Cause>,
    },
    /// Ended by a person.
    Cancelled,
}

/// Why a run stands still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// One line of execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Key of the called machine it runs in; `None`: the caller's own.
    pub machine: Option<MachineId>,
    /// The current state.
    pub at: StateName,
    /// Its own copy of the context.
    pub context: Arc<Object>,
    /// What has been used up since the state was entered.
    pub used: Used,
    /// Sequence number of the state's entry.
    pub entered_seq: u64,
    /// Time of the state's entry, in milliseconds since 1970.
    pub entered_ms: u64,
    /// The transition that waits for a person.
    pub parked: Option<Parked>,
    /// The interrupt being handled.
    pub handling: Option<Handling>,
    /// Matches kept for later, oldest first.
    pub queue: VecDeque<InterruptHit>,
    /// The output of the state's own activity, for guards that read it.
    pub output: Arc<Value>,
    /// Why the state's own activity failed, for guards that read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Cause>,
    /// What the last person who said no had to say.
    pub note: Option<String>,
    /// What is carried out for the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Running>,
    /// The attempt of a model stage that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acting: Option<Box<Acting>>,
    /// What a person is asked before the state begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Whether a person has let the state begin.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub let_in: bool,
    /// Whether it waits for other lines before its state begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gathering: bool,
    /// The branches of its fork that are opened; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<StateName>,
    /// What its line carries along beside the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Arc<Dialogue>>,
    /// What the line was before its last output, while a person may change that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<BeforeOutput>>,
    /// What it was before its lines of items joined, while a person may change what one of them put out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_join: Option<Box<Frame>>,
    /// Context keys that its line has appended to since it began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
    /// Context keys that its line has removed since it began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
    /// States that its line has entered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// The items that a machine runs for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    /// The error that was handled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<Arc<Caught>>,
    /// Context keys that outputs went to since the frame began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub captured: BTreeSet<String>,
    /// Branches, or the called machine, in the order written.
    ///
    /// A copy of a run has those in common with it that neither changes.
    pub children: Vec<Arc<Child>>,
}

/// What a line was before the last output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeforeOutput {
    /// The state that put it out.
    pub state: StateName,
    /// States that the line had entered, that one included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// The context.
    pub context: Arc<Object>,
    /// What the line carries along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Arc<Dialogue>>,
    /// As in [`Frame`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub captured: BTreeSet<String>,
    /// As in [`Frame`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
    /// As in [`Frame`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
}

/// What is carried out for a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// What kind of work it is.
    pub kind: String,
    /// Which try, from 1.
    pub attempt: u32,
    /// What it is given.
    pub input: Arc<Value>,
    /// The file that its output goes to, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where it stands.
    pub at: RunningAt,
    /// When its first try began, in milliseconds since 1970; of one that was cut off, when it began again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since_ms: u64,
    /// Why the try before came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningAt {
    /// Somebody carries it out.
    Started,
    /// The next try begins at this time, in milliseconds since 1970.
    Waiting(u64),
    /// Who carried it out is gone.
    Lost,
}

/// The items that a machine runs for, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// Each line.
    pub all: Arc<Vec<String>>,
    /// Items that ended.
    pub ended: u64,
    /// Items that failed.
    pub failed: u64,
    /// What the keys of item and number held outside of the loop.
    #[serde(default)]
    pub hidden: Vec<(String, Option<Value>)>,
}

/// What has been used up since a state was entered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Allowed calls.
    pub calls: u64,
    /// Distinct files written.
    pub files: BTreeSet<String>,
    /// Bytes of results.
    pub bytes: u64,
}

/// A transition that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    /// The event.
    pub event: EventName,
    /// Which of its transitions.
    pub index: usize,
    /// What the agent wants merged.
    pub data: Object,
    /// What the person is asked.
    pub message: String,
    /// Who asked for the transition.
    pub by: String,
    /// When it was asked and what the answer rests on; `None` in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// What a person is asked before a state begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What the person is asked.
    pub message: String,
    /// When, and what the answer rests on.
    pub asked: Asked,
}

/// When a person was asked, and what the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Sequence number of the request.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Of all that the answer rests on.
    pub question: Digest,
}

impl Asked {
    /// Returns the id of what was asked.
    #[must_use]
    pub fn id(&self) -> ApprovalId {
        ApprovalId::of(self.seq)
    }
}

/// A request to a person that is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Which.
    pub id: ApprovalId,
    /// The frame that asked.
    pub path: FramePath,
    /// When that frame had entered its state.
    pub entered_seq: u64,
    /// The event or the tool it was about.
    pub about: String,
    /// How it was settled.
    pub how: Settlement,
    /// Who answered; `None`: nobody, it is void.
    pub by: Option<String>,
    /// When, in milliseconds since 1970, where the log says.
    pub at_ms: Option<u64>,
    /// What the person said, or why it is void.
    pub note: Option<String>,
}

/// How a request to a person was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// With a yes.
    Approved,
    /// With a no.
    Rejected,
    /// It was void before anybody answered.
    Void,
}

/// An interrupt being handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handling {
    /// The interrupt.
    pub interrupt: InterruptName,
    /// The file that matched.
    pub file: String,
    /// The state to return to.
    pub return_to: StateName,
}

/// A frame below another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Child {
    /// The branch, or the called machine's id.
    pub name: String,
    /// Its frame.
    pub frame: Frame,
    /// How it ended; `None`: still open.
    pub ended: Option<BranchOutcome>,
    /// The first cause of a failure.
    pub cause: Option<Cause>,
    /// The context that it began with; `None`: that of the frame above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<Object>>,
    /// Messages of its conversation that it shares with the lines that began with it; 0: those of the frame above it.
    #[serde(default, skip_serializing_if = "is_none_said")]
    pub shared: usize,
    /// Where the line of an item would lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<StateName>,
    /// Where else, where it ended as several lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<StateName>,
    /// What it was before it met others, while a person may part them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Box<Met>>,
}

/// What a line was before it met others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// The line.
    pub frame: Frame,
    /// The context that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<Object>>,
    /// The names of the others.
    pub others: Vec<String>,
}

/// What was seen of one evidence guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Sequence number of the verdict that let the call begin.
    pub begun_seq: u64,
    /// The exit code, 0 for a tool that succeeded; `None`: not known.
    pub exit: Option<i64>,
}

/// An allowed call whose outcome is not known yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call.
    pub id: CallId,
    /// The frame it counts in.
    pub path: FramePath,
    /// When that frame had entered its state.
    pub entered_seq: u64,
    /// Sequence number of its verdict.
    pub begun_seq: u64,
    /// Whether it waits for a person's grant.
    pub asked: bool,
    /// Of its name and arguments.
    pub digest: Digest,
    /// What follows from it.
    pub marks: CallMarks,
    /// What `interlock exec` says of its line; `None`: it did not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
}

/// What `interlock exec` says of the line of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its exit code; `None`: not ended, or no evidence.
    pub exit: Option<i64>,
    /// Paths it was seen to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<WrittenPath>,
}

/// A request for a grant, or a grant not used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The frame.
    pub path: FramePath,
    /// When that frame had entered its state; a grant ends with the stay.
    pub entered_seq: u64,
    /// Exactly which call.
    pub digest: Digest,
    /// The tool, for people.
    pub tool: String,
    /// The arguments, for people.
    pub summary: String,
    /// Who said yes; `None`: nobody yet.
    pub granted_by: Option<String>,
    /// When it was asked; `None` in logs that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The sub-agent that asked; nobody else may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Sequence number of the yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_seq: Option<u64>,
    /// The call of a stage that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What a yes leads to in a stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<GrantThen>,
}

impl Run {
    /// Makes a run that has not begun.
    #[must_use]
    pub fn new(id: RunId) -> Self {
        Self {
            id,
            seq: 0,
            phase: Phase::New,
            paused: None,
            root: Frame::entering(None, StateName::new(""), Arc::default(), 0, 0),
            places: None,
            adopted: None,
            entered: 0,
            evidence: BTreeMap::new(),
            last_write: None,
            calls: VecDeque::new(),
            agents: BTreeMap::new(),
            away: BTreeSet::new(),
            grants: Vec::new(),
            settled: VecDeque::new(),
            confined: None,
            changed: Vec::new(),
            accepted: BTreeMap::new(),
            tools_changed: Vec::new(),
            tools_accepted: Vec::new(),
            mode: None,
            keys: BTreeSet::new(),
            executions: 0,
            spent: Usage::default(),
            opening: None,
        }
    }

    /// Tells whether the run has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. } | Phase::Cancelled)
    }

    /// Returns the frame at `path`.
    #[must_use]
    pub fn frame(&self, path: &FramePath) -> Option<&Frame> {
        path.names().iter().try_fold(&self.root, |frame, name| {
            frame
                .children
                .iter()
                .find(|child| child.name == *name)
                .map(|child| &child.frame)
        })
    }

    /// Returns the frame at `path`, to be changed.
    pub(crate) fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        path.names().iter().try_fold(&mut self.root, |frame, name| {
            frame
                .children
                .iter_mut()
                .find(|child| child.name == *name)
                .map(|child| &mut Arc::make_mut(child).frame)
        })
    }

    /// Returns the path of every frame that can act now, in the order written.
    #[must_use]
    pub fn open_leaves(&self) -> Vec<FramePath> {
        let mut leaves = Vec::new();
        if self.phase == Phase::Open {
            collect_leaves(&self.root, &FramePath::root(), &mut leaves);
        }
        leaves
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

const fn is_none_said(count: &usize) -> bool {
    *count == 0
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}

fn collect_leaves(frame: &Frame, path: &FramePath, leaves: &mut Vec<FramePath>) {
    if frame.children.is_empty() {
        leaves.push(path.clone());
        return;
    }
    for child in frame.children.iter().filter(|child| child.ended.is_none()) {
        collect_leaves(&child.frame, &path.child(&child.name), leaves);
    }
}

impl Frame {
    /// Makes a frame that has just entered `at`.
    #[must_use]
    pub fn entering(
        machine: Option<MachineId>,
        at: StateName,
        context: Arc<Object>,
        entered_seq: u64,
        entered_ms: u64,
    ) -> Self {
        Self {
            machine,
            at,
            context,
            used: Used::default(),
            entered_seq,
            entered_ms,
            parked: None,
            handling: None,
            queue: VecDeque::new(),
            output: Arc::default(),
            failure: None,
            effect: None,
            acting: None,
            held: None,
            let_in: false,
            gathering: false,
            exits: Vec::new(),
            dialogue: None,
            before: None,
            before_join: None,
            appended: BTreeSet::new(),
            removed: BTreeSet::new(),
            steps: 0,
            items: None,
            caught: None,
            captured: BTreeSet::new(),
            note: None,
            children: Vec::new(),
        }
    }
}
