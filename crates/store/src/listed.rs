//! What a list of runs says of each.

use std::{
    fmt::Debug,
    path::{Path, PathBuf},
};

use interlock_core::names::{MachineId, RunId};
use interlock_view::report::Status;
use serde::{Deserialize, Serialize};

use crate::pin::Pin;

/// Which runs are listed.
#[derive(Clone, Copy)]
pub struct Which<'a> {
    /// Only runs of these projects, and damaged ones; `None`: of any.
    pub projects: Option<&'a [&'a Path]>,
    /// Only these; no other run is looked at.
    pub wanted: &'a dyn Fn(&RunId) -> bool,
}

impl Which<'_> {
    /// All runs.
    pub const ALL: Which<'static> = Which {
        projects: None,
        wanted: &|_| true,
    };
}

impl Debug for Which<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Which")
            .field("projects", &self.projects)
            .finish_non_exhaustive()
    }
}

/// One run in the list of all.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// What is known of it.
    pub listed: Listed,
}

/// What the list knows of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// It could be read.
    Known(RunCard),
    /// It could not.
    Damaged {
        /// Why, with what to do.
        why: String,
    },
}

/// What the list says of a run that could be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCard {
    /// The machine it follows.
    pub workflow: MachineId,
    /// What people call it.
    pub name: Option<String>,
    /// The project it belongs to.
    pub project_root: PathBuf,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its last event was recorded, in milliseconds since 1970.
    pub last_ms: u64,
    /// Whether it goes on, and if not, why.
    pub status: Status,
    /// The path of every open state.
    pub state: Vec<String>,
    /// How many events it has.
    pub events: u64,
}

impl RunSummary {
    /// Tells whether the run is known to belong to `project_root`.
    #[must_use]
    pub fn is_of(&self, project_root: &Path) -> bool {
        matches!(&self.listed, Listed::Known(card) if card.project_root == project_root)
    }

    /// Returns what people call the run.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.listed {
            Listed::Known(card) => card.name.as_deref(),
            Listed::Damaged { .. } => None,
        }
    }

    /// Returns what tells it from others of its name: `WORKFLOW/NAME`.
    pub(crate) fn full_name(&self) -> Option<String> {
        match &self.listed {
            Listed::Known(card) => {
                let name = card.name.as_deref()?;
                Some(format!("{}/{name}", card.workflow))
            }
            Listed::Damaged { .. } => None,
        }
    }

    /// Tells whether the run is known to be called `wanted`: its name, or `WORKFLOW/NAME`.
    #[must_use]
    pub fn is_called(&self, wanted: &str) -> bool {
        let Listed::Known(card) = &self.listed else {
            return false;
        };
        let Some(name) = card.name.as_deref() else {
            return false;
        };
        let in_workflow = wanted
            .rsplit_once('/')
            .is_some_and(|(workflow, rest)| rest == name && workflow == card.workflow.as_str());
        name == wanted || in_workflow
    }
}

impl RunCard {
    /// Makes that of a run of which nothing but its pin is known.
    pub(crate) fn of(pin: Pin) -> Self {
        Self {
            workflow: MachineId::new(pin.workflow),
            name: pin.name,
            project_root: PathBuf::from(pin.project_root),
            created_ms: pin.created_ms,
            last_ms: pin.created_ms,
            status: Status::Running,
            state: Vec::new(),
            events: 0,
        }
    }

    /// Tells whether the run has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(
            self.status,
            Status::Completed | Status::Failed | Status::Cancelled
        )
    }
}
