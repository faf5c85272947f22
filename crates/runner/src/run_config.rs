//! The configuration of person and project, as far as it counts for a run.

use std::path::Path;

use interlock_core::machine::{Machine, Mode, ModeRules};
use interlock_project::{Assets, Config, Environment, Modes, UnreadEntries};

/// The configuration of person and project, as far as it counts for a run.
#[derive(Debug, Clone, Default)]
pub struct RunConfig {
    /// Of the person.
    pub person: Config,
    /// Of the project; only what narrows, where the person does not trust it.
    pub project: Config,
    /// Whether the person has said that they trust the project.
    pub is_trusted: bool,
}

impl RunConfig {
    /// Returns what both define for CodeMie files of the project at `root`.
    pub(crate) fn assets(&self, environment: &Environment, root: &Path) -> Assets {
        Assets::of(
            &self.person,
            environment.configuration(),
            &self.project,
            root,
        )
    }

    /// Decides the mode of a run of `machine`; `said` is the person's word for this run.
    ///
    /// # Errors
    /// Entries of a list are written, and no level reads them.
    pub fn mode(
        &self,
        machine: &Machine,
        said: Option<Mode>,
    ) -> Result<Option<ModeRules>, UnreadEntries> {
        if machine.stages.is_none() && !machine.has_stages() {
            return Ok(None);
        }
        let rules = machine.stages.clone().unwrap_or_default();
        let modes = Modes {
            said,
            person: &self.person,
            project: &self.project,
            workflow: (rules.mode, &rules.allowlist),
        };
        modes.of_run().map(Some)
    }
}
