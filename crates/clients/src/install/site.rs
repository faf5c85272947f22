//! Where the files of the clients lie.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Where the files lie, and what they should start.
#[derive(Debug, Clone)]
pub struct Site {
    /// The project's root.
    pub project_root: PathBuf,
    /// The person's home directory.
    pub home: PathBuf,
    /// This program, absolute.
    pub program: PathBuf,
    /// The person's directory of configuration.
    pub configuration: PathBuf,
    /// Claude Code's own directory of the person.
    pub claude_home: PathBuf,
    /// Codex's.
    pub codex_home: PathBuf,
    /// Copilot's.
    pub copilot_home: PathBuf,
    /// Interlock's state directory; `None`: nothing is kept of what files were before.
    pub state: Option<PathBuf>,
    /// Where programs are looked for.
    pub programs: Vec<PathBuf>,
}

impl Site {
    /// Makes one of the usual places in a home directory, in which no program is found.
    #[must_use]
    pub fn new(project_root: &Path, home: &Path, program: &Path) -> Self {
        Self {
            project_root: project_root.to_owned(),
            home: home.to_owned(),
            program: program.to_owned(),
            configuration: home.join(".config"),
            claude_home: home.join(".claude"),
            codex_home: home.join(".codex"),
            copilot_home: home.join(".copilot"),
            state: None,
            programs: Vec::new(),
        }
    }

    /// Takes the variables into account that move the directories of clients, and the `PATH`.
    #[must_use]
    pub fn moved_by(self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let moved = |name: &str, usual: PathBuf| {
            let set = variable(name).filter(|value| !value.is_empty());
            set.map_or(usual, PathBuf::from)
        };
        let programs = variable("PATH").unwrap_or_default();
        Self {
            configuration: moved("XDG_CONFIG_HOME", self.configuration),
            claude_home: moved("CLAUDE_CONFIG_DIR", self.claude_home),
            codex_home: moved("CODEX_HOME", self.codex_home),
            copilot_home: moved("COPILOT_HOME", self.copilot_home),
            programs: std::env::split_paths(&programs).collect(),
            ..self
        }
    }

    /// Returns the same with another program to be started.
    pub(crate) fn with_program(&self, program: &str) -> Self {
        Self {
            program: program.into(),
            ..self.clone()
        }
    }

    /// Finds a program by its name.
    #[must_use]
    pub fn program_named(&self, name: &str) -> Option<PathBuf> {
        let places = self.programs.iter().filter(|place| place.is_absolute());
        places.map(|place| place.join(name)).find(|path| {
            let known = path.metadata();
            known.is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
        })
    }

    /// Returns where it is kept what files were before.
    pub(super) fn record(&self) -> Option<PathBuf> {
        self.state
            .as_ref()
            .map(|state| state.join("installed.json"))
    }
}
