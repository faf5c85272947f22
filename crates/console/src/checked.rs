//! What is wrong with workflow files, remembered as long as they are the same.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use interlock_formats::{Severity, Source, check, description_of, format_of};
use interlock_project::{Entry, Library};

use crate::{bounded::Bounded, reply::Problem};

/// What was said of a workflow file, as long as the file is the same.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    bytes: u64,
    modified: SystemTime,
    pub(crate) format: Option<&'static str>,
    pub(crate) description: Option<String>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
}

/// What was said of files that name nothing else: of others it may change without them.
#[derive(Default)]
pub(crate) struct Checked(Mutex<BTreeMap<PathBuf, Said>>);

impl Checked {
    /// Returns what is to be said of a workflow; `None`: it cannot be read.
    pub(crate) fn of(&self, root: &Path, library: &Library, entry: &Entry) -> Option<Said> {
        let metadata = entry.path.as_ref().and_then(|path| path.metadata().ok());
        let (bytes, modified) = match metadata {
            Some(metadata) => (metadata.len(), metadata.modified().ok()?),
            None => (0, SystemTime::UNIX_EPOCH),
        };
        // A shipped one has no file and stays as it is.
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
        let said = Said {
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

/// Reads the workflow that an entry of the list means.
pub(crate) fn open(library: &Library, entry: &Entry) -> Result<Source, Problem> {
    let found = match &entry.path {
        // The file that the list means, whatever file there is of that name where this program was started.
        Some(path) => library.open(&path.to_string_lossy()),
        None => library.open_named(&entry.name),
    };
    found.map_err(|error| Problem::unknown(error.to_string()))
}
