//! What a process was started with, as far as it matters to the facts of calls.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use interlock_facts::Surroundings;
use interlock_shell::Dialect;

/// What a process was started with, as far as it matters to the facts of calls.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Interlock's state directory.
    pub state_directory: PathBuf,
    /// The person's configuration directory.
    pub configuration: Option<PathBuf>,
    /// Interlock's program.
    pub program: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Folders from which clients load Interlock's plugin, outside of their own directories.
    pub plugins: Vec<PathBuf>,
}

/// The protected place that such a folder is one more of.
const OWN: &str = ".interlock";

/// Tells whether a process holds a file; where that cannot be told, one does.
fn is_held(path: &Path) -> bool {
    match fs::File::open(path).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => false,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        Ok(Err(_)) => true,
    }
}

impl Host {
    /// Returns a variable of the environment that is text.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .and_then(|(_, value)| value.to_str())
            .map(str::to_owned)
    }

    /// Returns the names of its variables.
    fn names(&self) -> Vec<String> {
        let names = self.environment.iter();
        names
            .filter_map(|(name, _)| name.to_str().map(str::to_owned))
            .collect()
    }

    /// Lists the ports on which a person's console listens: each holds a file that is named by its port.
    fn consoles(&self) -> Vec<u16> {
        let files = fs::read_dir(self.state_directory.join("consoles"));
        files
            .into_iter()
            .flatten()
            .filter_map(|file| {
                let file = file.ok()?;
                let port = file.file_name().to_str()?.parse().ok()?;
                is_held(&file.path()).then_some(port)
            })
            .collect()
    }

    /// Describes where a call would run, for its facts.
    ///
    /// `client` is the process of the agent, where it is one of its own.
    #[must_use]
    pub fn surroundings(&self, root: &Path, directory: &str, client: Option<u32>) -> Surroundings {
        let variable = |name: &str| self.variable(name).filter(|value| value.starts_with('/'));
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let home = variable("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| format!("{home}/{name}"));
        let caches = [
            variable("XDG_CACHE_HOME"),
            below_home(".cache"),
            below_home("Library/Caches"),
            Some("/tmp".to_owned()),
            Some("/var/tmp".to_owned()),
        ];
        Surroundings {
            project_root: text(root).unwrap_or_default(),
            working_directory: directory.to_owned(),
            user: self.variable("USER"),
            temporary: variable("TMPDIR").or_else(|| Some("/tmp".to_owned())),
            caches: caches.into_iter().flatten().collect(),
            writable: Vec::new(),
            state_directory: text(&self.state_directory),
            config_directory: self.configuration.as_deref().and_then(text),
            programs: self.program.as_deref().and_then(text).into_iter().collect(),
            search_path: self
                .variable("PATH")
                .map(|path| {
                    path.split(':')
                        .filter(|part| part.starts_with('/'))
                        .map(str::to_owned)
                        .collect()
                })
                .unwrap_or_default(),
            client_process: client,
            shell: shell(self),
            allowed_by_person: Vec::new(),
            transparent: Vec::new(),
            variables: self.names(),
            consoles: self.consoles(),
            environment_held: false,
            kernel_holds: false,
            moved: moved(&variable)
                .into_iter()
                .chain(
                    self.plugins
                        .iter()
                        .filter_map(|folder| Some((OWN.to_owned(), text(folder)?))),
                )
                .collect(),
            opened: Vec::new(),
            home,
        }
    }
}

/// Variables that put a protected place elsewhere, with the place below home that they stand for.
const MOVERS: &[(&str, &str, &str)] = &[
    ("CLAUDE_CONFIG_DIR", "", ".claude"),
    ("CLAUDE_CONFIG_DIR", "/.claude.json", ".claude.json"),
    ("CODEX_HOME", "", ".codex"),
    ("COPILOT_HOME", "", ".copilot"),
    ("GEMINI_CLI_HOME", "/.gemini", ".gemini"),
    (
        "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
        "",
        ".gemini/settings.json",
    ),
    (
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "",
        ".gemini/settings.json",
    ),
    ("OPENCODE_CONFIG_DIR", "", ".opencode"),
    ("OPENCODE_CONFIG", "", "opencode.json*"),
    ("XDG_CACHE_HOME", "/opencode", ".cache/opencode"),
    ("XDG_CACHE_HOME", "/copilot", ".cache/copilot"),
    ("GIT_CONFIG_GLOBAL", "", ".gitconfig"),
    ("ZDOTDIR", "/.zshrc", ".zshrc"),
    ("ZDOTDIR", "/.zshenv", ".zshenv"),
    ("ZDOTDIR", "/.zprofile", ".zprofile"),
    ("ZDOTDIR", "/.zlogin", ".zlogin"),
    ("ZDOTDIR", "/.zlogout", ".zlogout"),
    ("BASH_ENV", "", ".bashrc"),
    ("ENV", "", ".shrc"),
    ("INPUTRC", "", ".inputrc"),
];

fn moved(variable: &impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let moved = MOVERS.iter().filter_map(|(name, below, standard)| {
        let value = variable(name)?;
        let value = value.trim_end_matches('/');
        // An empty path would be all there is.
        (!value.is_empty()).then(|| ((*standard).to_owned(), format!("{value}{below}")))
    });
    moved.collect()
}

/// Tells which shell a client runs lines with: the person's, where it is one of two.
fn shell(host: &Host) -> Dialect {
    shell_of_person(|name| host.variable(name))
}

/// Tells which shell a person has, by the variables that say so; bash and zsh alone are told apart.
#[must_use]
pub fn shell_of_person(variable: impl Fn(&str) -> Option<String>) -> Dialect {
    let program = ["CLAUDE_CODE_SHELL", "SHELL"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default();
    match program.rsplit('/').next() {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        _ => Dialect::Unknown,
    }
}
