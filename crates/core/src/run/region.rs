//! Frames below another: branches, regions of items, and called machines.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frame::Frame;
use crate::{
    machine::Object,
    names::StateName,
    parts::{Cause, RegionOutcome},
};

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

const fn is_none_said(count: &usize) -> bool {
    *count == 0
}
