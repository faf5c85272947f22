//! The home of all stored data: small files on this machine, and the runs.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_core::names::RunId;

use crate::{
    error::StoreError,
    files::{self, Sync},
    joined::{JOINED, JoinedRun, OpenJoined, Opener, has_database},
    list::RunList,
    listed::{RunSummary, Which},
    run_log::RunLog,
    runs::Runs,
    sqlite_run::SqliteRun,
    state_directory::StateDirectory,
};

/// The home of all stored data: the state directory of this machine, and the runs.
///
/// Nothing is created before the first write.
#[derive(Debug, Clone)]
pub struct Home {
    directory: StateDirectory,
    /// The store of the runs; `None`: SQLite files in the state directory.
    elsewhere: Option<Arc<dyn Runs>>,
}

impl PartialEq for Home {
    fn eq(&self, other: &Self) -> bool {
        let runs = |home: &Self| home.elsewhere.as_ref().map(|runs| Arc::as_ptr(runs).addr());
        self.directory == other.directory && runs(self) == runs(other)
    }
}

impl Eq for Home {}

impl Home {
    /// Finds the state directory from the variables that `env` returns.
    ///
    /// It is `$XDG_STATE_HOME/interlock`, otherwise `$HOME/.local/state/interlock`.
    ///
    /// # Errors
    /// Neither variable is set, or one is not an absolute path.
    pub fn locate(env: impl Fn(&str) -> Option<OsString>) -> Result<Self, StoreError> {
        let look = |variable: &'static str| match env(variable).filter(|value| !value.is_empty()) {
            Some(value) if Path::new(&value).is_absolute() => Ok(Some(PathBuf::from(value))),
            Some(value) => Err(StoreError::RelativeHome {
                variable,
                value: PathBuf::from(value),
            }),
            None => Ok(None),
        };
        let person = look("HOME");
        let root = match look("XDG_STATE_HOME")? {
            Some(state) => state.join("interlock"),
            None => match &person {
                Ok(Some(home)) => home.join(".local/state/interlock"),
                _ => return Err(person.err().unwrap_or(StoreError::NoHome)),
            },
        };
        let mut home = Self::at(root);
        home.directory = home.directory.of_person(person.ok().flatten());
        Ok(home)
    }

    /// Uses `root` as the state directory, with its runs in SQLite files.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            directory: StateDirectory::at(root.into()),
            elsewhere: None,
        }
    }

    /// Uses `runs` as the store of the runs.
    #[must_use]
    pub fn with_runs(mut self, runs: Arc<dyn Runs>) -> Self {
        self.elsewhere = Some(runs);
        self
    }

    /// Returns the store of the runs.
    #[must_use]
    pub fn runs(&self) -> &dyn Runs {
        match &self.elsewhere {
            Some(runs) => &**runs,
            None => &self.directory,
        }
    }

    /// Resolves and checks the directory only once, for a process that ends after one answer.
    #[must_use]
    pub fn for_one_answer(mut self) -> Self {
        self.directory = self.directory.for_one_answer();
        self
    }

    /// Returns whether the process ends after one answer.
    #[must_use]
    pub const fn is_for_one_answer(&self) -> bool {
        self.directory.is_for_one_answer()
    }

    /// Returns the state directory, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Opens runs that a person has joined on this machine with `open`.
    #[must_use]
    pub fn opening_joined(mut self, open: OpenJoined) -> Self {
        self.directory.set_opener(Opener::of(open));
        self
    }

    /// Records that a run of a server is joined on this machine, or joined anew with another token.
    ///
    /// # Errors
    /// A run with this id is stored here, or the state directory cannot be written.
    pub fn join_run(&self, run: &RunId, joined: &JoinedRun) -> Result<(), StoreError> {
        let directory = Self::run_directory(&self.made()?, run)?;
        if has_database(&directory) {
            return Err(StoreError::Unwritable {
                path: directory,
                what: "a run of a server, because the run itself is stored there".to_owned(),
            });
        }
        files::make_directory(&directory)?;
        files::write(&directory.join(JOINED), joined, Sync::Now)
    }

    /// Returns the runs that a person has joined on this machine in the project at `root`, each with its folder.
    ///
    /// # Errors
    /// The state directory cannot be read. A run that cannot be read is left out.
    pub fn joined_runs(&self, root: &Path) -> Result<Vec<(RunId, PathBuf)>, StoreError> {
        let mut runs = Vec::new();
        for run in self.directory.run_ids()? {
            let joined = self.directory.joined(&run).ok().flatten();
            if joined.is_some_and(|joined| joined.project_root == root) {
                let folder = self.directory.present_directory(&run)?;
                runs.push((run, folder));
            }
        }
        Ok(runs)
    }

    /// Reads how a run is joined on this machine; `None`: it is not, and is stored here.
    ///
    /// # Errors
    /// There is no such run, or the file cannot be read.
    pub fn joined_run(&self, run: &RunId) -> Result<Option<JoinedRun>, StoreError> {
        self.directory.joined(run)
    }

    /// Returns the real path of the directory; `None` if it does not exist.
    pub(crate) fn existing(&self) -> Result<Option<PathBuf>, StoreError> {
        self.directory.existing()
    }

    /// Returns the real path of the directory, and creates it if necessary.
    pub(crate) fn made(&self) -> Result<PathBuf, StoreError> {
        self.directory.made()
    }

    /// Returns the real path of `place` in the directory, and creates it if necessary.
    pub(crate) fn made_place(&self, place: &str) -> Result<PathBuf, StoreError> {
        self.directory.made_place(place)
    }

    /// Returns the path of the files of `run`, which may not exist, below the real path `root`.
    pub(crate) fn run_directory(root: &Path, run: &RunId) -> Result<PathBuf, StoreError> {
        StateDirectory::run_directory(root, run)
    }

    /// Returns the directory of `run`, which must exist.
    pub(crate) fn present_directory(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        self.directory.present_directory(run)
    }

    /// Opens the file of a run on this machine, even if the runs are stored elsewhere.
    pub(crate) fn local_run(&self, run: &RunId) -> Result<SqliteRun, StoreError> {
        self.directory.open_file(run)
    }

    /// Opens a run that exists.
    ///
    /// # Errors
    /// There is no such run, or it is damaged, foreign or held by others.
    pub fn open_run(&self, run: &RunId) -> Result<RunLog, StoreError> {
        self.runs().open(run)
    }

    /// Finds the run that `wanted` refers to, as [`Runs::find`] does.
    ///
    /// # Errors
    /// No run matches, or several do; the error names them.
    pub fn find_run(&self, wanted: Option<&str>, project_root: &Path) -> Result<RunId, StoreError> {
        self.runs().find(wanted, project_root)
    }

    /// Lists all runs, newest first. A damaged run is listed as damaged and does not hide others.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.runs().list(Which::ALL, &mut RunList::default())
    }

    /// Lists the runs that are `wanted`, as [`Home::list_runs`] does, without reading any other.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_runs_where(
        &self,
        wanted: impl Fn(&RunId) -> bool,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let which = Which {
            projects: None,
            wanted: &wanted,
        };
        self.runs().list(which, &mut RunList::default())
    }

    /// Lists the runs of `projects` that are `wanted`, as [`Home::list_runs`] does.
    ///
    /// Runs of other projects are not read. A damaged run is listed, because only the run itself records its project.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_runs_in(
        &self,
        projects: &[&Path],
        wanted: impl Fn(&RunId) -> bool,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let which = Which {
            projects: Some(projects),
            wanted: &wanted,
        };
        self.runs().list(which, &mut RunList::default())
    }
}

impl RunList {
    /// Lists all runs, as [`Home::list_runs`] does.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&mut self, home: &Home) -> Result<Vec<RunSummary>, StoreError> {
        home.runs().list(Which::ALL, self)
    }
}
