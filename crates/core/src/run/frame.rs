//! The lines of execution of a run.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use interlock_expr::text::Caught;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{region::Region, stay::Stay};
use crate::{
    dialogue::Conversation,
    machine::Object,
    names::{InterruptName, MachineId, StateName},
    parts::InterruptHit,
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

/// What a line was before the last output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeforeOutput {
    /// The state that put it out.
    pub state: StateName,
    /// The line.
    pub line: Line,
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
