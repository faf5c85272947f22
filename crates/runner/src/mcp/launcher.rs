//! Starts the MCP servers of runs, and lets stages call their tools.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    machine::Object,
    names::{CallId, Digest, RunId},
};
use interlock_mcp::transport::Reach;
use interlock_models::ToolSpec;
use interlock_process::{Cancel, Stream};
use interlock_project::{Config, Environment, Servers as Configured};
use interlock_store::StoreError;
use interlock_tool_names::served_names;
use interlock_tools::{Arguments, Tool};
use serde_json::{Value, json};

use super::{CallError, ServedTool, ToolServers, ToolServersSettings, WantedServer};
use crate::{
    build_error::BuildError,
    nodes::{NotStarted, ServerRequest},
    run_config::RunConfig,
    screen::Screen,
    stage::{Served, ServedEnd, Servers},
};

/// Interval of checks whether to give up a call.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Label of servers' lines.
const LABEL: &str = "mcp";
/// Code of a call whose tool reports a failure.
const TOOL_ERROR: &str = "tool_error";

/// Receiver of lines for a person.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// Starts the MCP servers of runs.
#[derive(Clone)]
pub struct Launcher {
    environment: Environment,
    plugins: Vec<PathBuf>,
    note: Note,
}

/// The servers of a run, or of a state.
struct StartedServers {
    servers: ToolServers,
    /// Listed tools, by the names that models use; tools that are gone stay.
    known: Mutex<BTreeMap<String, Served>>,
    lines: Lines,
}

/// Receiver of lines for the person: the screen of the run as soon as it has one.
#[derive(Clone)]
struct Lines {
    note: Note,
    screen: Arc<Mutex<Option<Arc<dyn Screen>>>>,
}

impl Lines {
    fn tell(&self, line: &str) {
        match lock(&self.screen).as_ref() {
            Some(screen) => screen.show(LABEL, Stream::Err, format!("{line}\n").as_bytes()),
            None => (self.note)(line),
        }
    }
}

impl std::fmt::Debug for Launcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launcher").finish_non_exhaustive()
    }
}

impl Launcher {
    /// Creates a launcher that sends lines of servers to `note` while there is no screen.
    ///
    /// `plugins` are folders outside the clients' own directories from which clients load Interlock's plugin.
    #[must_use]
    pub fn new(environment: Environment, plugins: Vec<PathBuf>, note: Note) -> Self {
        Self {
            environment,
            plugins,
            note,
        }
    }

    /// Starts the configured servers, and waits for their tools; returns `None` if none are configured.
    ///
    /// Definitions are compared with those that `run` has seen, if it has already begun.
    ///
    /// # Errors
    /// One of them cannot be started as configured.
    pub fn launch_configured(
        &self,
        config: &RunConfig,
        root: &Path,
        run: Option<&RunId>,
    ) -> Result<Option<Arc<dyn Servers>>, BuildError> {
        let configured: Configured = Config::servers(&config.person, &config.project);
        if configured.is_empty() {
            return Ok(None);
        }
        let mut wanted = Vec::new();
        for (name, server) in &configured {
            let server = WantedServer::configured(name, server, root);
            wanted.push(server.map_err(BuildError::Usage)?);
        }
        let started = self.begin(root, wanted, configured, (&config.person, run))?;
        started.tools();
        Ok(Some(Arc::new(started)))
    }

    /// Starts a server that a workflow names, and waits for its tools, or until `given_up`.
    ///
    /// # Errors
    /// It cannot be started or reached.
    pub fn launch(
        &self,
        server: &ServerRequest,
        (root, person): (&Path, &Config),
        screen: Option<Arc<dyn Screen>>,
        given_up: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Servers>, NotStarted> {
        let named = |why: String| format!("the server `{}`: {why}", server.name);
        let fault = |why: String| NotStarted {
            why,
            passing: false,
        };
        let wanted = WantedServer::written(&server.name, &server.written, root);
        let mut wanted = wanted.map_err(fault)?;
        wanted.only.clone_from(&server.only);
        let is_called = matches!(wanted.reach, Reach::Http(_));
        let started = self.begin(root, vec![wanted], Configured::default(), (person, None));
        let started = started.map_err(|error| fault(named(error.to_string())))?;
        if let Some(screen) = screen {
            started.show_on(screen);
        }
        let listed = started.wait_listed(given_up);
        listed.map_err(|why| NotStarted {
            why: named(why),
            // A server that is unavailable may return; a program that does not start will not start the next time.
            passing: is_called && !given_up(),
        })?;
        Ok(Arc::new(started))
    }

    /// Begins to start these servers.
    fn begin(
        &self,
        root: &Path,
        wanted: Vec<WantedServer>,
        configured: Configured,
        (person, run): (&Config, Option<&RunId>),
    ) -> Result<StartedServers, BuildError> {
        let lines = Lines {
            note: Arc::clone(&self.note),
            screen: Arc::default(),
        };
        let told = lines.clone();
        let own = Tool::PIPELINE.iter().chain(&Tool::CODEMIE);
        let servers = ToolServers::start(ToolServersSettings {
            environment: Environment {
                directory: root.to_owned(),
                ..self.environment.clone()
            },
            plugins: self.plugins.clone(),
            wanted,
            configured,
            run: run.cloned(),
            reserved: own.map(|tool| tool.name().to_owned()).collect(),
            message_bytes_max: person.gateway.message_bytes_max(),
            note: Box::new(move |line| told.tell(&line)),
        })?;
        Ok(StartedServers {
            servers,
            known: Mutex::default(),
            lines,
        })
    }
}

impl StartedServers {
    /// Waits for the servers' tools, or until `given_up`.
    ///
    /// The error says why the only server cannot be reached.
    fn wait_listed(&self, given_up: &dyn Fn() -> bool) -> Result<Vec<Served>, String> {
        let listing = self.servers.listing();
        loop {
            if let Some(listed) = listing.wait_for(LOOK_EVERY) {
                let listed = listed.map_err(|error| error.to_string())?;
                return Ok(self.note(listed));
            }
            if given_up() {
                // Dropped below: nobody waits for it any more.
                return Err("it did not say in time what it has".to_owned());
            }
        }
    }

    /// Stores the listed tools.
    fn note(&self, listed: Vec<ServedTool>) -> Vec<Served> {
        let served: Vec<Served> = listed.into_iter().map(served).collect();
        let mut known = lock(&self.known);
        for served in &served {
            known.insert(served.spec.name.clone(), served.clone());
        }
        served
    }
}

impl Servers for StartedServers {
    fn tools(&self) -> Vec<Served> {
        // A note has already said why a server is unavailable.
        self.note(self.servers.tools().unwrap_or_default())
    }

    fn listed(&self) -> Vec<Served> {
        lock(&self.known).values().cloned().collect()
    }

    fn show_on(&self, screen: Arc<dyn Screen>) {
        *lock(&self.lines.screen) = Some(screen);
    }

    fn keep_with(&self, run: &RunId) -> Result<(), StoreError> {
        self.servers.keep_with(run.clone())
    }

    fn known(&self, tool: &str) -> Option<Served> {
        lock(&self.known).get(tool).cloned()
    }

    fn proposed(&self, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall {
        let found = self
            .servers
            .proposed(id.clone(), tool, &object(arguments.value()));
        let mut call = found.unwrap_or_else(|| gone(id));
        // By the name that the model uses, as in the log; rules may use all names.
        tool.clone_into(&mut call.tool);
        call
    }

    fn call(&self, tool: &str, arguments: &Arguments, cancel: &Cancel) -> ServedEnd {
        let call = self.servers.call(tool, object(arguments.value()), None);
        let ended = loop {
            if cancel.is_cancelled() {
                // Dropped below, which cancels it at its server.
                break Err(CallError::Cancelled);
            }
            if let Some(ended) = call.wait_for(LOOK_EVERY) {
                break ended;
            }
        };
        drop(call);
        match ended {
            Ok(result) => ServedEnd {
                ok: result.ok,
                code: (!result.ok).then(|| TOOL_ERROR.to_owned()),
                text: result.text,
                passing: false,
            },
            Err(error) => ServedEnd {
                ok: false,
                code: Some(error.code().to_owned()),
                text: error.to_string(),
                passing: error.is_passing(),
            },
        }
    }
}

fn served(tool: ServedTool) -> Served {
    let description = tool.definition.get("description").and_then(Value::as_str);
    let schema = tool.definition.get("inputSchema");
    Served {
        served_as: served_names(&tool.server, &tool.tool),
        spec: ToolSpec {
            name: tool.name,
            description: description.unwrap_or_default().to_owned(),
            schema: schema
                .filter(|schema| schema.is_object())
                .cloned()
                .unwrap_or_else(|| json!({"type": "object"})),
        },
    }
}

/// Creates a call of an unknown tool.
fn gone(id: CallId) -> ToolCall {
    ToolCall {
        id,
        tool: String::new(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Other,
        digest: Digest::default(),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts {
            malformed: Some("the tool is not there any more".to_owned()),
            ..CallFacts::default()
        },
    }
}

fn object(arguments: &Value) -> Object {
    arguments.as_object().cloned().unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half changed under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
