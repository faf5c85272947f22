//! A run that is written but not published yet.

use std::path::PathBuf;

use interlock_core::{Decision, names::RunId, run::Run};

use crate::{
    bindings::{Binding, ClientProcess, HOLDER, SessionKey},
    error::StoreError,
    files::{self, Sync},
    run_log::RunLog,
    runs::UnpublishedRun,
};

/// A run that has just begun.
#[derive(Debug)]
pub struct Started {
    /// Its log, with the first events.
    pub log: RunLog,
    /// The run after those events.
    pub run: Run,
    /// Decision of the start.
    pub decision: Decision,
}

/// A run that has begun but is not visible yet; dropping it removes it.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) written: Box<dyn UnpublishedRun>,
    pub(crate) project_root: PathBuf,
    pub(crate) at_ms: u64,
    pub(crate) run: Run,
    pub(crate) decision: Decision,
}

/// A run that has begun for a session but is not visible yet.
#[derive(Debug)]
pub struct PreparedFor {
    pub(crate) prepared: Prepared,
    pub(crate) binding: Binding,
}

impl Prepared {
    /// Returns the run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        self.written.id()
    }

    /// Records which session it is for. `process` is that session's own, if known.
    ///
    /// # Errors
    /// The state directory cannot be written.
    pub fn for_session(
        self,
        session: &SessionKey,
        process: Option<ClientProcess>,
    ) -> Result<PreparedFor, StoreError> {
        let binding = Binding {
            run: self.id().clone(),
            session: session.clone(),
            project_root: self.project_root.clone(),
            process,
            at_ms: self.at_ms,
        };
        hold(&*self.written, &binding)?;
        Ok(PreparedFor {
            prepared: self,
            binding,
        })
    }

    /// Makes the run visible.
    pub(crate) fn publish(self) -> Result<Started, StoreError> {
        Ok(Started {
            log: self.written.publish()?,
            run: self.run,
            decision: self.decision,
        })
    }
}

impl PreparedFor {
    /// Returns the run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        self.prepared.id()
    }

    /// Records another session than the one recorded first.
    pub(crate) fn hold(&mut self, binding: Binding) -> Result<(), StoreError> {
        if self.binding != binding {
            hold(&*self.prepared.written, &binding)?;
            self.binding = binding;
        }
        Ok(())
    }
}

/// Writes the run's own record of its session.
fn hold(run: &dyn UnpublishedRun, binding: &Binding) -> Result<(), StoreError> {
    files::write(&run.folder().join(HOLDER), binding, Sync::Now)
}
