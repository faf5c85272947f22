//! What a run looks like from outside: where it stands and what it allows.
//!
//! One shape for `simulate`, `status` and every tool that reports; its key
//! order is part of the contract. Judges nothing.

mod events;
mod evidence;
mod meaning;
mod standing;
mod states;

use interlock_core::{
    asks,
    command::{Effect, EffectStatus},
    effects,
    machine::{Activity, Machine, Object, Outcome},
    names::FramePath,
    place::{self, machine_of},
    policy::Policy,
    run::{Frame, Phase, Run, RunningAt},
};
use serde::{
    Deserialize, Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

pub use events::{EventReport, Targets};
pub use evidence::{EvidenceLine, evidence};
pub use meaning::{Basis, Meaning, meaning, moves};
pub use standing::{Standing, StandsFor, standing};
pub use states::{StatePaths, state_paths};

pub(crate) use events::{guards_hold, resolved, ways_on};

/// Where a run stands and what it allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The path of every open state.
    pub state: StatePaths,
    /// Whether the run goes on, and if not, why.
    pub status: Status,
    /// The context of the frame in focus.
    pub context: Object,
    /// The tools that pass there; `None`: no restriction.
    pub tools: Option<Vec<String>>,
    /// Where each event leads from there.
    pub events: Vec<EventReport>,
    /// What has been used of each limit there.
    pub limits: LimitsReport,
    /// What should be running now, in any frame.
    pub effects: Vec<Effect>,
}

/// Whether a run goes on, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Somebody can act.
    Running,
    /// Only a person's yes or no leads on.
    AwaitingApproval,
    /// It was told to stand still.
    Paused,
    /// Only time or an answer leads on.
    Waiting,
    /// It ended as hoped.
    Completed,
    /// It ended otherwise.
    Failed,
    /// A person ended it.
    Cancelled,
}

impl Status {
    /// Returns the word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Used and limit of everything a state bounds; only what is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LimitsReport {
    /// Allowed calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<[u64; 2]>,
    /// Distinct files written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<[u64; 2]>,
    /// Bytes of results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[u64; 2]>,
}

/// Reports where `run` stands, seen from `focus`.
///
/// Without a focus, or with one that is not open any more, the first
/// unfinished branch is shown.
#[must_use]
pub fn report(machine: &Machine, run: &Run, focus: Option<&FramePath>) -> Report {
    let path = place::focus(run, focus);
    let frame = run.frame(&path).unwrap_or(&run.root);
    let here = machine_of(machine, run, &path);
    let policy = here
        .and_then(|own| own.states.get(&frame.at))
        .filter(|_| !run.is_over())
        .map(|state| &state.policy);
    Report {
        state: state_paths(machine, run),
        status: status(machine, run),
        context: frame.line.context.as_ref().clone(),
        tools: policy.and_then(allowed_tools),
        events: events::events(machine, run, &path),
        limits: policy.map_or_else(LimitsReport::default, |policy| limits(policy, frame)),
        effects: effects(machine, run),
    }
}

/// Returns the status of `run`: whether it goes on, and if not, why.
#[must_use]
pub fn status(machine: &Machine, run: &Run) -> Status {
    match &run.phase {
        Phase::Cancelled => Status::Cancelled,
        Phase::Ended {
            outcome: Outcome::Success,
            ..
        } => Status::Completed,
        Phase::Ended {
            outcome: Outcome::Failure,
            ..
        } => Status::Failed,
        Phase::New | Phase::Open if run.paused.is_some() => Status::Paused,
        Phase::New => Status::Running,
        Phase::Open => open_status(machine, run),
    }
}

fn open_status(machine: &Machine, run: &Run) -> Status {
    let mut parked = false;
    let mut waiting = false;
    for path in run.open_leaves() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        if frame.stay.request.is_some() || asks(frame) {
            parked = true;
        } else if waits(machine, run, &path, frame) {
            waiting = true;
        } else {
            return Status::Running;
        }
    }
    match (parked, waiting) {
        (true, _) => Status::AwaitingApproval,
        (false, true) => Status::Waiting,
        (false, false) => Status::Running,
    }
}

/// Returns whether only time or a person's answer leads `frame` on.
fn waits(machine: &Machine, run: &Run, path: &FramePath, frame: &Frame) -> bool {
    let stands = frame
        .stay
        .effect()
        .is_some_and(|effect| effect.at != RunningAt::Started);
    let state = machine_of(machine, run, path).and_then(|own| own.states.get(&frame.at));
    stands
        || state.is_some_and(|state| {
            matches!(
                state.activity,
                Activity::Wait { .. } | Activity::Ask(_) | Activity::Pause(_)
            )
        })
}

/// Returns the tools that pass, as written, less those that are disallowed.
fn allowed_tools(policy: &Policy) -> Option<Vec<String>> {
    let listed = policy.allowed_tools.as_ref()?;
    let passes = |tool: &&String| {
        if tool.contains('*') {
            !policy.disallowed_tools.contains(tool)
        } else {
            !policy.disallows(&[tool.as_str()])
        }
    };
    Some(listed.iter().filter(passes).cloned().collect())
}

fn limits(policy: &Policy, frame: &Frame) -> LimitsReport {
    let files = u64::try_from(frame.stay.used.files.len()).unwrap_or(u64::MAX);
    LimitsReport {
        iterations: policy
            .iterations_max
            .map(|max| [frame.stay.used.calls, max]),
        files: policy.files_max.map(|max| [files, max]),
        bytes: policy
            .result_bytes_max
            .map(|max| [frame.stay.used.bytes, max]),
    }
}

impl Report {
    /// Writes the keys of the report into an object being serialised.
    ///
    /// # Errors
    /// Only those of the serialiser.
    pub fn write_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("state", &self.state)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("context", &self.context)?;
        map.serialize_entry("tools", &self.tools)?;
        map.serialize_entry("events", &self.events)?;
        map.serialize_entry("limits", &self.limits)?;
        map.serialize_entry("effects", &Effects(&self.effects))
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_into(&mut map)?;
        map.end()
    }
}

/// Effects in the form of a report.
struct Effects<'a>(&'a [Effect]);

impl Serialize for Effects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for effect in self.0 {
            list.serialize_element(&EffectReport(effect))?;
        }
        list.end()
    }
}

const fn stage_word(status: &EffectStatus) -> &'static str {
    match status {
        EffectStatus::Reading(_) => "reading",
        EffectStatus::Running => "running",
        EffectStatus::Waiting(_) => "waiting",
        EffectStatus::Person => "person",
        EffectStatus::Lost => "lost",
    }
}

/// One effect in the form of a report.
struct EffectReport<'a>(&'a Effect);

impl Serialize for EffectReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Effect {
            id,
            kind,
            path,
            title,
            input,
            attempt,
            status,
            ..
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        map.serialize_entry("kind", &kind.to_string())?;
        map.serialize_entry("path", path)?;
        if let Some(title) = title {
            map.serialize_entry("title", title)?;
        }
        if !input.is_null() {
            map.serialize_entry("input", input)?;
        }
        map.serialize_entry("stage", stage_word(status))?;
        map.serialize_entry("attempt", attempt)?;
        if let EffectStatus::Waiting(until) = status {
            map.serialize_entry("until_ms", until)?;
        }
        map.end()
    }
}

#[cfg(test)]
#[path = "report/tests.rs"]
mod tests;
