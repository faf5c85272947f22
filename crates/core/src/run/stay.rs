//! The stay of a frame in a state: what lives from the entry of the state until it is left.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{frame::Frame, request::Request};
use crate::{
    attempt::StageAttempt,
    machine::EffectKind,
    names::StateName,
    parts::{About, Cause, PendingTransition},
};

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

fn is_zero(count: &u64) -> bool {
    *count == 0
}
