//! The locations of the clients' files.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use interlock_project::Environment;

use super::Scope;

/// Name of the program on a `PATH`.
pub(crate) const NAME: &str = "interlock";

/// Trust in the folder that a client is started in, given by environment variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustedByVariable {
    /// Gemini CLI's trust, and the variable that sets it.
    pub gemini: Option<(bool, &'static str)>,
    /// Whether Copilot CLI trusts every folder.
    pub copilot: bool,
}

impl TrustedByVariable {
    /// Reads the variables as the clients do: each accepts exactly these values.
    fn read(is: impl Fn(&str, &str) -> bool) -> Self {
        let gemini = [
            ("GEMINI_RESTRICTED_MODE", "true", false),
            ("GEMINI_CLI_TRUST_WORKSPACE", "false", false),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true", true),
        ];
        let said = gemini.into_iter().find(|(name, word, _)| is(name, word));
        Self {
            gemini: said.map(|(name, _, trusted)| (trusted, name)),
            copilot: is("COPILOT_ALLOW_ALL", "true"),
        }
    }
}

/// The locations of the clients' files, and the program that they start.
#[derive(Debug, Clone)]
pub struct Site {
    /// The project's root.
    pub project_root: PathBuf,
    /// The person's home directory.
    pub home: PathBuf,
    /// Absolute path of this program.
    pub program: PathBuf,
    /// Whether files contain only the program's name, so that it is found on each person's `PATH`.
    pub by_name: bool,
    /// Whether the written files belong to a plugin, which finds the program on the `PATH` as well.
    pub in_plugin: bool,
    /// The person's configuration directory.
    pub configuration: PathBuf,
    /// The person's cache directory.
    pub cache: PathBuf,
    /// The person's directory for Claude Code.
    pub claude_home: PathBuf,
    /// The person's directory for Codex.
    pub codex_home: PathBuf,
    /// The person's directory for Copilot CLI.
    pub copilot_home: PathBuf,
    /// The person's directory for Gemini CLI, which may be below another home.
    pub gemini_home: PathBuf,
    /// File with the folders that Gemini CLI trusts; `None` for the one in its directory.
    pub gemini_trusted: Option<PathBuf>,
    /// Trust that variables give to the folder that a client is started in.
    pub trusted_by_variable: TrustedByVariable,
    /// Interlock's state directory; `None` if no previous contents are recorded.
    pub state: Option<PathBuf>,
    /// Directories that are searched for programs.
    pub programs: Vec<PathBuf>,
}

impl Site {
    /// Creates a site with the usual locations in a home directory, in which no program is found.
    #[must_use]
    pub fn new(project_root: &Path, home: &Path, program: &Path) -> Self {
        Self {
            project_root: project_root.to_owned(),
            home: home.to_owned(),
            program: program.to_owned(),
            by_name: false,
            in_plugin: false,
            configuration: home.join(".config"),
            cache: home.join(".cache"),
            claude_home: home.join(".claude"),
            codex_home: home.join(".codex"),
            copilot_home: home.join(".copilot"),
            gemini_home: home.join(".gemini"),
            gemini_trusted: None,
            trusted_by_variable: TrustedByVariable::default(),
            state: None,
            programs: Vec::new(),
        }
    }

    /// Applies the variables that move the directories of clients, and the `PATH`.
    #[must_use]
    pub fn moved_by(self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let moved = |name: &str, usual: PathBuf| {
            let set = variable(name).filter(|value| !value.is_empty());
            set.map_or(usual, PathBuf::from)
        };
        let programs = variable("PATH").unwrap_or_default();
        let gemini = variable("GEMINI_CLI_HOME").filter(|home| !home.is_empty());
        let trusted = variable("GEMINI_CLI_TRUSTED_FOLDERS_PATH");
        Self {
            gemini_home: gemini
                .map_or(self.gemini_home, |home| PathBuf::from(home).join(".gemini")),
            gemini_trusted: trusted.filter(|path| !path.is_empty()).map(PathBuf::from),
            trusted_by_variable: TrustedByVariable::read(|name, word| {
                variable(name).is_some_and(|value| value == *word)
            }),
            configuration: moved("XDG_CONFIG_HOME", self.configuration),
            cache: moved("XDG_CACHE_HOME", self.cache),
            claude_home: moved("CLAUDE_CONFIG_DIR", self.claude_home),
            codex_home: moved("CODEX_HOME", self.codex_home),
            copilot_home: moved("COPILOT_HOME", self.copilot_home),
            programs: std::env::split_paths(&programs).collect(),
            ..self
        }
    }

    /// Determines the clients' locations in an environment.
    pub(crate) fn of(environment: &Environment, root: &Path) -> Self {
        let home = environment
            .home_of_person()
            .unwrap_or_else(|| PathBuf::from("/"));
        let program = environment.program.clone().unwrap_or_default();
        Self::new(root, &home, &program).moved_by(|name| environment.variable_os(name))
    }

    /// Creates the site of a plugin, which is the same on every machine.
    pub(crate) fn of_plugin() -> Self {
        let nowhere = Path::new("/");
        Self {
            by_name: true,
            in_plugin: true,
            ..Self::new(nowhere, nowhere, Path::new(NAME))
        }
    }

    /// Returns whether a word in a file refers to this program: by its name, or by its path.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        let path = Path::new(word);
        word == NAME
            || path == self.program
            || real(path).is_some_and(|path| real(&self.program) == Some(path))
    }

    /// Returns the site for files of this scope: shared files contain the program's name, if that resolves to it here.
    pub(crate) fn in_scope(&self, scope: Scope) -> Self {
        let found = self.program_named(NAME).and_then(|path| real(&path));
        Self {
            by_name: scope == Scope::Project && found.is_some() && found == real(&self.program),
            ..self.clone()
        }
    }

    /// Returns how files refer to the program: by its path or its name.
    pub(crate) fn called(&self) -> String {
        if self.by_name {
            NAME.to_owned()
        } else {
            self.program.display().to_string()
        }
    }

    /// Returns the site with another program to be started.
    pub(crate) fn with_program(&self, program: &str) -> Self {
        Self {
            program: program.into(),
            by_name: false,
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

    /// Returns the file that records previous contents.
    pub(crate) fn record(&self) -> Option<PathBuf> {
        self.state
            .as_ref()
            .map(|state| state.join("installed.json"))
    }
}

/// Resolves a path, including links.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
