//! The state of protected things when a run began, stored beside its log.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::RunFolder,
};

/// Name of the baseline that hooks compare with.
pub const BASELINE: &str = "baseline";
/// Name of the stamps of the last comparison without a change.
pub const QUIET: &str = "quiet";

/// Data of another crate, which the store does not interpret.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Stored<T>(T);

impl<T: Serialize + DeserializeOwned> Versioned for Stored<T> {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 4 * 1024 * 1024;
}

impl RunFolder {
    fn baseline_path(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.json"))
    }

    /// Reads a baseline of the run; `None`: none with this name is stored.
    ///
    /// # Errors
    /// The baseline exists and cannot be read.
    pub fn baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        files::read::<Stored<T>>(&self.baseline_path(name)).map(|found| found.map(|kept| kept.0))
    }

    /// Returns whether a baseline with this name may exist; if that cannot be determined, it may.
    #[must_use]
    pub fn has_baseline(&self, name: &str) -> bool {
        let looked = self.baseline_path(name).symlink_metadata();
        !matches!(looked, Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Stores a baseline of the run unless there is one; `false`: there was one.
    ///
    /// # Errors
    /// The baseline cannot be written.
    pub fn begin_baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        baseline: T,
    ) -> Result<bool, StoreError> {
        files::create(&self.baseline_path(name), &Stored(baseline), Sync::Later)
    }

    /// Replaces a baseline of the run by an equivalent one.
    ///
    /// # Errors
    /// The baseline cannot be written.
    pub fn renew_baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        baseline: T,
    ) -> Result<(), StoreError> {
        files::write(&self.baseline_path(name), &Stored(baseline), Sync::Later)
    }
}
