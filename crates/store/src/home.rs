//! The home of everything Interlock remembers: small files on this machine, and the runs.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use interlock_core::names::RunId;

use crate::{
    error::StoreError,
    list::RunList,
    listed::{RunSummary, Which},
    run_log::RunLog,
    runs::Runs,
    sqlite_run::SqliteRun,
    state_directory::StateDirectory,
};

/// Everything Interlock remembers: the state directory of this machine, and the runs.
///
/// Nothing is created before the first write.
#[derive(Debug, Clone)]
pub struct Home {
    directory: StateDirectory,
    /// Where the runs are; `None`: in SQLite files of the state directory.
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
    /// Finds the state directory by the variables that `env` looks up.
    ///
    /// `$XDG_STATE_HOME/interlock`, else `$HOME/.local/state/interlock`.
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

    /// Takes `root` as the state directory, with its runs in SQLite files.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            directory: StateDirectory::at(root.into()),
            elsewhere: None,
        }
    }

    /// Keeps the runs in `runs` from now on.
    #[must_use]
    pub fn with_runs(mut self, runs: Arc<dyn Runs>) -> Self {
        self.elsewhere = Some(runs);
        self
    }

    /// Returns where the runs are.
    #[must_use]
    pub fn runs(&self) -> &dyn Runs {
        match &self.elsewhere {
            Some(runs) => &**runs,
            None => &self.directory,
        }
    }

    /// Follows and checks the directory once, for a process that ends after one answer.
    #[must_use]
    pub fn for_one_answer(mut self) -> Self {
        self.directory = self.directory.for_one_answer();
        self
    }

    /// Tells whether the process ends after one answer.
    #[must_use]
    pub const fn is_for_one_answer(&self) -> bool {
        self.directory.is_for_one_answer()
    }

    /// Returns the state directory, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the real path of the directory; `None` when there is none yet.
    pub(crate) fn existing(&self) -> Result<Option<PathBuf>, StoreError> {
        self.directory.existing()
    }

    /// Returns the real path of the directory, made when there is none.
    pub(crate) fn made(&self) -> Result<PathBuf, StoreError> {
        self.directory.made()
    }

    /// Returns the real path of `place` in the directory, made when there is none.
    pub(crate) fn made_place(&self, place: &str) -> Result<PathBuf, StoreError> {
        self.directory.made_place(place)
    }

    /// Returns where the files of `run` are or would be, below the real `root`.
    pub(crate) fn run_directory(root: &Path, run: &RunId) -> Result<PathBuf, StoreError> {
        StateDirectory::run_directory(root, run)
    }

    /// Returns the directory of `run`, which must be there.
    pub(crate) fn present_directory(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        self.directory.present_directory(run)
    }

    /// Opens the file of a run of this machine, wherever the runs are kept otherwise.
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

    /// Finds the run that is meant, as [`Runs::find`] does.
    ///
    /// # Errors
    /// No run fits, or several do; then they are named.
    pub fn find_run(&self, wanted: Option<&str>, project_root: &Path) -> Result<RunId, StoreError> {
        self.runs().find(wanted, project_root)
    }

    /// Lists all runs, newest first. A damaged one is listed as such and hides no other.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.runs().list(Which::ALL, &mut RunList::default())
    }

    /// Lists the runs that are `wanted`, as [`Home::list_runs`] does, and looks at no other.
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
    /// A run of another project is not read, whatever state it is in. One that is
    /// damaged is listed: whose it is only the run itself can tell.
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
