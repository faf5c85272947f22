//! The servers behind a gateway, and how each is reached.

mod capacity;
mod of_workflow;

use std::{path::Path, sync::Arc, time::Duration};

use interlock_project::{Config, Library, ServerConfig, Servers, Transport};
use interlock_served::reach;

use crate::{
    error::GatewayError,
    govern::{Caller, Governor, SessionPolicy},
    governor_queue::Nobody,
    metrics::{Counting, Metrics},
    notes::Notes,
    session::{Bounds, Gateway},
    settings::Settings,
    upstream::{Dial, Reach, Running, Server, stdio::Process},
};

/// Maximum number of sessions that are ending while others begin in their place.
const ENDING_MAX: usize = 64;

/// The servers behind a gateway, and its limits.
#[derive(Debug, Clone, Default)]
pub struct ServerSet {
    /// Servers of the configuration.
    pub servers: Servers,
    /// Names of the project's servers that are left out because the project is not trusted.
    pub left_out: Vec<String>,
    /// Wrapped server, used instead of the configured ones.
    pub wrapped: Option<Process>,
    /// Limits of the gateway.
    pub bounds: Bounds,
    /// Configured limit of open sessions; `None`: chosen for the machine.
    pub sessions: Option<usize>,
    /// Counters of decisions and connected servers.
    pub metrics: Metrics,
}

impl ServerSet {
    /// Reads the servers from the configuration of the person and of the project.
    ///
    /// Those of the workflow that guards every session of the project are included.
    ///
    /// # Errors
    /// A configuration cannot be read.
    pub fn configured(settings: &Settings) -> Result<Self, GatewayError> {
        let failed =
            |error: interlock_project::ConfigError| GatewayError::Settings(error.to_string());
        let person =
            Config::of_person(settings.environment.configuration.as_deref()).map_err(failed)?;
        let root = settings.environment.project();
        let project = Config::of_project(&root).map_err(failed)?;
        let bounds = if project.gateway == interlock_project::GatewayConfig::default() {
            &person.gateway
        } else {
            &project.gateway
        };
        let behind = Self {
            left_out: Vec::new(),
            bounds: Bounds {
                message_bytes_max: bounds.message_bytes_max(),
                calls_max: bounds.calls_max(),
                ..Bounds::default()
            },
            sessions: bounds.sessions_max(),
            servers: Config::servers(&person, &project),
            wrapped: None,
            metrics: Metrics::default(),
        };
        let library = Library::new(&root, settings.environment.configuration.as_deref());
        let of_policy = project.workflow.as_deref();
        // An unreadable workflow denies every call, with the reason.
        match of_policy.and_then(|workflow| of_workflow::servers(&library, workflow)) {
            Some(servers) => behind.joined(servers),
            None => Ok(behind),
        }
    }

    /// Adds the servers that a workflow file names; configured ones take precedence.
    ///
    /// # Errors
    /// There is no such workflow, or the workflow or its list of servers has errors.
    pub fn with_servers_of(
        self,
        settings: &Settings,
        workflow: &str,
    ) -> Result<Self, GatewayError> {
        let root = settings.environment.project();
        let library = Library::new(&root, settings.environment.configuration.as_deref());
        let found = of_workflow::servers(&library, workflow);
        let mistake = || Err(of_workflow::mistake(&library, workflow));
        self.joined(found.unwrap_or_else(mistake))
    }

    fn joined(mut self, servers: Result<Servers, String>) -> Result<Self, GatewayError> {
        for (name, server) in servers.map_err(GatewayError::Settings)? {
            self.servers.entry(name).or_insert(server);
        }
        Ok(self)
    }

    /// Leaves out the project's own servers if the project is not trusted.
    ///
    /// # Errors
    /// A configuration cannot be read.
    pub fn of_trusted(mut self, settings: &Settings) -> Result<Self, GatewayError> {
        let failed =
            |error: interlock_project::ConfigError| GatewayError::Settings(error.to_string());
        let person =
            Config::of_person(settings.environment.configuration.as_deref()).map_err(failed)?;
        let root = settings.environment.project();
        let project = Config::of_project(&root).map_err(failed)?;
        if !person.trusts(&root) {
            let (own, _) = Config::trusted_servers(&person, &project, &root);
            // Servers of the workflow that the project names belong to the project, too.
            let brought = self.servers.keys().filter(|name| !own.contains_key(*name));
            self.left_out = brought.map(ToString::to_string).collect();
            self.servers = own;
        }
        Ok(self)
    }

    /// Uses one server instead of the configured ones.
    #[must_use]
    pub fn wrapping(mut self, process: Process) -> Self {
        self.servers = Servers::default();
        self.left_out = Vec::new();
        self.wrapped = Some(process);
        self
    }

    /// Returns the limit of open sessions: as configured, or chosen for the machine.
    #[must_use]
    pub fn sessions_max(&self) -> usize {
        let starts = self.servers.values();
        let starts = starts
            .filter(|server| matches!(server.transport, Transport::Stdio(_)) && !server.shared);
        let starts = starts.count() + usize::from(self.wrapped.is_some());
        self.sessions.unwrap_or_else(|| capacity::sessions(starts))
    }

    /// Creates the gateway in front of the servers; needs a `tokio` runtime.
    ///
    /// # Errors
    /// A server's settings name a variable that is not set.
    pub fn gateway(
        &self,
        settings: &Settings,
        notes: Notes,
        running: Running,
    ) -> Result<Arc<Gateway>, GatewayError> {
        let root = settings.environment.project();
        let mut servers = Vec::new();
        for (name, config) in &self.servers {
            servers.push(server(name.as_str(), config, &root)?);
        }
        if let Some(process) = &self.wrapped {
            servers.push(Server::new("", Box::new(process.clone())));
        }
        let (settings, known) = (settings.clone(), self.servers.clone());
        let told = notes.clone();
        let metrics = self.metrics.clone();
        for server in &mut servers {
            server.metrics = metrics.clone();
        }
        let appoint = move |who: &Caller| -> Box<dyn SessionPolicy> {
            match Governor::new(settings.clone(), who.clone(), &known) {
                Ok(governor) => Box::new(Counting {
                    inner: Box::new(governor),
                    metrics: metrics.clone(),
                }),
                Err(error) => {
                    told.tell(&format!("interlock: {error}; every call is refused"));
                    Box::new(Nobody)
                }
            }
        };
        Ok(Gateway::new(
            servers,
            Bounds {
                // The listener counts clients; sessions that are just ending do not count.
                sessions_max: self.sessions_max().saturating_add(ENDING_MAX),
                ..self.bounds
            },
            notes,
            running,
            Arc::new(appoint),
        ))
    }
}

fn server(name: &str, config: &ServerConfig, root: &Path) -> Result<Server, GatewayError> {
    let failed = |why: String| GatewayError::Settings(format!("the server `{name}`: {why}"));
    let dial: Box<dyn Dial> = match reach(&config.transport, root).map_err(failed)? {
        Reach::Process(process) => Box::new(process),
        Reach::Http(http) => http,
    };
    let mut server = Server::new(name, dial);
    server.shared = config.shared;
    server.asks = config.asks;
    server.timeout = config.timeout_ms.map(Duration::from_millis);
    Ok(server)
}
