//! How protected things were when a run began, kept beside its log.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::StoreError,
    files::{self, Sync, Versioned},
    folder::RunFolder,
};

/// The baseline that hooks compare with.
pub const BASELINE: &str = "baseline";
/// What the last comparison without a change rested on.
pub const QUIET: &str = "quiet";

/// What somebody above keeps; the store does not know what it says.
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

    /// Reads a baseline of the run; `None` when none of that name was kept yet.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        files::read::<Stored<T>>(&self.baseline_path(name)).map(|found| found.map(|kept| kept.0))
    }

    /// Tells whether a baseline of that name is kept; one that cannot be looked at may be.
    #[must_use]
    pub fn has_baseline(&self, name: &str) -> bool {
        let looked = self.baseline_path(name).symlink_metadata();
        !matches!(looked, Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Keeps a baseline of the run, unless one is there already; `false` then.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin_baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        baseline: T,
    ) -> Result<bool, StoreError> {
        files::create(&self.baseline_path(name), &Stored(baseline), Sync::Later)
    }

    /// Replaces a baseline of the run by one that says the same of what is compared.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn renew_baseline<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        baseline: T,
    ) -> Result<(), StoreError> {
        files::write(&self.baseline_path(name), &Stored(baseline), Sync::Later)
    }
}
