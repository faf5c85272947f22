//! Where tool states and custom nodes work.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use interlock_confine::Decided;
use interlock_core::{
    event::Event,
    machine::{Machine, Object},
    node::ServerWork,
};
use interlock_facts::Surroundings;
use interlock_tools::Datasource;

use crate::stage::Servers;

/// Where tool states and custom nodes work.
pub struct Nodes {
    /// The project and what is protected around it, links resolved.
    pub place: Surroundings,
    /// What person and project have decided about shell lines.
    pub decided: Decided,
    /// Interlock's program, which carries shell lines.
    pub program: PathBuf,
    /// Folders and files beside the project.
    pub datasources: Vec<Datasource>,
    /// The servers that are there for the whole run.
    pub servers: Option<Arc<dyn Servers>>,
    /// Servers and values that are asked for when they are needed.
    pub configured: Arc<dyn Configured>,
    /// Servers that were started, by what they were started with.
    started: Mutex<BTreeMap<String, Arc<dyn Servers>>>,
}

/// A server that is to be started.
#[derive(Clone, PartialEq)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// `command` with `args` and `env`, or `url` with `headers`, `auth_token` and `type`; and `single_usage`.
    ///
    /// May hold secrets.
    pub written: Object,
    /// The only tools that are taken; `None`: all.
    pub only: Option<Vec<String>>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Servers and values of the configuration, as the one who has it fills them in.
pub trait Configured: Send + Sync {
    /// Starts a server, and waits until it is known what it has.
    ///
    /// # Errors
    /// One sentence: it cannot be started or reached.
    fn start(&self, server: &Asked) -> Result<Arc<dyn Servers>, String>;

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
        place: Surroundings,
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
            started: Mutex::default(),
        }
    }

    /// Starts a server, unless it runs already from the same beginning.
    pub(super) fn start(&self, server: &Asked) -> Result<Arc<dyn Servers>, String> {
        let written = serde_json::Value::Object(server.written.clone());
        let key = format!("{}\n{:?}\n{written}", server.name, server.only);
        // Held meanwhile: of two who want the same, one waits for the other.
        let mut started = self
            .started
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = started.get(&key) {
            return Ok(Arc::clone(known));
        }
        let servers = self.configured.start(server)?;
        started.insert(key, Arc::clone(&servers));
        Ok(servers)
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("project", &self.place.project_root)
            .finish_non_exhaustive()
    }
}
