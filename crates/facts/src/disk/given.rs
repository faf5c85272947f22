//! A disk in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Disk, DiskError, Kind, Seen, Stamp};
use crate::path::normalise;

/// A disk with the given files and no links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenDisk {
    files: BTreeMap<String, String>,
}

impl GivenDisk {
    /// Creates an empty disk.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a file; a relative path is resolved against `root`.
    #[must_use]
    pub fn with(mut self, root: &str, path: &str, text: impl Into<String>) -> Self {
        self.put(root, path, text);
        self
    }

    /// Adds a file; a relative path is resolved against `root`.
    pub fn put(&mut self, root: &str, path: &str, text: impl Into<String>) {
        if let Ok(path) = normalise(path, root, None) {
            self.files.insert(path, text.into());
        }
    }
}

impl Disk for GivenDisk {
    fn read(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, DiskError> {
        match self.files.get(path) {
            Some(text) => {
                let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                if bytes > bytes_max {
                    return Err(DiskError::TooLarge(bytes));
                }
                Ok(Some(text.clone().into_bytes()))
            }
            None if !self.names(path, 1).is_empty() => Err(DiskError::NotAFile),
            None => Ok(None),
        }
    }

    fn real(&self, path: &str) -> Result<String, DiskError> {
        normalise(path, "/", None).map_err(|error| DiskError::Refused(error.to_string()))
    }

    fn look(&self, path: &str) -> Option<Seen> {
        let kind = if self.files.contains_key(path) {
            Kind::File
        } else if self.names(path, 1).is_empty() {
            return None;
        } else {
            Kind::Directory
        };
        Some(Seen {
            kind,
            id: None,
            links: 1,
        })
    }

    fn stamp(&self, path: &str) -> Option<Stamp> {
        let seen = self.look(path)?;
        let size = self.files.get(path).map_or(0, String::len);
        Some(Stamp {
            kind: seen.kind,
            link: None,
            numbers: [0, 0, u64::try_from(size).unwrap_or(u64::MAX), 0],
            // As if it had just been written, so that its contents must be read.
            times: [i64::MAX, i64::MAX],
        })
    }

    fn names(&self, directory: &str, max: usize) -> Vec<String> {
        let below = format!("{}/", directory.trim_end_matches('/'));
        let names: BTreeSet<&str> = self
            .files
            .range(below.clone()..)
            .map_while(|(path, _)| path.strip_prefix(&below))
            .filter_map(|rest| rest.split('/').next())
            .take(max)
            .collect();
        names.into_iter().map(str::to_owned).collect()
    }
}
