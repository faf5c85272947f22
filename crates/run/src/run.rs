//! The run: the value that events fold to.
//!
//! Its memory is bounded: it holds counters and the evidence that guards name, never the history.

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
    defaults::{is_default, is_zero},
    dialogue::RunInput,
    machine::{ModeRules, Outcome},
    names::{AgentId, ApprovalId, CallId, Digest, FramePath, RunId},
    parts::{CallMarks, Cause, ProbedCommand, ProtectedChange, ToolChange},
    substance::{Checked, FrozenChange, ReportBaseline, ReportRead},
};

pub use frame::{BeforeOutput, Frame, Handling, Line};
pub use kind::{DurableRun, RunKind};
pub use region::{Region, RegionBefore, RegionEnd};
pub use request::{Granted, Request, Settled, Settlement};
pub use stay::{Entry, Items, Progress, Running, RunningAt, Stay, Used};

/// One execution of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Id of the run.
    pub id: RunId,
    /// Number of events folded so far, which is the sequence number of the next one.
    pub seq: u64,
    /// Whether the run has not begun, is open or has ended.
    pub phase: Phase,
    /// Who paused the run, and why.
    pub paused: Option<Pause>,
    /// Frame at the root of the tree.
    pub root: Frame,
    /// Who does the work of the run.
    #[serde(default, skip_serializing_if = "RunKind::is_guarded")]
    pub kind: RunKind,
    /// Content hash of the version that a person moved the run to; `None`: the one it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<String>,
    /// States entered so far, where the machine is durable.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entered: u64,
    /// Number of times the agent was stopped from finishing since the last transition.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub finish_refusals: u32,
    /// Evidence seen so far, by the key of the evidence guard.
    pub evidence: BTreeMap<String, Seen>,
    /// Baseline reports that later reports are compared with, by the key of the evidence guard.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baselines: BTreeMap<String, ReportBaseline>,
    /// Sequence number of the last approval that accepted frozen files and tests as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<u64>,
    /// Differences of frozen files, as last seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<FrozenChange>,
    /// Sequence number of the last allowed write.
    pub last_write: Option<u64>,
    /// Allowed calls whose outcome is not known yet, oldest first.
    pub calls: VecDeque<OpenCall>,
    /// Path of the branch that each sub-agent works in.
    pub agents: BTreeMap<AgentId, FramePath>,
    /// Sub-agents that have stopped; their branches are free for others.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub away: BTreeSet<AgentId>,
    /// Requests that no frame waits for: about calls, or asked in a client's own prompt. Oldest first;
    /// the approval of a call stays until the call uses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// Outcomes of the last requests to a person, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub settled: VecDeque<Settled>,
    /// How far the kernel confined the shell line started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    /// Newest report of each protected thing that changed and that no person has accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ProtectedChange>,
    /// Digests of protected things that a person has accepted, by path; `None`: a missing file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted: BTreeMap<String, Option<String>>,
    /// Newest report of each server tool that changed and that no person has accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_changed: Vec<ToolChange>,
    /// Changed tools that a person has accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_accepted: Vec<AcceptedTool>,
    /// Keys of calls that a person has allowed for the rest of the run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keys: BTreeSet<String>,
    /// Number of stage attempts so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub executions: u64,
    /// Tokens and money spent on models so far.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spent: Usage,
}

/// A changed server tool that a person has accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedTool {
    /// Name of the server.
    pub server: String,
    /// Name of the tool.
    pub tool: String,
    /// Digest of the accepted definition.
    pub digest: Digest,
}

/// How far the kernel confined a shell line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// Confinement level reached.
    pub level: String,
    /// Parts of the plan that the system could not enforce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfined: Vec<String>,
}

/// Whether a run has not begun, is open or has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The run has not begun.
    #[default]
    New,
    /// The run is open.
    Open,
    /// The machine reached a final state, or failed.
    Ended {
        /// Outcome of the run.
        outcome: Outcome,
        /// The first cause of a failure.
        cause: Option<Cause>,
    },
    /// A person cancelled the run.
    Cancelled,
}

/// Why a run is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Name of whoever paused it.
    pub by: String,
    /// The reason given.
    pub reason: Option<String>,
}

/// The evidence seen for one evidence guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Sequence number of the verdict that allowed the call.
    pub begun_seq: u64,
    /// Exit code, 0 for a tool that succeeded; `None`: unknown.
    pub exit: Option<i64>,
    /// Whether the evidence began after everything its own call may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_writes: bool,
    /// Sequence number of the end of the call, if nothing else wrote meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_seq: Option<u64>,
    /// What its report says; `None`: the report was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportRead>,
    /// Differences of frozen files when it ran; `None`: they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Vec<FrozenChange>>,
}

impl Seen {
    /// Returns whether a later edit makes the evidence stale; edits of its own call that preceded it do not.
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
    /// Id of the call.
    pub id: CallId,
    /// Path of the frame that the call counts in.
    pub path: FramePath,
    /// Sequence number of that frame's state entry.
    pub entered_seq: u64,
    /// Sequence number of the verdict.
    pub begun_seq: u64,
    /// Whether the call waits for a person's grant.
    pub asked: bool,
    /// Digest of the tool's name and arguments.
    pub digest: Digest,
    /// Consequences of the call once it runs.
    pub marks: CallMarks,
    /// What `interlock exec` reported of the shell line; `None`: it did not start one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<ShellLine>,
    /// Whether the client has reported the end of the call while its line still runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// Whether the end was assumed, so that the real one may still arrive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Whether another call that may write ran at the same time, so that a report may belong to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlapped: bool,
}

impl OpenCall {
    /// Returns whether `interlock exec` has reported how the line ended.
    #[must_use]
    pub fn line_has_ended(&self) -> bool {
        self.line
            .as_ref()
            .is_some_and(|line| line.ended_seq.is_some())
    }

    /// Returns whether the call still runs as far as is known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.asked && !self.assumed && !self.line_has_ended()
    }
}

/// What `interlock exec` reported of the shell line of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellLine {
    /// Exit code; `None`: still running, or no evidence.
    pub exit: Option<i64>,
    /// Paths that the line was seen to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<WrittenPath>,
    /// How each command of the line was seen to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<ProbedCommand>,
    /// Whether the line may have written more than `wrote`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// What else was checked of the line.
    #[serde(default, skip_serializing_if = "Checked::is_nothing")]
    pub checked: Checked,
    /// Whether the end of the line settles what the call proves, whatever the client reports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settles: bool,
    /// Sequence number of the end, if that settles the call; `None`: the line runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_seq: Option<u64>,
}

impl Run {
    /// Makes a run that has not begun.
    #[must_use]
    pub fn new(id: RunId) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Returns what a durable run was started with; `None`: the run is guarded.
    #[must_use]
    pub fn durable(&self) -> Option<&DurableRun> {
        match &self.kind {
            RunKind::Durable(durable) => Some(durable),
            RunKind::Guarded => None,
        }
    }

    /// Returns whether the run is durable: Interlock runs its states itself.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        !self.kind.is_guarded()
    }

    /// Returns the folders that texts of the workflow can name.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.durable().map(|durable| &durable.places)
    }

    /// Returns the rules for calls in stages that list no tools; `None`: those of the machine.
    #[must_use]
    pub fn mode(&self) -> Option<&ModeRules> {
        self.durable()?.mode.as_ref()
    }

    /// Returns the input that the conversation was started with.
    #[must_use]
    pub fn input(&self) -> Option<&RunInput> {
        self.durable()?.input.as_ref()
    }

    /// Returns whether nothing was written since the run's start or the last approval.
    ///
    /// Only then can a report serve as a baseline.
    #[must_use]
    pub fn takes_baseline(&self) -> bool {
        self.last_write <= self.approved
    }

    /// Returns whether the run has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. } | Phase::Cancelled)
    }

    /// Returns the frame at `path`.
    #[must_use]
    pub fn frame(&self, path: &FramePath) -> Option<&Frame> {
        let mut names = path.names().iter();
        names.try_fold(&self.root, |frame, name| Some(&frame.region(name)?.frame))
    }

    /// Returns the frame at `path` mutably.
    pub fn frame_mut(&mut self, path: &FramePath) -> Option<&mut Frame> {
        path.names().iter().try_fold(&mut self.root, |frame, name| {
            frame
                .regions
                .iter_mut()
                .find(|region| region.name == *name)
                .map(|region| &mut Arc::make_mut(region).frame)
        })
    }

    /// Finds the open request with this id: the one that the frame at `path` waits for, or one of the run.
    #[must_use]
    pub fn request(&self, path: &FramePath, id: &ApprovalId) -> Option<&Request> {
        let own = self.frame(path).and_then(|frame| frame.stay.request());
        own.into_iter()
            .chain(&self.requests)
            .find(|request| request.id() == *id)
    }

    /// Returns the paths of all frames that can act now, in the order written.
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
    for region in frame.open_regions() {
        collect_leaves(&region.frame, &path.child(&region.name), leaves);
    }
}
