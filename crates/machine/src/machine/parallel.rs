//! Parallel regions below a state, which join before the state continues.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{
    defaults::is_default,
    names::{MachineId, StateName},
};

/// Regions below a state, each a frame of its own, which join before the state continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parallel {
    /// What the regions run for.
    pub over: Over,
    /// When the regions join.
    #[serde(default)]
    pub join: Join,
    /// What is merged when they join.
    #[serde(default, skip_serializing_if = "is_default")]
    pub merge: Merge,
    /// Limit of regions that run at the same time, the others following in order; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// What follows if the region of an item fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error: OnItemError,
    /// Code of the failure, which then names the branch; `None`: the branch's own code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_as: Option<String>,
}

impl Parallel {
    /// Makes one region for each branch; they join when all have succeeded.
    #[must_use]
    pub fn branches(branches: IndexMap<String, Branch>) -> Self {
        Self {
            over: Over::Branches(branches),
            join: Join::default(),
            merge: Merge::default(),
            concurrency: None,
            on_error: OnItemError::default(),
            fails_as: None,
        }
    }

    /// Returns whether regions that reach the same state wait for each other there.
    #[must_use]
    pub const fn meets(&self) -> bool {
        matches!((&self.over, self.join), (Over::Branches(_), Join::Converge))
    }

    /// Returns how many regions may run at the same time.
    #[must_use]
    pub fn at_once(&self) -> usize {
        self.concurrency.unwrap_or(usize::MAX).max(1)
    }
}

/// What the regions run for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Named branches, in the order written.
    Branches(IndexMap<String, Branch>),
    /// Items of the previous output, each with a region in the same machine.
    Items(OverItems),
    /// Lines of the previous output, each with a called machine.
    Lines(OverLines),
}

/// A branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// State that the branch starts in.
    pub initial: StateName,
    /// State whose entry counts as success.
    pub terminal: StateName,
}

/// A region for each item of the previous output, from an initial state until each region has ended.
///
/// If a region reaches another state with items, it passes its own item on instead of starting regions
/// for them, unless that state is `nested`. A transition to any other state ends the region, unless the
/// state is [`crate::machine::State::keeps_item`].
///
/// The `error` of this state is raised only if splitting fails; it does not handle failures of regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverItems {
    /// Path of the items: `.`, a plain key, or a JSON Pointer.
    pub items: String,
    /// State that each region starts in.
    pub initial: StateName,
    /// Context keys that a region sees; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// Whether a region that reaches this state replaces its item with this output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces_item: bool,
    /// Whether a region that reaches this state starts regions of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// State entered if the regions lead to several states: a fork with a branch for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exits: Option<StateName>,
    /// Whether the state that the regions lead to is entered inside the surrounding item's region, which otherwise ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Whether an empty list of items is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_items: bool,
    /// State entered if there are no items.
    pub without_items: StateName,
}

/// A called machine for each line of the previous output.
///
/// The machine works on the context of the frame itself, so its changes persist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverLines {
    /// Key into [`crate::machine::Machine::machines`].
    pub machine: MachineId,
    /// Context key of the item during the loop.
    pub item: String,
    /// Context key of its index, from 0, during the loop.
    pub index: String,
    /// Whether an empty list is a failure.
    #[serde(default)]
    pub wants_items: bool,
}

/// When regions join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// When all have succeeded, or at the first failure.
    #[default]
    All,
    /// At the first success, or when all have failed.
    Any,
    /// When all have ended; the first failure in the order written counts.
    Settled,
    /// When all have ended, or at the first failure, which cancels the others.
    FailFast,
    /// When all have ended. Regions that can reach the same state wait for each other there and continue as one.
    ///
    /// After a failure no further state begins; active states end and their results are kept.
    Converge,
}

/// What is merged when regions join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Changes of successful regions to their context, in the order written; none after a failure.
    #[default]
    Changed,
    /// Captured keys of all regions, including failed ones, in the order written.
    Captured,
    /// Contexts, messages and outputs of regions, in order.
    Conversation,
    /// Nothing: the regions share one context, one after the other.
    Shared,
}

/// What follows if the region of an item fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnItemError {
    /// No further item starts, and the activity fails.
    #[default]
    Fail,
    /// The item is ignored.
    Skip,
    /// Its output is an object with `error`.
    Collect,
}
