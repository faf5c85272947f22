//! The folder of a run on this machine: what lies beside its log.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::names::CallId;

use crate::{chain::ChainHash, durability::Durability, error::StoreError, files};

/// The folder of a run on this machine.
///
/// Holds what the log names by its digest, and what concerns this machine alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    pub(crate) durability: Durability,
}

impl RunFolder {
    /// Takes the folder at `path`; what it keeps survives what the run's events survive.
    pub fn new(path: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            path: path.into(),
            durability,
        }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the text that a call returned.
    ///
    /// The file is `output/HASH.txt`, with the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let directory = self.path.join("output");
        files::make_directory(&directory)?;
        let name = ChainHash::of_parts(&[call.as_str().as_bytes()]);
        let path = directory.join(format!("{name}.txt"));
        fs::write(&path, text).map_err(|error| StoreError::io("write", &path, error))
    }
}
