//! Where the projects of runs are on this machine.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use interlock_core::names::RunId;

/// Where the projects of runs are on this machine: what `@project` stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projects {
    /// One folder for all runs.
    One(PathBuf),
    /// A folder for each run, named as its id and made when it is missing.
    Each(PathBuf),
}

impl Projects {
    /// Returns the folder of a run.
    ///
    /// # Errors
    /// There is none, or it cannot be made.
    pub(crate) fn of(&self, run: &RunId) -> io::Result<PathBuf> {
        match self {
            Self::One(folder) => existing(folder),
            Self::Each(folders) => {
                let folder = existing(folders)?.join(run.as_str());
                match fs::create_dir(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => existing(&folder),
                    made => made.map(|()| folder),
                }
            }
        }
    }
}

fn existing(folder: &Path) -> io::Result<PathBuf> {
    let found = folder.canonicalize()?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}
