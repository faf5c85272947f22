//! What a hook call knows of this machine.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use interlock_facts::{Disk, Surroundings};
use interlock_shell::Dialect;
use interlock_store::{ClientProcess, Home, StoreError};

/// Time a hook call may take, well inside every client's own limit.
const DEADLINE: Duration = Duration::from_secs(2);

/// Temporary directories that every system has, beside `TMPDIR`.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What a hook call knows of this machine.
#[derive(Debug, Clone)]
pub struct HookEnv {
    /// Interlock's state.
    pub state: Home,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// The person's own configuration directory.
    pub configuration: Option<PathBuf>,
    /// Interlock's program.
    pub program: Option<PathBuf>,
    /// The client's process.
    pub process: Option<ClientProcess>,
    /// Time the call may take.
    pub deadline: Duration,
    /// The person's home directory.
    home: Option<String>,
    user: Option<String>,
    temporary: Option<String>,
    caches: Vec<String>,
    search_path: Vec<String>,
    shell: Dialect,
}

impl HookEnv {
    /// Reads the variables that `env` looks up.
    ///
    /// # Errors
    /// They do not tell where the state directory is.
    pub fn new(
        env: impl Fn(&str) -> Option<OsString>,
        program: Option<PathBuf>,
        process: Option<ClientProcess>,
        now_ms: u64,
    ) -> Result<Self, StoreError> {
        let text = |name: &str| {
            env(name)?
                .into_string()
                .ok()
                .filter(|text| !text.is_empty())
        };
        let path = |name: &str| text(name).filter(|path| path.starts_with('/'));
        let home = path("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| format!("{home}/{name}"));
        let caches = [
            path("XDG_CACHE_HOME").or_else(|| below_home(".cache")),
            below_home("Library/Caches"),
        ];
        Ok(Self {
            state: Home::locate(&env)?,
            now_ms,
            configuration: interlock_project::configuration_directory(&env),
            program,
            process,
            deadline: DEADLINE,
            user: text("USER"),
            temporary: path("TMPDIR").or_else(|| Some("/tmp".to_owned())),
            caches: caches
                .into_iter()
                .flatten()
                .chain(TEMPORARY.map(str::to_owned))
                .collect(),
            search_path: text("PATH")
                .map(|path| path.split(':').map(str::to_owned).collect())
                .unwrap_or_default(),
            shell: shell(text("CLAUDE_CODE_SHELL").or_else(|| text("SHELL"))),
            home,
        })
    }

    /// Returns what the facts of a call need to know.
    pub(super) fn surroundings(
        &self,
        project_root: &Path,
        directory: &str,
        process: Option<&ClientProcess>,
        disk: &dyn Disk,
    ) -> Surroundings {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        Surroundings {
            project_root: project_root.to_string_lossy().into_owned(),
            working_directory: directory.to_owned(),
            home: self.home.clone(),
            user: self.user.clone(),
            temporary: self.temporary.clone(),
            caches: self.caches.clone(),
            state_directory: text(self.state.path()),
            config_directory: self.configuration.as_deref().and_then(text),
            programs: self.program.as_deref().and_then(text).into_iter().collect(),
            search_path: self.search_path.clone(),
            client_process: process.map(|process| process.pid),
            shell: self.shell,
            environment_held: false,
        }
        .resolved(disk)
    }
}

/// Tells what shell a client would run: the person's, where it is one of two.
fn shell(program: Option<String>) -> Dialect {
    let program = program.unwrap_or_default();
    match program.rsplit('/').next() {
        Some("bash") => Dialect::Bash,
        Some("zsh") => Dialect::Zsh,
        _ => Dialect::Unknown,
    }
}
