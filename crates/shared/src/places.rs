//! Where a run's paths lead to on this machine, kept in the run's folder on it.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

use interlock_store::StoreError;
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

impl Places {
    /// Reads what this machine says; `None`: nothing.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(StoreError::Io {
                    doing: "read",
                    path,
                    source,
                });
            }
        };
        let read = serde_json::from_slice(&bytes).map(Some);
        read.map_err(|error| StoreError::Damaged {
            path,
            what: error.to_string(),
        })
    }

    /// Writes them down for this machine.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        let beside = folder.join(format!("{FILE}.new"));
        let text = serde_json::json!(self).to_string();
        // As every folder of a run: its owner's alone.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .and_then(|()| fs::write(&beside, text))
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|source| StoreError::Io {
                doing: "write",
                path,
                source,
            })
    }
}
