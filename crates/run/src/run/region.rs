//! Frames below another: branches, regions of items, and called machines.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::frame::Frame;
use crate::{
    defaults::is_zero,
    machine::Object,
    names::StateName,
    parts::{Cause, RegionOutcome},
};

/// A frame below another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Name of the branch, or id of the called machine.
    pub name: String,
    /// Frame of the region.
    pub frame: Frame,
    /// How the region ended; `None`: it is open.
    pub ended: Option<RegionEnd>,
    /// Context at the start of the region; `None`: that of the frame above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<Object>>,
    /// Number of messages shared with the regions that started with it; 0: those of the frame above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: usize,
    /// The region before it joined others, as long as a person may separate them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_join: Option<Box<RegionBefore>>,
}

/// How a region ended, with what only that end has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionEnd {
    /// It reached the end that counts as success.
    Succeeded {
        /// States that the region of an item leads to; several if it ended as several regions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exits: Vec<StateName>,
    },
    /// It failed, or reached another end, with this cause.
    Failed(Cause),
    /// The join no longer needed it.
    Cancelled,
    /// It failed, and restarts when the fork has room.
    Waiting,
    /// It continues as another region, or as several.
    Merged,
}

impl RegionEnd {
    /// Makes the end recorded in an event; `exits` count for a success only, `cause` for a failure.
    #[must_use]
    pub fn new(outcome: RegionOutcome, exits: &[StateName], cause: Option<&Cause>) -> Self {
        match outcome {
            RegionOutcome::Succeeded => Self::Succeeded {
                exits: exits.to_vec(),
            },
            RegionOutcome::Failed => Self::Failed(cause.cloned().unwrap_or_default()),
            RegionOutcome::Cancelled => Self::Cancelled,
            RegionOutcome::Waiting => Self::Waiting,
            RegionOutcome::Merged => Self::Merged,
        }
    }

    /// Returns the outcome without its details.
    #[must_use]
    pub const fn outcome(&self) -> RegionOutcome {
        match self {
            Self::Succeeded { .. } => RegionOutcome::Succeeded,
            Self::Failed(_) => RegionOutcome::Failed,
            Self::Cancelled => RegionOutcome::Cancelled,
            Self::Waiting => RegionOutcome::Waiting,
            Self::Merged => RegionOutcome::Merged,
        }
    }
}

impl Region {
    /// Returns whether the region is open.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns whether the region ended with `outcome`.
    #[must_use]
    pub fn ended_as(&self, outcome: RegionOutcome) -> bool {
        self.ended
            .as_ref()
            .is_some_and(|end| end.outcome() == outcome)
    }

    /// Returns the states that the region of an item leads to once it has succeeded.
    #[must_use]
    pub fn exits(&self) -> &[StateName] {
        match &self.ended {
            Some(RegionEnd::Succeeded { exits }) => exits,
            _ => &[],
        }
    }

    /// Returns the cause of the failure; `None`: the region has not failed.
    #[must_use]
    pub const fn failure(&self) -> Option<&Cause> {
        match &self.ended {
            Some(RegionEnd::Failed(cause)) => Some(cause),
            _ => None,
        }
    }

    /// Makes a region that has just started.
    #[must_use]
    pub fn open(name: &str, frame: Frame) -> Self {
        Self {
            name: name.to_owned(),
            frame,
            ended: None,
            base: None,
            shared: 0,
            before_join: None,
        }
    }
}

/// A region before it joined others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionBefore {
    /// Frame of the region.
    pub frame: Frame,
    /// Context at the start of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<Object>>,
    /// Names of the other regions.
    pub others: Vec<String>,
}
