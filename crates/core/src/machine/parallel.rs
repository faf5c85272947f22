//! The one parallelism: regions below a state, which join before it goes on.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::names::{MachineId, StateName};

/// Regions below a state: each is a line of execution of its own, and they join before the state goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parallel {
    /// What there is a region for.
    pub over: Over,
    /// When they join.
    #[serde(default)]
    pub join: Join,
    /// What they bring together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub merge: Merge,
    /// Regions that run at the same time; `None`: all. The others follow in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// What follows when the region of an item fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error: OnItemError,
    /// The code of the failure, which then names the branch; `None`: that of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_as: Option<String>,
}

impl Parallel {
    /// Makes regions that join when all have succeeded, each branch one.
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

    /// Tells whether its regions are lines that wait for each other where they come to one state.
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

/// What there is a region for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// For each branch by name, in the order written.
    Branches(IndexMap<String, Branch>),
    /// For each item of what the state before put out: a line in the same machine.
    Items(OverItems),
    /// For each line of text that the state before put out: a machine of its own.
    Lines(OverLines),
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The state it starts in.
    pub initial: StateName,
    /// The state whose entry is its success.
    pub terminal: StateName,
}

/// One line for each item of what the state before put out, from one state on until each has come to its end.
///
/// A line that comes to other items passes its own on instead of opening
/// them, unless those are `nested`; a state that leads anywhere else ends its
/// line, unless it is [`crate::machine::State::keeps_item`].
///
/// Its `error` is about splitting alone: a failure of one of its lines is not handled there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverItems {
    /// Where the items are: `.`, a plain key, or a JSON Pointer.
    pub items: String,
    /// Where each line starts.
    pub initial: StateName,
    /// The context keys that a line sees; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// Whether a line that passes here takes this output for its item from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces_item: bool,
    /// Whether a line that comes here opens lines of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested: bool,
    /// The state that is entered where the lines ended by several ways: a fork with one branch for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exits: Option<StateName>,
    /// Whether what its lines led to is entered inside the line of an item around it, which else ends there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// Whether having no items is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_items: bool,
    /// The state entered where there is no item.
    pub without_items: StateName,
}

/// Another machine for each line of the output that the state before left.
///
/// It works on the context of the frame itself: what it changes stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverLines {
    /// Key into [`crate::machine::Machine::machines`].
    pub machine: MachineId,
    /// The context key of the item; hidden again after the loop.
    pub item: String,
    /// The context key of its number, from 0; hidden again after the loop.
    pub index: String,
    /// Whether a list without items is a failure.
    #[serde(default)]
    pub wants_items: bool,
}

/// When regions join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// When every one succeeded, or at the first failure.
    #[default]
    All,
    /// At the first success, or when every one failed.
    Any,
    /// When every one ended; the first failure in the order written is that of the whole.
    Settled,
    /// The same, but the first failure in time ends the others and is that of the whole.
    FailFast,
    /// When every line ended. Lines that can come to one state wait for each other there and go on as one.
    ///
    /// After a failure no further state begins; what is at work ends and is kept.
    Converge,
}

/// What regions bring together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// What succeeded regions changed in their context, in the order written; after a failure, nothing.
    #[default]
    Changed,
    /// What outputs of regions went to, in the order written; of failed ones, too.
    Captured,
    /// Contexts, messages and outputs of lines, in their order.
    Conversation,
    /// Nothing: they work on one context, one after the other.
    Shared,
}

/// What follows when the region of an item fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnItemError {
    /// No item starts any more, and the whole has failed.
    #[default]
    Fail,
    /// It counts as if it had not been there.
    Skip,
    /// Its output is an object with `error`.
    Collect,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
