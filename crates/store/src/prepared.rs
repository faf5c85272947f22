//! A run that is written and not yet where anybody finds it.

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
    /// Its log, with the first events in it.
    pub log: RunLog,
    /// The run as those events leave it.
    pub run: Run,
    /// What the start brought about.
    pub decision: Decision,
}

/// A run that has begun where nobody sees it yet; dropped, it is as if it had never been.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) written: Box<dyn UnpublishedRun>,
    pub(crate) project_root: PathBuf,
    pub(crate) at_ms: u64,
    pub(crate) run: Run,
    pub(crate) decision: Decision,
}

/// A run that has begun for a session, where nobody sees it yet.
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

    /// Says which session it is for. `process` is that session's own, where it is known.
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

    /// Lets everybody see it.
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

    /// Says whose it is, where that is other than was said first.
    pub(crate) fn hold(&mut self, binding: Binding) -> Result<(), StoreError> {
        if self.binding != binding {
            hold(&*self.prepared.written, &binding)?;
            self.binding = binding;
        }
        Ok(())
    }
}

/// Writes the run's own word about who holds it.
fn hold(run: &dyn UnpublishedRun, binding: &Binding) -> Result<(), StoreError> {
    files::write(&run.folder().join(HOLDER), binding, Sync::Now)
}
