//! A run that is written and not yet where anybody finds it.

use std::{fs, path::PathBuf};

use interlock_core::{Decision, names::RunId, run::Run};

use crate::{
    bindings::{Binding, ClientProcess, HOLDER, SessionKey},
    error::StoreError,
    files::{self, Sync},
    run_log::RunLog,
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
    pub(crate) written: Written,
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

/// The files of a run, beside the place where they are to be.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) beside: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) id: RunId,
}

impl Prepared {
    /// Returns the run's id.
    #[must_use]
    pub const fn id(&self) -> &RunId {
        &self.written.id
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
        self.written.hold(&binding)?;
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
    pub const fn id(&self) -> &RunId {
        self.prepared.id()
    }

    /// Says whose it is, where that is other than was said first.
    pub(crate) fn hold(&mut self, binding: Binding) -> Result<(), StoreError> {
        if self.binding != binding {
            self.prepared.written.hold(&binding)?;
            self.binding = binding;
        }
        Ok(())
    }
}

impl Written {
    /// Writes the run's own word about who holds it.
    pub(crate) fn hold(&self, binding: &Binding) -> Result<(), StoreError> {
        files::write(&self.beside.join(HOLDER), binding, Sync::Now)
    }

    /// Lets everybody see it, whole.
    pub(crate) fn publish(self) -> Result<RunLog, StoreError> {
        fs::rename(&self.beside, &self.directory)
            .map_err(|error| StoreError::io("write", &self.directory, error))?;
        files::sync_directory(&self.directory)?;
        RunLog::open(&self.id, &self.directory)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // Only our own unfinished directory: after it was renamed there is none.
        let _ = fs::remove_dir_all(&self.beside);
    }
}
