//! Who does the work of a run.

use std::sync::Arc;

use interlock_expr::text::Places;
use serde::{Deserialize, Serialize};

use crate::{dialogue::RunInput, machine::ModeRules};

/// Who does the work of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Agents from outside, whose calls are judged.
    #[default]
    Guarded,
    /// Interlock itself, which carries out one state after the other.
    Durable(Arc<DurableRun>),
}

impl RunKind {
    /// Tells whether agents from outside do the work.
    #[must_use]
    pub const fn is_guarded(&self) -> bool {
        matches!(self, Self::Guarded)
    }
}

/// What a run that Interlock carries out itself begins with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DurableRun {
    /// The folders that texts of the workflow name.
    pub places: Places,
    /// What becomes of calls in stages that list no tools; `None`: as the machine says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeRules>,
    /// What a person begins the conversation with; `None`: its lines carry none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<RunInput>,
}
