//! The context of tool states and custom nodes.

use std::{
    collections::BTreeSet,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, TryLockError},
    time::Duration,
};

use interlock_confine::Decided;
use interlock_core::{
    event::Event,
    machine::{Machine, Object, ServerWork},
};
use interlock_facts::CallContext;
use interlock_tools::Datasource;

mod started;

use crate::stage::Servers;
use started::Started;

/// Interval of checks whether the state was stopped.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What tool states and custom nodes work with.
pub struct Nodes {
    /// Project and protected files, with links resolved.
    pub place: CallContext,
    /// Decisions of person and project about shell lines.
    pub decided: Decided,
    /// Path of Interlock's program, which runs shell lines.
    pub program: PathBuf,
    /// Folders and files besides the project.
    pub datasources: Vec<Datasource>,
    /// Servers available for the whole run.
    pub servers: Option<Arc<dyn Servers>>,
    /// Servers and values that are looked up when needed.
    pub configured: Arc<dyn Configured>,
    /// Servers that were started for states.
    started: Started,
    /// Servers that a person has allowed although the data of the run chose them.
    allowed: Mutex<BTreeSet<String>>,
}

/// A server to start.
#[derive(Clone, PartialEq)]
pub struct ServerRequest {
    /// Name of the server.
    pub name: String,
    /// `command` with `args` and `env`, or `url` with `headers`, `auth_token` and `type`; and `single_usage`.
    ///
    /// May contain secrets.
    pub written: Object,
    /// Tools to use; `None`: all.
    pub only: Option<Vec<String>>,
}

impl fmt::Debug for ServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ServerRequest {
    /// Returns a key that distinguishes servers by everything that they are started with.
    pub(crate) fn key(&self) -> String {
        let written = serde_json::Value::Object(self.written.clone());
        format!("{}\n{:?}\n{written}", self.name, self.only)
    }
}

/// Why a server could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotStarted {
    /// One sentence.
    pub why: String,
    /// Whether the server may be available later.
    pub passing: bool,
}

impl NotStarted {
    /// Creates the error for a server that nobody waits for any more.
    pub(crate) fn given_up(server: &ServerRequest) -> Self {
        Self {
            why: format!("the server `{}` was not waited for any longer", server.name),
            passing: false,
        }
    }
}

/// Access to servers and values of the configuration.
pub trait Configured: Send + Sync {
    /// Starts a server, and waits for its tools, or until `given_up`.
    ///
    /// # Errors
    /// It cannot be started or reached.
    fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted>;

    /// Returns whether the person trusts the project.
    fn trusts_project(&self) -> bool;

    /// Finds a server of the configuration.
    fn server(&self, id: &str) -> Option<ServerWork>;

    /// Lists the servers of the configuration, each with its id.
    fn servers(&self) -> Vec<(String, ServerWork)>;

    /// Returns the values of an integration, by the names of their variables.
    ///
    /// # Errors
    /// One sentence without any value: there is no such integration, or a variable is not set.
    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String>;

    /// Returns the machine and every event of another run.
    ///
    /// # Errors
    /// One sentence: there is no such run, or it cannot be read.
    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String>;
}

impl Nodes {
    /// Creates the context; nothing is started yet.
    #[must_use]
    pub fn new(
        place: CallContext,
        decided: Decided,
        program: PathBuf,
        configured: Arc<dyn Configured>,
    ) -> Self {
        Self {
            place,
            decided,
            program,
            datasources: Vec::new(),
            servers: None,
            configured,
            started: Started::default(),
            allowed: Mutex::default(),
        }
    }

    /// Starts a server, unless an equal one is already running.
    pub(crate) fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let configured = self.configured.as_ref();
        self.started.start(configured, server, given_up)
    }

    /// Returns whether an equal server is running.
    pub(crate) fn is_started(&self, server: &ServerRequest) -> bool {
        self.started.has(server)
    }

    /// Returns the allowed servers, by everything that they are started with.
    ///
    /// The lock is held while a person is asked; returns `None` if it is held.
    pub(crate) fn allowed(&self) -> Option<MutexGuard<'_, BTreeSet<String>>> {
        match self.allowed.try_lock() {
            Ok(allowed) => Some(allowed),
            Err(TryLockError::Poisoned(broken)) => Some(broken.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("project", &self.place.project_root)
            .finish_non_exhaustive()
    }
}
