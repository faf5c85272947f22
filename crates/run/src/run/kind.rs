//! Who does the work of a run.

use std::sync::Arc;

use interlock_expr::text::Places;
use serde::{Deserialize, Serialize};

use crate::{dialogue::RunInput, machine::ModeRules};

/// Who does the work of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Agents from outside, whose calls Interlock judges.
    #[default]
    Guarded,
    /// Interlock itself, which runs one state after the other.
    Durable(Arc<DurableRun>),
}

impl RunKind {
    /// Returns whether agents from outside do the work.
    #[must_use]
    pub const fn is_guarded(&self) -> bool {
        matches!(self, Self::Guarded)
    }
}

/// What a durable run starts with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DurableRun {
    /// Folders that texts of the workflow can name.
    pub places: Places,
    /// Rules for calls in stages that list no tools; `None`: those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeRules>,
    /// Input that the conversation starts with; `None`: the run has no conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RunInput>,
}
