//! What every command knows: how to print, where it was called, and what belongs to that place.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::Context as _;
use interlock_core::names::RunId;
use interlock_project::{
    Config, Environment, Library, configuration_directory, project_root, workflow_root,
};
use interlock_store::Home;

use crate::{failure::Failure, output::Output};

/// The context of a command.
#[derive(Debug, Clone)]
pub(crate) struct App {
    /// How to print.
    pub(crate) output: Output,
    /// Where the command was called.
    pub(crate) directory: PathBuf,
    /// Environment of the invocation, once it was needed.
    environment: OnceLock<Environment>,
}

impl App {
    /// Returns the root of the project the command was called in.
    pub(crate) fn project(&self) -> PathBuf {
        project_root(&self.directory)
    }

    /// Returns the root of the project that workflows of steps belong to here.
    ///
    /// A folder with `.flowstate/` is a project, too.
    pub(crate) fn flow_project(&self) -> PathBuf {
        workflow_root(&self.directory, home_of_person().as_deref())
    }

    /// Finds a run by an id, a prefix of one, or a name; without one, the newest of this project.
    pub(crate) fn find_run(&self, wanted: Option<&str>) -> Result<RunId, Failure> {
        Ok(self.environment()?.find_run(wanted)?)
    }

    /// Returns the workflows that have a name here and may guard an agent.
    pub(crate) fn library(&self) -> Library {
        Library::new(&self.project(), configuration().as_deref())
    }

    /// Returns the workflows that have a name here, with those of `.flowstate/` first.
    ///
    /// For reading only: an agent may write there.
    pub(crate) fn library_to_read(&self) -> Library {
        self.library_of(&self.directory)
    }

    /// Returns the same for `directory`.
    pub(crate) fn library_of(&self, directory: &Path) -> Library {
        self.library()
            .with_person(directory, home_of_person().as_deref(), variable("PATH"))
    }

    /// Returns the workflows for the root of any project.
    pub(crate) fn library_of_project(root: &Path) -> Library {
        let library = Library::new(root, configuration().as_deref());
        library.with_person(root, home_of_person().as_deref(), variable("PATH"))
    }

    /// Returns the default workflow: that of the project's policy, or the project's only one.
    pub(crate) fn own_workflow(&self) -> Result<String, Failure> {
        let root = self.project();
        if let Some(name) = Config::of_project(&root)?.workflow {
            return Ok(name);
        }
        let own = self.library_to_read().of_project();
        let names: Vec<String> = own
            .iter()
            .map(|entry| format!("`{}`", entry.name))
            .collect();
        let why = match own.as_slice() {
            [only] => return Ok(only.name.clone()),
            [] => anyhow::anyhow!(
                "this project has no workflow: name a file or a shipped one such as `bugfix`, or write one with `interlock new`"
            ),
            _ => anyhow::anyhow!(
                "this project has several workflows: name one of {}",
                names.join(", ")
            ),
        };
        Err(Failure::usage(why))
    }

    /// Creates a context for another directory than the one in which the program was called.
    pub(crate) const fn at(output: Output, directory: PathBuf) -> Self {
        Self {
            output,
            directory,
            environment: OnceLock::new(),
        }
    }

    /// Returns the context with another output.
    pub(crate) fn with(&self, output: Output) -> Self {
        Self {
            output,
            ..self.clone()
        }
    }

    /// Returns the environment of this invocation.
    pub(crate) fn environment(&self) -> Result<&Environment, Failure> {
        if let Some(known) = self.environment.get() {
            return Ok(known);
        }
        let found = Environment {
            directory: self.directory.clone(),
            ..Environment::of_process()?
        };
        Ok(self.environment.get_or_init(|| found))
    }

    /// Returns the state directory.
    pub(crate) fn home(&self) -> Result<Home, Failure> {
        Ok(self.environment()?.home.clone())
    }
}

/// Looks up a variable of the environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the person's own configuration directory; `None` without a home directory.
pub(crate) fn configuration() -> Option<PathBuf> {
    configuration_directory(variable)
}

/// Returns the person's home directory, if there is one.
pub(crate) fn home_of_person() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from)
}

/// Marks every further line of a message as a continuation.
pub(crate) fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}

impl App {
    pub(crate) fn here(output: Output) -> Result<Self, Failure> {
        let directory = std::env::current_dir().context("the current directory cannot be read")?;
        Ok(Self::at(output, directory))
    }
}

/// Returns the absolute path of this program.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().context("the path of this program is unknown")?;
    Ok(absolute(&path))
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
