//! Caches the diagnostics of workflow files as long as the files are unchanged.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use interlock_formats::{Severity, Source, check, description_of, format_of};
use interlock_project::{Entry, Library};

use crate::{bounded::Bounded, reply::Problem};

/// The result of checking a workflow file with this size and time of modification.
#[derive(Debug, Clone)]
pub(crate) struct CheckResult {
    bytes: u64,
    modified: SystemTime,
    pub(crate) format: Option<&'static str>,
    pub(crate) description: Option<String>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
}

/// Cached results of files that refer to no other file; results of others may change independently of them.
#[derive(Default)]
pub(crate) struct Checked(Mutex<BTreeMap<PathBuf, CheckResult>>);

impl Checked {
    /// Returns the result for a workflow; `None` if it cannot be read.
    pub(crate) fn of(&self, root: &Path, library: &Library, entry: &Entry) -> Option<CheckResult> {
        let metadata = entry.path.as_ref().and_then(|path| path.metadata().ok());
        let (bytes, modified) = match metadata {
            Some(metadata) => (metadata.len(), metadata.modified().ok()?),
            None => (0, SystemTime::UNIX_EPOCH),
        };
        // A shipped workflow has no file and never changes.
        let key = entry
            .path
            .clone()
            .unwrap_or_else(|| PathBuf::from(&entry.name));
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = known().get(&key)
            && (said.bytes, said.modified) == (bytes, modified)
        {
            return Some(said.clone());
        }
        let source = open(library, entry).ok()?;
        let bounded = Bounded::new(root, library);
        let found = check(&source, &bounded);
        let count = |severity| {
            let of_it = found.iter().filter(|found| found.severity == severity);
            of_it.count()
        };
        let said = CheckResult {
            bytes,
            modified,
            format: format_of(&source),
            description: description_of(&source),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
        };
        let mut known = known();
        if bounded.was_asked() {
            known.remove(&key);
        } else {
            known.insert(key, said.clone());
        }
        Some(said)
    }
}

/// Reads the workflow of a list entry.
pub(crate) fn open(library: &Library, entry: &Entry) -> Result<Source, Problem> {
    let found = match &entry.path {
        // Opened by path and not by name, so that a file of that name in the current directory is not opened instead.
        Some(path) => library.open(&path.to_string_lossy()),
        None => library.open_named(&entry.name),
    };
    found.map_err(|error| Problem::unknown(error.to_string()))
}
