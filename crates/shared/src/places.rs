//! Where a run's paths lead on this machine, kept in the run's folder on it.

use std::path::Path;

use interlock_store::{
    StoreError,
    record::{Sync, Versioned, make_directory, read_file, write_file},
};
use serde::{Deserialize, Serialize};

/// Name of the file in a run's folder on this machine.
const FILE: &str = "places.json";

/// The project and the home of a run on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Places {
    pub(crate) project_root: String,
    pub(crate) person_home: String,
}

impl Versioned for Places {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

impl Places {
    /// Reads the places of this machine; `None` if they are not recorded.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, StoreError> {
        read_file(&folder.join(FILE))
    }

    /// Writes the places of this machine, in a folder that only its owner may enter.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        make_directory(folder)?;
        write_file(&folder.join(FILE), self, Sync::Now)
    }
}
