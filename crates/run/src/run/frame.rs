//! The frames of a run: its threads of control.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use interlock_expr::text::Caught;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{region::Region, stay::Stay};
use crate::{
    defaults::is_zero,
    dialogue::Conversation,
    machine::{Machine, Object, State},
    names::{InterruptName, MachineId, StateName},
    parts::InterruptHit,
};

/// One thread of control: its current state, what it carries and the regions below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Key of the called machine that the frame runs in; `None`: the caller's own.
    pub machine: Option<MachineId>,
    /// The current state.
    pub at: StateName,
    /// Data that lives as long as the frame.
    pub line: Line,
    /// Data before the last output, as long as a person may change that output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<BeforeOutput>>,
    /// Data that lives as long as the current state.
    pub stay: Stay,
    /// Branches, regions of items, or the called machine, in the order written.
    ///
    /// Copies of a run share the regions that neither copy changes.
    pub regions: Vec<Arc<Region>>,
}

/// Data that a frame carries from one state to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The frame's own copy of the context.
    pub context: Arc<Object>,
    /// Output of the last activity, for guards that read it.
    pub output: Arc<Value>,
    /// Conversation that the frame carries beside the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Arc<Conversation>>,
    /// Number of states entered, if the frame carries a conversation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// Context keys that outputs were stored in since the frame began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub captured: BTreeSet<String>,
    /// Context keys that were appended to since the frame began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub appended: BTreeSet<String>,
    /// Context keys that were removed since the frame began.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<String>,
    /// Error that was handled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<Arc<Caught>>,
    /// Interrupt that is being handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Interrupts queued for later, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub queue: VecDeque<InterruptHit>,
}

/// Data of a frame before its last output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeforeOutput {
    /// State that produced the output.
    pub state: StateName,
    /// Data before that output.
    pub line: Line,
}

/// An interrupt being handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handling {
    /// Name of the interrupt.
    pub interrupt: InterruptName,
    /// Path of the file that matched.
    pub file: String,
    /// State to return to.
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

    /// Returns the current state; `machine` is that of the run, not of the frame.
    #[must_use]
    pub fn state<'m>(&self, machine: &'m Machine) -> Option<&'m State> {
        machine.called(self.machine.as_ref())?.states.get(&self.at)
    }

    /// Returns the region with this name.
    #[must_use]
    pub fn region(&self, name: &str) -> Option<&Region> {
        let mut regions = self.regions.iter().map(AsRef::as_ref);
        regions.find(|region: &&Region| region.name == name)
    }

    /// Returns the open regions, in the order written.
    pub fn open_regions(&self) -> impl DoubleEndedIterator<Item = &Region> {
        let regions = self.regions.iter().map(AsRef::as_ref);
        regions.filter(|region: &&Region| region.is_open())
    }
}
