//! The stay of a frame in a state: what lives from the entry of the state until it is left.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{frame::Frame, request::Request};
use crate::{
    attempt::StageAttempt,
    defaults::{is_default, is_zero},
    machine::EffectKind,
    names::StateName,
    parts::{About, Cause, PendingTransition},
};

/// Data that lives as long as a frame stays in a state; entering a state starts afresh.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stay {
    /// Sequence number of the state's entry.
    pub entered_seq: u64,
    /// Time of the state's entry, in milliseconds since 1970.
    pub entered_ms: u64,
    /// Usage counted against the limits of the state.
    pub used: Used,
    /// Request that the frame waits for: about a transition, or before the state begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Request>>,
    /// How far the entry of the state has come.
    #[serde(default, skip_serializing_if = "is_default")]
    pub entry: Entry,
    /// What is under way for the state.
    #[serde(default, skip_serializing_if = "is_default")]
    pub progress: Progress,
    /// The frame before its regions of items joined, as long as a person may change the output of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_join: Option<Box<Frame>>,
    /// Failure of the state's own activity, for guards that read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Cause>,
    /// Note of the last person who rejected a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Stay {
    /// Makes the stay that begins when a state is entered.
    #[must_use]
    pub fn begun(entered_seq: u64, entered_ms: u64) -> Self {
        Self {
            entered_seq,
            entered_ms,
            ..Self::default()
        }
    }

    /// Returns whether the state waits for other regions before it begins.
    #[must_use]
    pub fn waits_at_join(&self) -> bool {
        self.entry == Entry::WaitingAtJoin
    }

    /// Returns the effect under way for the state.
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

    /// Returns the effect under way for the state mutably.
    pub fn effect_mut(&mut self) -> Option<&mut Running> {
        match &mut self.progress {
            Progress::Effect(effect) => Some(effect),
            Progress::None | Progress::Items(_) | Progress::Branches(_) => None,
        }
    }

    /// Ends the effect under way for the state and returns it.
    pub fn take_effect(&mut self) -> Option<Running> {
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

    /// Returns the items that a machine runs for mutably.
    pub fn items_mut(&mut self) -> Option<&mut Items> {
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

    /// Returns the attempt of a model stage that is under way mutably.
    pub fn stage_attempt_mut(&mut self) -> Option<&mut StageAttempt> {
        self.effect_mut()?.stage.as_deref_mut()
    }

    /// Returns the request that the frame waits for.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        self.request.as_deref()
    }

    /// Returns the transition that waits for a person.
    #[must_use]
    pub fn pending_transition(&self) -> Option<&PendingTransition> {
        self.request()?.transition()
    }

    /// Returns the request that has to be approved before the state begins.
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
    /// Only an open [`Stay::request`] can keep the state from beginning.
    #[default]
    Open,
    /// The state waits for other regions before it begins.
    WaitingAtJoin,
    /// A person has approved the entry.
    Admitted,
}

/// What is under way for a state while a frame stays in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Nothing: the state has not begun, or it waits for a command.
    #[default]
    None,
    /// An effect is under way.
    Effect(Running),
    /// A machine runs for each item in turn.
    Items(Items),
    /// Only the branches that begin with these states are started.
    Branches(Vec<StateName>),
}

/// An effect that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Kind of the effect.
    pub kind: EffectKind,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Input of the effect.
    pub input: Arc<Value>,
    /// Absolute path of the file that the output is written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Status of the attempt.
    pub at: RunningAt,
    /// Start of the first attempt, in milliseconds since 1970; for one that was interrupted, its restart.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since_ms: u64,
    /// Why the previous attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Progress of the attempt, if it is one of a model stage that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Box<StageAttempt>>,
}

/// Status of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunningAt {
    /// A runner carries it out.
    Started,
    /// The next attempt begins at this time, in milliseconds since 1970.
    Waiting(u64),
    /// The runner that carried it out is gone.
    Lost,
}

/// Items that a machine runs for, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// All items.
    pub all: Arc<Vec<String>>,
    /// Number of items that have ended.
    pub ended: u64,
    /// Number of items that have failed.
    pub failed: u64,
    /// Values that the keys of item and number had outside the loop.
    #[serde(default)]
    pub hidden: Vec<(String, Option<Value>)>,
}

/// Usage since a state was entered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Number of allowed calls.
    pub calls: u64,
    /// Distinct files written.
    pub files: BTreeSet<String>,
    /// Total bytes of results.
    pub bytes: u64,
}
