//! What has been told of each run to those who watch from outside.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    home::Home,
};

/// Bytes a `traceparent` may have; one of today has 55.
const PARENT_BYTES_MAX: usize = 256;

/// How far the log of a run has been told, and below what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Events that were told of.
    pub events: u64,
    /// The trace the run belongs to, as `traceparent` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl Versioned for Told {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Home {
    /// Returns how far the log of `run` has been told.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn told(&self, run: &RunId) -> Result<Told, StoreError> {
        match self.told_path(run)? {
            Some(path) => Ok(files::read(&path)?.unwrap_or_default()),
            None => Ok(Told::default()),
        }
    }

    /// Remembers how far the log of `run` has been told.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_told(&self, run: &RunId, told: &Told) -> Result<(), StoreError> {
        match self.told_path(run)? {
            Some(path) => files::write(&path, told, Sync::Later),
            None => Ok(()),
        }
    }

    /// Keeps the trace that `run` was started in; text that is too long for one is left out.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn keep_trace_parent(&self, run: &RunId, parent: &str) -> Result<(), StoreError> {
        if parent.len() > PARENT_BYTES_MAX {
            return Ok(());
        }
        let told = Told {
            parent: Some(parent.to_owned()),
            ..self.told(run)?
        };
        self.keep_told(run, &told)
    }

    /// Takes the right to tell; `None`: another process has it.
    ///
    /// # Errors
    /// The lock cannot be looked at.
    pub fn lock_telling(&self) -> Result<Option<File>, StoreError> {
        let path = self.made()?.join("telemetry.lock");
        let failed = |error| StoreError::io("lock", &path, error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn told_path(&self, run: &RunId) -> Result<Option<PathBuf>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(None);
        };
        Ok(Some(Self::run_directory(&root, run)?.join("told.json")))
    }
}
