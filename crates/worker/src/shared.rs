//! What the threads and handlers of a worker share.

use std::{fmt, sync::Arc};

use interlock_core::names::RunId;
use interlock_project::Environment;
use interlock_shared::{Database, SharedRuns};
use interlock_store::{EventLog as _, RunStore as _, StoreError};
use tokio::sync::Notify;

use crate::{lease::Leases, note::Note, projects::Projects};

pub(crate) type Report = Box<dyn Fn(&Note) + Send + Sync>;

/// What the threads and handlers of a worker share.
pub(crate) struct Shared {
    pub(crate) runs: SharedRuns,
    pub(crate) projects: Projects,
    pub(crate) environment: Environment,
    pub(crate) leases: Arc<Leases>,
    pub(crate) holder: String,
    /// How many bytes the files of one run may have that move with it.
    pub(crate) workspace_limit: u64,
    pub(crate) report: Report,
    pub(crate) nudge: Notify,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("runs", &self.runs)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) const fn runs(&self) -> &SharedRuns {
        &self.runs
    }

    pub(crate) fn database(&self) -> &Database {
        self.runs.database()
    }

    pub(crate) const fn projects(&self) -> &Projects {
        &self.projects
    }

    /// Returns the name of this machine.
    pub(crate) fn machine(&self) -> &str {
        self.holder.split('/').next().unwrap_or_default()
    }

    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn note(&self, note: &Note) {
        (self.report)(note);
    }

    /// Has the outbox looked at now.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Waits until the outbox is to be looked at.
    pub(crate) async fn nudged(&self) {
        self.nudge.notified().await;
    }

    /// Returns the status of a run.
    pub(crate) fn status(&self, run: &RunId) -> Result<String, StoreError> {
        let log = self.runs.open_run(run)?;
        let folded = log.load()?;
        let machine = log.machine_of(&folded)?;
        let status = interlock_view::report::status(&machine, &folded);
        Ok(status.as_str().to_owned())
    }
}
