//! What a hook call needs of the world, read once.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use interlock_confine::Host;
use interlock_store::{ClientProcess, Home};

use crate::{process, settings::Site};

/// What a hook call needs of the world.
#[derive(Debug, Clone)]
pub struct HookSetting {
    /// The state directory.
    pub home: Home,
    /// The person's configuration directory.
    pub configuration: Option<PathBuf>,
    /// This program.
    pub program: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The client's process, where it is known; else it is looked for above this one.
    pub client: Option<ClientProcess>,
    /// Whether the hook of a plugin asks, beside which those of the settings may ask as well.
    pub by_plugin: bool,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
}

impl HookSetting {
    /// Reads what the process was started with.
    ///
    /// # Errors
    /// The state directory is not known.
    pub fn of_process() -> Result<Self, String> {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let look = |name: &str| std::env::var_os(name);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            home: Home::locate(look).map_err(|error| error.to_string())?,
            configuration: interlock_project::configuration_directory(look),
            program: std::env::current_exe().ok(),
            environment,
            client: process::client_above(),
            by_plugin: false,
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Returns what of it matters to the facts of calls.
    #[must_use]
    pub fn host(&self) -> Host {
        Host {
            state_directory: self.home.path().to_owned(),
            configuration: self.configuration.clone(),
            program: self.program.clone(),
            environment: self.environment.clone(),
            plugins: Vec::new(),
        }
    }

    /// Returns where the clients keep their files.
    pub(crate) fn site(&self, root: &Path) -> Site {
        let variable = |name: &str| {
            let found = self.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let home = variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let program = self.program.clone().unwrap_or_default();
        Site::new(root, &home, &program).moved_by(variable)
    }

    /// Returns the client's process, if it can be seen.
    #[must_use]
    pub fn client_process(&self) -> Option<ClientProcess> {
        self.client.clone().or_else(process::client_above)
    }

    /// Returns a variable of the environment that is text.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .and_then(|(_, value)| value.to_str())
            .map(str::to_owned)
    }
}
