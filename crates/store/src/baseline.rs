//! How protected things were when a run began, kept beside its log.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    run_log::RunLog,
};

const FILE_NAME: &str = "baseline.json";

/// What somebody above keeps; the store does not know what it says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Kept<T>(T);

impl<T: Serialize + DeserializeOwned> Versioned for Kept<T> {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1024 * 1024;
}

impl RunLog {
    fn baseline_path(&self) -> PathBuf {
        self.directory().join(FILE_NAME)
    }

    /// Reads the run's baseline; `None` when none was kept yet.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn baseline<T: Serialize + DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        files::read::<Kept<T>>(&self.baseline_path()).map(|found| found.map(|kept| kept.0))
    }

    /// Keeps the run's baseline, unless one is there already; `false` then.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin_baseline<T: Serialize + DeserializeOwned>(
        &self,
        baseline: T,
    ) -> Result<bool, StoreError> {
        files::create(&self.baseline_path(), &Kept(baseline), Sync::Later)
    }

    /// Replaces the run's baseline by one that says the same of what is compared.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn renew_baseline<T: Serialize + DeserializeOwned>(
        &self,
        baseline: T,
    ) -> Result<(), StoreError> {
        files::write(&self.baseline_path(), &Kept(baseline), Sync::Later)
    }
}
