//! Runs of a server that a person has joined on this machine: the address, the token and the places here.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;
use serde::{Deserialize, Serialize};

use crate::{
    error::StoreError, files::Versioned, folder::RunFolder, run_log::RunLog, sqlite_run::FILE_NAME,
};

/// Name of the file in a run's directory, in place of its database.
pub(crate) const JOINED: &str = "joined.json";

/// A run of a server that a person has joined on this machine.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinedRun {
    /// The address of the server.
    pub server: String,
    /// The token of this machine; it is never shown.
    pub token: String,
    /// Root of the project on this machine.
    pub project_root: PathBuf,
    /// The person's home on this machine.
    pub person_home: PathBuf,
}

impl fmt::Debug for JoinedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinedRun")
            .field("server", &self.server)
            .field("project_root", &self.project_root)
            .finish_non_exhaustive()
    }
}

impl Versioned for JoinedRun {
    const VERSION: i64 = 1;
    const BYTES_MAX: u64 = 64 * 1024;
}

/// Opens a joined run with its folder on this machine.
pub type OpenJoined = fn(&RunId, &JoinedRun, RunFolder) -> Result<RunLog, StoreError>;

/// How joined runs are opened, if at all. It is no part of a directory's identity.
#[derive(Clone, Copy, Default)]
pub(crate) struct Opener(Option<OpenJoined>);

impl Opener {
    /// Opens joined runs with `open`.
    pub(crate) const fn of(open: OpenJoined) -> Self {
        Self(Some(open))
    }

    /// Returns the function; `None`: joined runs are not opened.
    pub(crate) const fn get(self) -> Option<OpenJoined> {
        self.0
    }
}

impl PartialEq for Opener {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Opener {}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Opener").field(&self.0.is_some()).finish()
    }
}

/// Returns whether a run's directory has its database, so that the run is stored here.
pub(crate) fn has_database(directory: &Path) -> bool {
    let found = fs::symlink_metadata(directory.join(FILE_NAME));
    !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
}
