//! The folder of a run on this machine: what lies beside its log.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_core::names::CallId;

use crate::{chain::ChainHash, durability::Durability, error::StoreError, files, marks::Marks};

/// Directory, below the state directory, of the folders that programs of runs work in.
pub(crate) const WORK: &str = "work";

/// The folder of a run on this machine.
///
/// Holds what the log names by its digest, and what concerns this machine alone.
/// What its programs write while it goes on lies apart, in the folder that they work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    work: PathBuf,
    pub(crate) durability: Durability,
    /// What is recorded in place of absolute paths.
    pub(crate) marks: Marks,
}

impl RunFolder {
    /// Takes the folder at `path`; what it keeps survives what the run's events survive.
    pub fn new(path: impl Into<PathBuf>, work: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            path: path.into(),
            work: work.into(),
            durability,
            marks: Marks::default(),
        }
    }

    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of what its programs and their outputs need while it goes on.
    #[must_use]
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Returns the same, made when there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn made_work(&self) -> Result<&Path, StoreError> {
        files::make_directory(&self.work)?;
        Ok(&self.work)
    }

    /// Keeps the text that a call returned.
    ///
    /// The file is `output/HASH.txt`, with the SHA-256 of the call's id.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_output(&self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let directory = self.work.join("output");
        files::make_directory(&directory)?;
        let name = ChainHash::of_parts(&[call.as_str().as_bytes()]);
        let path = directory.join(format!("{name}.txt"));
        fs::write(&path, text).map_err(|error| StoreError::io("write", &path, error))
    }
}
