//! The entries of a list of runs.

use std::{
    fmt::Debug,
    path::{Path, PathBuf},
};

use interlock_core::names::{MachineId, RunId};
use interlock_view::report::Status;
use serde::{Deserialize, Serialize};

use crate::pin::Pin;

/// Selection of the runs to list.
#[derive(Clone, Copy)]
pub struct Which<'a> {
    /// Lists only runs of these projects, and damaged ones; `None`: runs of any project.
    pub projects: Option<&'a [&'a Path]>,
    /// Lists only the runs for which this returns true; others are not read.
    pub wanted: &'a dyn Fn(&RunId) -> bool,
}

impl Which<'_> {
    /// Selects all runs.
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

/// An entry of a list of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Id of the run.
    pub id: RunId,
    /// What is known of the run.
    pub listed: Listed,
}

/// What is known of a listed run.
#[derive(Debug, Clone, PartialEq)]
pub enum Listed {
    /// The run could be read.
    Known(RunCard),
    /// The run could not be read.
    Damaged {
        /// The reason, with what to do.
        why: String,
    },
    /// The server that has the run did not answer, or does not show the run to this machine.
    Unreachable {
        /// The reason, with what to do.
        why: String,
    },
}

/// Summary of a run that could be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCard {
    /// Id of the machine that it follows.
    pub workflow: MachineId,
    /// Name of the run.
    pub name: Option<String>,
    /// Root of the project that it belongs to.
    pub project_root: PathBuf,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of its last event, in milliseconds since 1970.
    pub last_ms: u64,
    /// Status of the run.
    pub status: Status,
    /// Path of every open state.
    pub state: Vec<String>,
    /// Number of events.
    pub events: u64,
}

impl Listed {
    /// Returns the summary of a run that could be read.
    #[must_use]
    pub const fn card(&self) -> Option<&RunCard> {
        match self {
            Self::Known(card) => Some(card),
            Self::Damaged { .. } | Self::Unreachable { .. } => None,
        }
    }

    /// Returns the status word of a run that could not be read, and the reason.
    #[must_use]
    pub fn problem(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Known(_) => None,
            Self::Damaged { why } => Some(("damaged", why)),
            Self::Unreachable { why } => Some(("unreachable", why)),
        }
    }
}

impl RunSummary {
    /// Returns whether the run is known to belong to `project_root`.
    #[must_use]
    pub fn is_of(&self, project_root: &Path) -> bool {
        matches!(&self.listed, Listed::Known(card) if card.project_root == project_root)
    }

    /// Returns the name of the run.
    pub(crate) fn name(&self) -> Option<&str> {
        self.listed.card()?.name.as_deref()
    }

    /// Returns its full name: `WORKFLOW/NAME`.
    pub(crate) fn full_name(&self) -> Option<String> {
        let card = self.listed.card()?;
        let name = card.name.as_deref()?;
        Some(format!("{}/{name}", card.workflow))
    }

    /// Returns whether `wanted` is the known name of the run: `NAME` or `WORKFLOW/NAME`.
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
    /// Makes the card of a run of which only the pin is known.
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

    /// Returns whether the run has ended.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(
            self.status,
            Status::Completed | Status::Failed | Status::Cancelled
        )
    }
}
