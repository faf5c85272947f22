//! The configuration of person and project, as far as it applies to a run.

use std::path::Path;

use interlock_core::machine::{Machine, Mode, ModeRules};
use interlock_project::{Assets, Config, Environment, Modes, UnreadEntries};

/// Configuration of person and project for a run.
#[derive(Debug, Clone, Default)]
pub struct RunConfig {
    /// Configuration of the person.
    pub person: Config,
    /// Configuration of the project; only restrictions if the project is not trusted.
    pub project: Config,
    /// Whether the person trusts the project.
    pub is_trusted: bool,
}

impl RunConfig {
    /// Returns the definitions of both for CodeMie files of the project at `root`.
    pub(crate) fn assets(&self, environment: &Environment, root: &Path) -> Assets {
        Assets::of(
            &self.person,
            environment.configuration(),
            &self.project,
            root,
        )
    }

    /// Returns the mode of a run of `machine`; `said` is the person's choice for this run.
    ///
    /// # Errors
    /// A list has entries, but no level reads them.
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
