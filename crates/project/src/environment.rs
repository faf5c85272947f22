//! What one invocation of the program finds, read once.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_core::names::RunId;
use interlock_store::{ClientProcess, Home, StoreError};

use crate::places::{configuration_directory, project_root, workflow_root};

/// What one invocation of the program finds, read once.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The state directory.
    pub home: Home,
    /// The person's own configuration directory; `None` without a home directory.
    pub configuration: Option<PathBuf>,
    /// The working directory; empty where it cannot be read.
    pub directory: PathBuf,
    /// This program.
    pub program: Option<PathBuf>,
    /// The variables.
    pub variables: Vec<(OsString, OsString)>,
    /// The client's process, where it is known; else it is looked for above this one.
    pub client: Option<ClientProcess>,
    /// The time of the invocation, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Environment {
    /// Reads what this process was started with.
    ///
    /// # Errors
    /// The state directory is not known.
    pub fn of_process() -> Result<Self, StoreError> {
        let home = Home::locate(|name| std::env::var_os(name))?;
        let home = home.opening_joined(interlock_fleet::open);
        Ok(Self {
            configuration: configuration_directory(|name| std::env::var_os(name)),
            directory: std::env::current_dir().unwrap_or_default(),
            program: std::env::current_exe().ok(),
            variables: std::env::vars_os().collect(),
            at_ms: now_ms(),
            ..Self::at(home)
        })
    }

    /// Makes an environment in which nothing but the state directory is known.
    #[must_use]
    pub fn at(home: Home) -> Self {
        Self {
            home,
            configuration: None,
            directory: PathBuf::new(),
            program: None,
            variables: Vec::new(),
            client: None,
            at_ms: 0,
        }
    }

    /// Returns the root of the project that the working directory lies in.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        project_root(&self.directory)
    }

    /// Keeps a connection to the server of each run that is joined in this project, for the hooks of a session.
    ///
    /// Where that is not possible, they connect by themselves.
    pub fn keep_connections(&self) {
        let joined = self.home.joined_runs(&self.project());
        for (run, folder) in joined.unwrap_or_default() {
            let (home, of) = (self.home.clone(), run.clone());
            interlock_fleet::keep_connection(run, folder, move || {
                home.joined_run(&of).ok().flatten()
            });
        }
    }

    /// Returns a variable that is text.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variable_os(name)
            .and_then(|value| value.into_string().ok())
    }

    /// Returns a variable as it is.
    #[must_use]
    pub fn variable_os(&self, name: &str) -> Option<OsString> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    /// Returns the person's home directory.
    #[must_use]
    pub fn home_of_person(&self) -> Option<PathBuf> {
        self.variable_os("HOME").map(PathBuf::from)
    }

    /// Returns the variables that are text.
    pub fn texts(&self) -> impl Iterator<Item = (String, String)> {
        let variables = self.variables.iter();
        variables.filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        })
    }

    /// Returns this program's real path, where it is known.
    #[must_use]
    pub fn real_program(&self) -> Option<PathBuf> {
        let program = self.program.as_ref()?;
        Some(program.canonicalize().unwrap_or_else(|_| program.clone()))
    }

    /// Finds a run: an id, a prefix of one, a name, or the newest of this project.
    ///
    /// # Errors
    /// There is none, or several are meant.
    pub fn find_run(&self, wanted: Option<&str>) -> Result<RunId, StoreError> {
        let project = self.project();
        let flows = workflow_root(&self.directory, self.home_of_person().as_deref());
        let found = self.home.find_run(wanted, &flows);
        if project == flows {
            return found;
        }
        found.or_else(|_| self.home.find_run(wanted, &project))
    }

    /// Returns the person's own configuration directory.
    #[must_use]
    pub fn configuration(&self) -> Option<&Path> {
        self.configuration.as_deref()
    }
}

/// Returns the time, in milliseconds since 1970.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
