//! The lines of execution of a run.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use interlock_expr::text::Caught;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::Request;
use crate::{
    attempt::StageAttempt,
    dialogue::Conversation,
    machine::{EffectKind, Object},
    names::{InterruptName, MachineId, StateName},
    parts::{About, Cause, InterruptHit, PendingTransition, RegionOutcome},
};

/// One line of execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Key of the called machine it runs in; `None`: the caller's own.
    pub machine: Option<MachineId>,
    /// The current state.
    pub at: StateName,
    /// What lives as long as the line.
    pub line: Line,
    /// What the line was before its last output, while a person may change that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<BeforeOutput>>,
    /// What lives as long as the stay in the state.
    pub stay: Stay,
    /// Branches, lines, or the called machine, in the order written.
    ///
    /// A copy of a run has those in common with it that neither changes.
    pub regions: Vec<Arc<Region>>,
}

/// What lives as long as a line of execution, from one state to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its own copy of the context.
    pub context: Arc<Object>,
    /// The output of the last activity, for guards that read it.
    pub output: Arc<Value>,
    /// What it carries along beside the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Arc<Conversation>>,
    /// States that it has entered, where it carries a conversation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// Context keys that outputs went to since it began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub captured: BTreeSet<String>,
    /// Context keys that it has appended to since it began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
    /// Context keys that it has removed since it began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
    /// The error that was handled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<Arc<Caught>>,
    /// The interrupt being handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Matches kept for later, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub queue: VecDeque<InterruptHit>,
}

/// What lives as long as the stay of a frame in a state: entering a state makes it anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    /// Sequence number of the state's entry.
    pub entered_seq: u64,
    /// Time of the state's entry, in milliseconds since 1970.
    pub entered_ms: u64,
    /// What has been used up.
    pub used: Used,
    /// What a person is asked while the frame stands still: about a transition, or before the state begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Request>>,
    /// How far the entry of the state has come.
    #[serde(default, skip_serializing_if = "Entry::is_open")]
    pub entry: Entry,
    /// What the state is at.
    #[serde(default, skip_serializing_if = "Progress::is_none")]
    pub progress: Progress,
    /// What the frame was before its lines of items joined, while a person may change what one of them put out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_join: Option<Box<Frame>>,
    /// Why the state's own activity failed, for guards that read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Cause>,
    /// What the last person who said no had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Stay {
    /// Makes the stay that begins with an entry.
    #[must_use]
    pub fn begun(entered_seq: u64, entered_ms: u64) -> Self {
        Self {
            entered_seq,
            entered_ms,
            ..Self::default()
        }
    }

    /// Tells whether the state waits for other regions before it begins.
    #[must_use]
    pub fn waits_at_join(&self) -> bool {
        self.entry == Entry::WaitingAtJoin
    }

    /// Returns the effect that is carried out for the state.
    #[must_use]
    pub const fn effect(&self) -> Option<&Running> {
        match &self.progress {
            Progress::Effect(effect) => Some(effect),
            Progress::None | Progress::Items(_) | Progress::Branches(_) => None,
        }
    }

    /// Returns the number of the attempt at the state's effect, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.effect().map_or(1, |effect| effect.attempt)
    }

    /// Returns the effect that is carried out for the state, to be changed.
    pub(crate) fn effect_mut(&mut self) -> Option<&mut Running> {
        match &mut self.progress {
            Progress::Effect(effect) => Some(effect),
            Progress::None | Progress::Items(_) | Progress::Branches(_) => None,
        }
    }

    /// Ends the effect that is carried out for the state, and returns it.
    pub(crate) fn take_effect(&mut self) -> Option<Running> {
        match std::mem::take(&mut self.progress) {
            Progress::Effect(effect) => Some(effect),
            other => {
                self.progress = other;
                None
            }
        }
    }

    /// Returns the items that a machine runs for.
    #[must_use]
    pub const fn items(&self) -> Option<&Items> {
        match &self.progress {
            Progress::Items(items) => Some(items),
            Progress::None | Progress::Effect(_) | Progress::Branches(_) => None,
        }
    }

    /// Returns the items that a machine runs for, to be changed.
    pub(crate) fn items_mut(&mut self) -> Option<&mut Items> {
        match &mut self.progress {
            Progress::Items(items) => Some(items),
            Progress::None | Progress::Effect(_) | Progress::Branches(_) => None,
        }
    }

    /// Returns the attempt of a model stage that is under way.
    #[must_use]
    pub fn stage_attempt(&self) -> Option<&StageAttempt> {
        self.effect()?.stage.as_deref()
    }

    /// Returns the attempt of a model stage that is under way, to be changed.
    pub(crate) fn stage_attempt_mut(&mut self) -> Option<&mut StageAttempt> {
        self.effect_mut()?.stage.as_deref_mut()
    }

    /// Returns what a person is asked while the frame stands still.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        self.request.as_deref()
    }

    /// Returns the transition that waits for a person.
    #[must_use]
    pub fn pending_transition(&self) -> Option<&PendingTransition> {
        self.request()?.transition()
    }

    /// Returns what a person is asked before the state begins.
    #[must_use]
    pub fn entry_request(&self) -> Option<&Request> {
        self.request()
            .filter(|request| matches!(request.about, About::Entry { .. }))
    }
}

/// How far the entry of a state has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Nothing keeps the state from beginning but what [`Stay::request`] asks.
    #[default]
    Open,
    /// The state waits for other regions before it begins.
    WaitingAtJoin,
    /// A person has let the state begin.
    Admitted,
}

impl Entry {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

/// What a state is at while a frame stays in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Nothing is carried out: the state has not begun, or it waits for a command.
    #[default]
    None,
    /// An effect is carried out.
    Effect(Running),
    /// A machine runs for one item after the other.
    Items(Items),
    /// Only the branches that begin with these states are opened.
    Branches(Vec<StateName>),
}

impl Progress {
    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// What a line was before the last output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeforeOutput {
    /// The state that put it out.
    pub state: StateName,
    /// The line.
    pub line: Line,
}

/// What is carried out for a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// What kind of work it is.
    pub kind: EffectKind,
    /// Number of the try, from 1.
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
    /// How far the try has come, where it is the attempt of a model stage that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Box<StageAttempt>>,
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
pub struct Region {
    /// The branch, or the called machine's id.
    pub name: String,
    /// Its frame.
    pub frame: Frame,
    /// How it ended; `None`: still open.
    pub ended: Option<RegionEnd>,
    /// The first cause of a failure.
    pub cause: Option<Cause>,
    /// The context that it began with; `None`: that of the frame above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<Object>>,
    /// Messages of its conversation that it shares with the lines that began with it; 0: those of the frame above it.
    #[serde(default, skip_serializing_if = "is_none_said")]
    pub shared: usize,
    /// What it was before it met others, while a person may part them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Box<Met>>,
}

/// How a region ended, with what only that end has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionEnd {
    /// It reached the end that counts as its success.
    Succeeded {
        /// Where the region of an item leads from here; several states where it ended as several regions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exits: Vec<StateName>,
    },
    /// It failed, or reached another end.
    Failed,
    /// The join no longer needed it.
    Cancelled,
    /// It failed and goes on when the fork has room for it.
    Waiting,
    /// It goes on as another region, or as several.
    Merged,
}

impl RegionEnd {
    /// Makes the end that an event tells; only a success leads anywhere.
    #[must_use]
    pub fn new(outcome: RegionOutcome, exits: &[StateName]) -> Self {
        match outcome {
            RegionOutcome::Succeeded => Self::Succeeded {
                exits: exits.to_vec(),
            },
            RegionOutcome::Failed => Self::Failed,
            RegionOutcome::Cancelled => Self::Cancelled,
            RegionOutcome::Waiting => Self::Waiting,
            RegionOutcome::Merged => Self::Merged,
        }
    }

    /// Returns the outcome alone.
    #[must_use]
    pub const fn outcome(&self) -> RegionOutcome {
        match self {
            Self::Succeeded { .. } => RegionOutcome::Succeeded,
            Self::Failed => RegionOutcome::Failed,
            Self::Cancelled => RegionOutcome::Cancelled,
            Self::Waiting => RegionOutcome::Waiting,
            Self::Merged => RegionOutcome::Merged,
        }
    }
}

impl Region {
    /// Tells whether it goes on.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Tells whether it ended with `outcome`.
    #[must_use]
    pub fn ended_as(&self, outcome: RegionOutcome) -> bool {
        self.ended
            .as_ref()
            .is_some_and(|end| end.outcome() == outcome)
    }

    /// Returns where the region of an item that has ended well leads.
    #[must_use]
    pub fn exits(&self) -> &[StateName] {
        match &self.ended {
            Some(RegionEnd::Succeeded { exits }) => exits,
            _ => &[],
        }
    }

    /// Makes a frame below another that has just begun.
    #[must_use]
    pub fn open(name: &str, frame: Frame) -> Self {
        Self {
            name: name.to_owned(),
            frame,
            ended: None,
            cause: None,
            base: None,
            shared: 0,
            met: None,
        }
    }
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
            line: Line {
                context,
                ..Line::default()
            },
            before: None,
            stay: Stay::begun(entered_seq, entered_ms),
            regions: Vec::new(),
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

const fn is_none_said(count: &usize) -> bool {
    *count == 0
}
