//! Parts of the events of regions: how they start, end and join.

use std::collections::BTreeSet;

use interlock_expr::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{FramePath, MachineId, StateName};

/// Regions that start, each with its first state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionsStart {
    /// Branches of a fork.
    Branches(Vec<BranchStart>),
    /// One branch that had to wait for its turn.
    Next(BranchStart),
    /// Regions that replace the one at the path.
    Split(Vec<BranchStart>),
    /// One region for each item.
    Items {
        /// The items, in order.
        items: Vec<Value>,
        /// First state of each region.
        initial: StateName,
        /// Context keys that a region sees; `None`: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keys: Option<Vec<String>>,
    },
    /// The machine for one line of text, on the context of the frame above.
    Line {
        /// Index of the line, from 0.
        index: u64,
        /// Key of the machine.
        machine: MachineId,
        /// Name of the first state.
        initial: StateName,
        /// Context keys for the line and for its index.
        keys: (String, String),
        /// Time in milliseconds since 1970.
        at_ms: u64,
    },
}

impl RegionsStart {
    /// Returns each region that starts below `path`, with its first state.
    #[must_use]
    pub fn regions(&self, path: &FramePath) -> Vec<(FramePath, &StateName)> {
        match self {
            Self::Branches(branches) => starts(path, branches),
            Self::Next(branch) => starts(path, std::slice::from_ref(branch)),
            Self::Split(branches) => {
                let holder = path.split_last().map(|(holder, _)| holder);
                starts(&holder.unwrap_or_else(FramePath::root), branches)
            }
            Self::Items { items, initial, .. } => (1..=items.len())
                .map(|number| (path.child(&number.to_string()), initial))
                .collect(),
            Self::Line { index, initial, .. } => {
                vec![(path.child(&index.to_string()), initial)]
            }
        }
    }
}

fn starts<'a>(holder: &FramePath, branches: &'a [BranchStart]) -> Vec<(FramePath, &'a StateName)> {
    let start = |branch: &'a BranchStart| (holder.child(&branch.name), &branch.initial);
    branches.iter().map(start).collect()
}

/// A branch that starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStart {
    /// Name of the branch.
    pub name: String,
    /// Name of the first state.
    pub initial: StateName,
}

/// Kind of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// A branch of a fork.
    Branch,
    /// An item of an output, with a context of its own.
    Item,
    /// A line of a text, run by a machine on the shared context.
    Line,
}

/// Where the frame continues after regions of items have joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedNext {
    /// The state entered.
    pub to: StateName,
    /// States that the regions led to, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<StateName>,
    /// Time in milliseconds since 1970.
    pub at_ms: u64,
}

/// The merged results of regions, for the frame above them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Merged {
    /// Keys set in its context.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub context: Object,
    /// Keys removed from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Merged output; null: none.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// Merged conversation; `None`: the regions carry none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<MergedConversation>,
}

/// The merged conversation of regions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergedConversation {
    /// Ranges of messages, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRange>,
    /// State of the assistant that spoke last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_speaker: Option<StateName>,
    /// Whether the task of the next state is the list of their outputs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// Largest number of states that any of the regions has entered.
    pub steps: u64,
    /// Context keys that any of the regions has appended to.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
}

/// Consecutive messages of one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRange {
    /// Name of the region; `None`: the frame above the regions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Index of the first message.
    pub from: usize,
    /// Index after the last message.
    pub to: usize,
}

/// How a region ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionOutcome {
    /// It reached the end that counts as success.
    Succeeded,
    /// It failed, or reached another end.
    Failed,
    /// The join no longer needed it.
    Cancelled,
    /// It failed, and restarts when the fork has room.
    Waiting,
    /// It continues as another region, or as several.
    Merged,
}
