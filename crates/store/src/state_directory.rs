//! The state directory: its path, and whether it can be trusted.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use interlock_core::names::RunId;

use crate::{error::StoreError, files, id, joined::Opener};

/// The state directory. Nothing is created before the first write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDirectory {
    root: PathBuf,
    /// The real path, cached if the process ends after one answer.
    kept: Option<OnceLock<PathBuf>>,
    /// The person's home, if known.
    person: Option<PathBuf>,
    /// How runs of servers are opened.
    opener: Opener,
}

impl StateDirectory {
    /// Uses `root` as the state directory.
    pub(crate) fn at(root: PathBuf) -> Self {
        Self {
            root,
            kept: None,
            person: None,
            opener: Opener::default(),
        }
    }

    /// Sets how runs of servers are opened.
    pub(crate) const fn set_opener(&mut self, opener: Opener) {
        self.opener = opener;
    }

    /// Returns how runs of servers are opened.
    pub(crate) const fn opener(&self) -> Opener {
        self.opener
    }

    /// Sets the person's home.
    pub(crate) fn of_person(mut self, home: Option<PathBuf>) -> Self {
        self.person = home;
        self
    }

    /// Returns the person's home, if known.
    pub(crate) fn person(&self) -> Option<&Path> {
        self.person.as_deref()
    }

    /// Resolves and checks the directory only once, for a process that ends after one answer.
    pub(crate) fn for_one_answer(mut self) -> Self {
        self.kept = Some(OnceLock::new());
        self
    }

    /// Returns whether the process ends after one answer.
    pub(crate) const fn is_for_one_answer(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns the state directory, as given.
    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the real path of the directory; `None` if it does not exist.
    pub(crate) fn existing(&self) -> Result<Option<PathBuf>, StoreError> {
        if let Some(real) = self.kept.as_ref().and_then(OnceLock::get) {
            return Ok(Some(real.clone()));
        }
        let found = self.found()?;
        if let (Some(kept), Some(real)) = (&self.kept, &found) {
            // Whoever is second has found the same.
            let _ = kept.set(real.clone());
        }
        Ok(found)
    }

    /// Resolves the links of the path, and checks who may write there.
    fn found(&self) -> Result<Option<PathBuf>, StoreError> {
        let failed = |error| StoreError::io("read", &self.root, error);
        let real = match fs::canonicalize(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link that leads nowhere is there and cannot be read.
                match fs::symlink_metadata(&self.root) {
                    Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
                    // Made by another process in between.
                    Ok(found) if found.is_dir() => fs::canonicalize(&self.root),
                    _ => Err(error),
                }
            }
            real => real,
        };
        let real = real.map_err(failed)?;
        self.check(&fs::metadata(&real).map_err(failed)?)?;
        Ok(Some(real))
    }

    /// Returns the real path of the directory, and creates it if necessary.
    pub(crate) fn made(&self) -> Result<PathBuf, StoreError> {
        if let Some(real) = self.existing()? {
            return Ok(real);
        }
        files::make_directory(&self.root)?;
        self.existing()?.ok_or(StoreError::NoHome)
    }

    /// Returns the real path of `place` in the directory, and creates it if necessary.
    pub(crate) fn made_place(&self, place: &str) -> Result<PathBuf, StoreError> {
        let path = self.made()?.join(place);
        files::make_directory(&path)?;
        Ok(path)
    }

    /// Returns the path of the files of `run`, which may not exist, below the real path `root`.
    pub(crate) fn run_directory(root: &Path, run: &RunId) -> Result<PathBuf, StoreError> {
        id::check(run)?;
        Ok(root.join("runs").join(run.as_str()))
    }

    /// Returns the directory of `run`, which must exist.
    pub(crate) fn present_directory(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let root = self.existing()?.unwrap_or_else(|| self.path().to_owned());
        let directory = Self::run_directory(&root, run)?;
        match fs::symlink_metadata(&directory) {
            Ok(found) if found.is_dir() => Ok(directory),
            Ok(_) => Err(StoreError::Unsafe {
                path: directory,
                why: "it is not a directory; move it away".to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::MissingRun {
                run: run.clone(),
                path: directory,
            }),
            Err(error) => Err(StoreError::io("read", &directory, error)),
        }
    }

    /// Lists the ids of all runs, newest first.
    pub(crate) fn run_ids(&self) -> Result<Vec<RunId>, StoreError> {
        let Some(root) = self.existing()? else {
            return Ok(Vec::new());
        };
        let mut runs: Vec<RunId> = files::names(&root.join("runs"))?
            .into_iter()
            .map(RunId::new)
            .filter(|run| id::check(run).is_ok())
            .collect();
        runs.reverse();
        Ok(runs)
    }

    fn check(&self, found: &fs::Metadata) -> Result<(), StoreError> {
        let why = if !found.is_dir() {
            "it is not a directory; move it away"
        } else if found.uid() != rustix::process::geteuid().as_raw() {
            "it belongs to another user; set `XDG_STATE_HOME` to a directory of your own"
        } else if found.mode() & 0o022 != 0 {
            "others may write there; run `chmod 700` on it"
        } else {
            return Ok(());
        };
        Err(StoreError::Unsafe {
            path: self.root.clone(),
            why: why.to_owned(),
        })
    }
}
