//! A run whose project, home or state directory has moved.

use std::path::Path;

use interlock_core::names::RunId;

use crate::{
    baseline::{BASELINE, QUIET},
    checked,
    error::StoreError,
    files, frozen,
    home::Home,
    revision::Revision,
};

impl Home {
    /// Moves a run to the project at `project_root`, with the person's home at `person`.
    ///
    /// Recorded paths below the old places then refer to the new ones, and so does the binding of the run's session. The
    /// baseline of protected files starts afresh, because it belongs to the old place. Frozen files are compared by content.
    ///
    /// # Errors
    /// There is no such run, or the state directory cannot be written.
    pub fn move_run(
        &self,
        run: &RunId,
        project_root: &Path,
        person: &Path,
    ) -> Result<(), StoreError> {
        let bindings = self.lock_bindings()?;
        self.runs().relocate(run, project_root, person)?;
        let log = self.open_run(run)?;
        let folder = log.folder();
        frozen::moved(folder.path(), project_root)?;
        checked::moved(folder.path(), project_root)?;
        Revision::moved(folder.path(), project_root)?;
        for name in files::names(folder.path())? {
            if name.starts_with(BASELINE) || name.starts_with(QUIET) {
                files::remove(&folder.path().join(name))?;
            }
        }
        if let Some(name) = log.name()?.filter(|_| self.is_durable(run)) {
            let workflow = log.machine()?.id;
            // Where another run has the name there, this one is found by its id.
            if let Ok(claim) = self.claim_name(project_root, workflow.as_str(), &name) {
                claim.give_to(run)?;
            }
        }
        bindings.moved(run, project_root)
    }
}
