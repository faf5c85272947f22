//! The run: the value that events fold to.
//!
//! Bounded in memory: counters and the evidence that some guard names, never
//! the history.

mod frame;
mod kind;
mod region;
mod request;
mod stay;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use interlock_expr::text::Places;
use serde::{Deserialize, Serialize};

use crate::{
    attempt::Usage,
    call::WrittenPath,
    dialogue::RunInput,
    machine::{ModeRules, Outcome},
    names::{AgentId, ApprovalId, CallId, Digest, FramePath, RunId, StateName},
    parts::{CallMarks, Cause, ProbedCommand, ProtectedChange, ToolChange},
    substance::{Checked, FrozenChange, ReportBaseline, ReportRead},
};

pub use frame::{BeforeOutput, Frame, Handling, Line};
pub use kind::{DurableRun, RunKind};
pub use region::{Met, Region, RegionEnd};
pub use request::{Granted, Request, Settled, Settlement};
pub use stay::{Entry, Items, Progress, Running, RunningAt, Stay, Used};

/// One execution of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Events folded so far; the next event has this sequence number.
    pub seq: u64,
    /// Whether the run goes on.
    pub phase: Phase,
    /// Who paused the run, and why.
    pub paused: Option<Pause>,
    /// The outermost line of execution.
    pub root: Frame,
    /// Who does its work.
    #[serde(default, skip_serializing_if = "RunKind::is_guarded")]
    pub kind: RunKind,
    /// Content hash of the version that a person moved the run to; `None`: the one it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<String>,
    /// States entered so far, where the machine is durable.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entered: u64,
    /// Times that the agent was kept from ending its work since the last transition.
    #[serde(default, skip_serializing_if = "is_none")]
    pub finish_refusals: u32,
    /// What was seen, by the evidence guard's key.
    pub evidence: BTreeMap<String, Seen>,
    /// The reports that later ones are compared with, by the evidence guard's key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baselines: BTreeMap<String, ReportBaseline>,
    /// Sequence number of the last yes by which a person took frozen files and tests as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<u64>,
    /// How frozen files differ, as was seen last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<FrozenChange>,
    /// Sequence number of the last allowed write.
    pub last_write: Option<u64>,
    /// Allowed calls whose outcome is not known yet, oldest first.
    pub calls: VecDeque<OpenCall>,
    /// The branch each sub-agent works in.
    pub agents: BTreeMap<AgentId, FramePath>,
    /// Sub-agents that have stopped; what they left is free for others.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub away: BTreeSet<AgentId>,
    /// Requests that no frame stands still for, about calls or in clients' own prompts, oldest first;
    /// a yes to a call stays until it is used up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
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
    /// Keys of calls that a person let pass for the rest of the run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keys: BTreeSet<String>,
    /// Attempts of stages so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executions: u64,
    /// What calls of models have cost so far.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent: Usage,
}

/// A changed tool of a server as a person has accepted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedTool {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Digest of its definition.
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
        /// Outcome.
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
    /// Name of whoever asked.
    pub by: String,
    /// The reason given.
    pub reason: Option<String>,
}

/// What was seen of one evidence guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Sequence number of the verdict that let the call begin.
    pub begun_seq: u64,
    /// The exit code, 0 for a tool that succeeded; `None`: not known.
    pub exit: Option<i64>,
    /// Whether it began after all that its own call may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_writes: bool,
    /// Sequence number of its call's end, where nothing else wrote meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_seq: Option<u64>,
    /// What was read of its report; `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportRead>,
    /// How frozen files differed when it ran; `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Vec<FrozenChange>>,
}

impl Seen {
    /// Tells whether an edit came later, but for those of its own call that it comes after.
    #[must_use]
    pub fn is_before_an_edit(&self, run: &Run) -> bool {
        let is_own = |edit: u64| {
            self.after_writes && (self.begun_seq == edit || self.ended_seq == Some(edit))
        };
        run.last_write
            .is_some_and(|edit| self.begun_seq <= edit && !is_own(edit))
    }
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
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// What follows from the call.
    pub marks: CallMarks,
    /// What `interlock exec` says of its line; `None`: it did not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<ShellLine>,
    /// Whether the client has told of its end while its line goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// Whether it was taken for ended, so that its true end may still come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Whether another call that may write ran at the same time, so that a report may be of that one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlapped: bool,
}

impl OpenCall {
    /// Tells whether `interlock exec` has told how its line ended.
    #[must_use]
    pub fn line_has_ended(&self) -> bool {
        self.line
            .as_ref()
            .is_some_and(|line| line.ended_seq.is_some())
    }

    /// Tells whether it runs, as far as is known, and what it does may still be to come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.asked && !self.assumed && !self.line_has_ended()
    }
}

/// What `interlock exec` says of the line of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellLine {
    /// Its exit code; `None`: not ended, or no evidence.
    pub exit: Option<i64>,
    /// Paths it was seen to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<WrittenPath>,
    /// How its commands were seen to end, each by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<ProbedCommand>,
    /// Whether it may have written more than `wrote` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// What else was seen of it.
    #[serde(default, skip_serializing_if = "Checked::is_nothing")]
    pub checked: Checked,
    /// Whether its end settles what its call proves, whatever its client says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settles: bool,
    /// Sequence number of its end, where that settles its call; `None`: it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_seq: Option<u64>,
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
            kind: RunKind::Guarded,
            adopted: None,
            entered: 0,
            finish_refusals: 0,
            evidence: BTreeMap::new(),
            baselines: BTreeMap::new(),
            approved: None,
            frozen: Vec::new(),
            last_write: None,
            calls: VecDeque::new(),
            agents: BTreeMap::new(),
            away: BTreeSet::new(),
            requests: Vec::new(),
            settled: VecDeque::new(),
            confined: None,
            changed: Vec::new(),
            accepted: BTreeMap::new(),
            tools_changed: Vec::new(),
            tools_accepted: Vec::new(),
            keys: BTreeSet::new(),
            executions: 0,
            spent: Usage::default(),
        }
    }

    /// Returns what the run was begun with, where Interlock carries it out itself.
    #[must_use]
    pub fn durable(&self) -> Option<&DurableRun> {
        match &self.kind {
            RunKind::Durable(durable) => Some(durable),
            RunKind::Guarded => None,
        }
    }

    /// Tells whether Interlock carries the run out itself.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        !self.kind.is_guarded()
    }

    /// Returns the folders that texts of the workflow name.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.durable().map(|durable| &durable.places)
    }

    /// Returns what becomes of calls in stages that list no tools; `None`: as the machine says.
    #[must_use]
    pub fn mode(&self) -> Option<&ModeRules> {
        self.durable()?.mode.as_ref()
    }

    /// Returns what a person began the conversation with.
    #[must_use]
    pub fn input(&self) -> Option<&RunInput> {
        self.durable()?.input.as_ref()
    }

    /// Tells whether nothing was written since the run's start or the last approval.
    ///
    /// Only then a report shows how the tests were there.
    #[must_use]
    pub fn takes_baseline(&self) -> bool {
        self.last_write <= self.approved
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
                .regions
                .iter()
                .find(|region| region.name == *name)
                .map(|region| &region.frame)
        })
    }

    /// Returns the frame at `path`, to be changed.
    pub(crate) fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        path.names().iter().try_fold(&mut self.root, |frame, name| {
            frame
                .regions
                .iter_mut()
                .find(|region| region.name == *name)
                .map(|region| &mut Arc::make_mut(region).frame)
        })
    }

    /// Finds the open request with this id: the one that the frame at `path` stands still for, or another.
    #[must_use]
    pub fn request(&self, path: &FramePath, id: &ApprovalId) -> Option<&Request> {
        let own = self.frame(path).and_then(|frame| frame.stay.request());
        own.into_iter()
            .chain(&self.requests)
            .find(|request| request.id() == *id)
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

fn collect_leaves(frame: &Frame, path: &FramePath, leaves: &mut Vec<FramePath>) {
    if frame.regions.is_empty() {
        leaves.push(path.clone());
        return;
    }
    for region in frame.regions.iter().filter(|region| region.is_open()) {
        collect_leaves(&region.frame, &path.child(&region.name), leaves);
    }
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}
