//! Servers, values and other runs that tool states and custom nodes need.

use std::{error::Error, path::PathBuf, sync::Arc};

use interlock_core::{
    event::Event,
    machine::{Machine, ServerWork},
};
use interlock_project::{Assets, Environment};
use interlock_store::{EventLog as _, StoreError};

use crate::{
    mcp::Launcher,
    nodes::{Configured, NotStarted, ServerRequest},
    run_config::RunConfig,
    screen::Screen,
    stage::Servers,
};

/// The configuration of person and project, as far as it applies.
pub(super) struct Configuration {
    pub(super) environment: Environment,
    pub(super) root: PathBuf,
    pub(super) config: RunConfig,
    pub(super) assets: Assets,
    pub(super) launcher: Launcher,
    /// Receiver of servers' lines; `None` until there is one.
    pub(super) screen: Option<Arc<dyn Screen>>,
}

impl Configuration {
    fn read(&self, id: &str) -> Result<(Machine, Vec<Event>), StoreError> {
        let run = self.environment.find_run(Some(id))?;
        let log = self.environment.home.open_run(&run)?;
        let events = log.events(0);
        let events = events.map(|recorded| recorded.map(|recorded| recorded.event));
        Ok((log.machine()?, events.collect::<Result<_, _>>()?))
    }
}

impl Configured for Configuration {
    fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let place = (self.root.as_path(), &self.config.person);
        let screen = self.screen.clone();
        self.launcher.launch(server, place, screen, given_up)
    }

    fn trusts_project(&self) -> bool {
        self.config.is_trusted
    }

    fn server(&self, id: &str) -> Option<ServerWork> {
        self.assets.server(id)
    }

    fn servers(&self) -> Vec<(String, ServerWork)> {
        self.assets.servers()
    }

    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String> {
        let found = self.assets.integration(alias);
        let found =
            found.ok_or_else(|| format!("the configuration has no `[integrations.{alias}]`"))?;
        let values = found.environment(|name| self.environment.variable(name));
        values.map_err(|why| format!("`[integrations.{alias}]`: {why}"))
    }

    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String> {
        let failed = |error: StoreError| format!("the run `{id}` cannot be read: {}", told(&error));
        self.read(id).map_err(failed)
    }
}

/// Formats an error and its causes in one line.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
