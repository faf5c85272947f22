//! How old the proof of a workflow file is.

use std::path::{Path, PathBuf};

use interlock_core::machine::Machine;
use interlock_formats::Source;
use interlock_store::LastProof;

use crate::{app::App, live};

/// A workflow whose properties are checked, with the file of properties next to it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) source: &'a Source,
    pub(crate) machine: &'a Machine,
    pub(crate) beside: Option<&'a Source>,
}

impl Subject<'_> {
    fn path(&self, app: &App) -> Option<PathBuf> {
        std::fs::canonicalize(app.directory.join(&self.source.name)).ok()
    }

    /// Returns everything that a proof depends on: the machine includes what the file takes from others.
    fn texts(&self) -> [&str; 3] {
        let beside = self.beside.map_or("", |beside| &beside.text);
        [&self.machine.hash, &self.source.text, beside]
    }

    /// Stores the result of a proof; a failure to store it is ignored.
    pub(crate) fn remember(&self, app: &App, verdicts: &[(String, String)]) {
        if let (Some(path), Ok(home)) = (self.path(app), app.home()) {
            let _ = home.remember_proof(&path, &self.texts(), verdicts, live::now_ms());
        }
    }

    /// Returns the last proof on this machine.
    pub(crate) fn last(&self, app: &App) -> Option<LastProof> {
        let (path, home) = (self.path(app)?, app.home().ok()?);
        home.last_proof(&path, &self.texts(), live::now_ms())
            .ok()
            .flatten()
    }
}

/// Reads the file of properties next to a workflow.
pub(crate) fn properties_beside(source: &Source) -> Option<Source> {
    let path = Path::new(&source.name).with_extension("properties.yaml");
    let text = std::fs::read_to_string(&path).ok()?;
    Some(Source::new(path.display().to_string(), text))
}
