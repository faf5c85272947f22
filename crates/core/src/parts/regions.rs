//! What events of regions are made of: how they start, end and join.

use std::collections::BTreeSet;

use interlock_expr::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{FramePath, MachineId, StateName};

/// Regions that start, and what each starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionsStart {
    /// Branches of a fork.
    Branches(Vec<BranchStart>),
    /// A branch that had to wait for its turn.
    Next(BranchStart),
    /// Lines that take the place of the line at the path, beside it.
    Split(Vec<BranchStart>),
    /// A line for each item.
    Items {
        /// The items, in order.
        items: Vec<Value>,
        /// Where each line starts.
        initial: StateName,
        /// The context keys that a line sees; `None`: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keys: Option<Vec<String>>,
    },
    /// The machine of one line of text; it works on the context of the frame above it.
    Line {
        /// The number of the line, from 0.
        index: u64,
        /// Key of the machine.
        machine: MachineId,
        /// Its first state.
        initial: StateName,
        /// The context keys of the line and of its number.
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

/// A branch as it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStart {
    /// Its name.
    pub name: String,
    /// Its first state.
    pub initial: StateName,
}

/// What a region is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// The branches of a fork.
    Branch,
    /// The items of an output, each with a line of its own.
    Item,
    /// The lines of a text, each a run of one machine on a shared context.
    Line,
}

/// Where lines of items that have joined go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedNext {
    /// The state entered.
    pub to: StateName,
    /// Where the lines led, where that was to several states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<StateName>,
    /// Time in milliseconds since 1970.
    pub at_ms: u64,
}

/// What regions have brought together for the line above them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Merged {
    /// Keys set in its context.
    #[serde(skip_serializing_if = "Object::is_empty")]
    pub context: Object,
    /// Keys removed from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// What they put out together; null: nothing.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// What becomes of the conversation; `None`: their lines carry none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<MergedConversation>,
}

/// The conversation that lines have together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergedConversation {
    /// Its messages, as they follow each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRange>,
    /// The state of the assistant that spoke last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_speaker: Option<StateName>,
    /// Whether what the next state is given is a list of what they put out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// States that the longest of them has entered.
    pub steps: u64,
    /// Context keys that one of them has appended to.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
}

/// Messages of one line that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRange {
    /// The line; `None`: the one above the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The first of them, from 0.
    pub from: usize,
    /// The one after the last.
    pub to: usize,
}

/// How a region ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionOutcome {
    /// It reached the end that counts as its success.
    Succeeded,
    /// It failed, or reached another end.
    Failed,
    /// The join no longer needed it.
    Cancelled,
    /// It failed and goes on when the fork has room for it.
    Waiting,
    /// It goes on as another line, or as several.
    Merged,
}
