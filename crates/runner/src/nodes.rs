//! Where tool states and custom nodes work.

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

/// Time between two looks whether somebody stopped the state.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What tool states and custom nodes work with.
pub struct Nodes {
    /// Project and protected things, links resolved.
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
    /// May hold secrets.
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
    /// Tells servers apart by all that they are started with.
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
    /// Whether it may be available later.
    pub passing: bool,
}

impl NotStarted {
    /// Says that nobody waits for a server any more.
    pub(crate) fn given_up(server: &ServerRequest) -> Self {
        Self {
            why: format!("the server `{}` was not waited for any longer", server.name),
            passing: false,
        }
    }
}

/// Access to servers and values of the configuration.
pub trait Configured: Send + Sync {
    /// Starts a server, and waits until it is known what it has, or until it is `given_up`.
    ///
    /// # Errors
    /// It cannot be started or reached.
    fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted>;

    /// Tells whether the person has said that they trust the project.
    fn trusts_project(&self) -> bool;

    /// Finds a server of the configuration.
    fn server(&self, id: &str) -> Option<ServerWork>;

    /// Lists the servers of the configuration, each with its id.
    fn servers(&self) -> Vec<(String, ServerWork)>;

    /// Returns the values of an integration, by the names of their variables.
    ///
    /// # Errors
    /// One sentence that holds no value: there is none, or a variable is not set.
    fn integration(&self, alias: &str) -> Result<Vec<(String, String)>, String>;

    /// Returns the machine and every event of another run.
    ///
    /// # Errors
    /// One sentence: there is none, or it cannot be read.
    fn run(&self, id: &str) -> Result<(Machine, Vec<Event>), String>;
}

impl Nodes {
    /// Takes where they work; nothing is started yet.
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

    /// Starts a server, unless one runs already that was started with the same.
    pub(crate) fn start(
        &self,
        server: &ServerRequest,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let configured = self.configured.as_ref();
        self.started.start(configured, server, given_up)
    }

    /// Tells whether a server runs that was started with the same.
    pub(crate) fn is_started(&self, server: &ServerRequest) -> bool {
        self.started.has(server)
    }

    /// Returns which servers a person has allowed, by all that they are started with.
    ///
    /// Held while one is asked; `None`: somebody holds it.
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
