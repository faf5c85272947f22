//! What starts the MCP servers of a run.

use std::{path::Path, sync::Arc};

use interlock_core::names::RunId;
use interlock_project::Config;

use super::{BuildError, RunConfig};
use crate::{
    nodes::{NotStarted, ServerRequest},
    screen::Screen,
    stage::Servers,
};

/// Starts the MCP servers of a run.
pub trait ServerLauncher: Send + Sync {
    /// Starts the servers that are configured, and waits until it is known what they have; `None`: there are none.
    ///
    /// Definitions are held to what `run` has seen, where it has begun already.
    ///
    /// # Errors
    /// One of them cannot be started as it is configured.
    fn launch_configured(
        &self,
        config: &RunConfig,
        root: &Path,
        run: Option<&RunId>,
    ) -> Result<Option<Arc<dyn Servers>>, BuildError>;

    /// Starts a server that a workflow names, and waits until it is known what it has, or until it is `given_up`.
    ///
    /// # Errors
    /// It cannot be started or reached.
    fn launch(
        &self,
        server: &ServerRequest,
        root: &Path,
        person: &Config,
        screen: Option<Arc<dyn Screen>>,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted>;
}
