//! The MCP servers of a run, whose tools its stages call: started with it, ended with it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    machine::{Activity, Machine, Object},
    names::{CallId, Digest, RunId},
};
use interlock_gateway::tool_servers::{
    CallError, ServedTool, ToolServers, ToolServersSettings, WantedServer,
};
use interlock_models::ToolSpec;
use interlock_process::Cancel;
use interlock_process::Stream;
use interlock_project::{Config, Environment, Servers as Configured};
use interlock_runner::{Screen, Served, ServedEnd, Servers};
use interlock_tool_names::served_names;
use interlock_tools::{Arguments, Tool};
use serde_json::{Value, json};

use crate::{
    app::{self, App},
    authority,
    failure::Failure,
    output::Output,
};

/// Time between two looks whether a call is to be given up.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What lines of servers are labelled with.
const LABEL: &str = "mcp";
/// The code of a call that its tool says has failed.
const TOOL_ERROR: &str = "tool_error";

/// The servers of a run.
pub(super) struct OfRun {
    servers: ToolServers,
    /// What was listed, by the name that models call it by; what is gone stays.
    known: Mutex<BTreeMap<String, Served>>,
    lines: Lines,
}

/// Where lines for the person go: to the screen of the run as soon as it has one.
#[derive(Clone)]
struct Lines {
    output: Output,
    screen: Arc<Mutex<Option<Arc<dyn Screen>>>>,
}

impl Lines {
    fn tell(&self, line: &str) {
        match lock(&self.screen).as_ref() {
            Some(screen) => screen.show(LABEL, Stream::Err, format!("{line}\n").as_bytes()),
            None => self.output.remark(&format!("{line}\n")),
        }
    }
}

impl OfRun {
    /// Starts the servers that person and project have configured, and waits until it is known what they have.
    ///
    /// Definitions are held to what `run` has seen, where it has begun already. `None`: there are no servers.
    pub(super) fn start(
        app: &App,
        root: &Path,
        (person, project): (&Config, &Config),
        run: Option<&RunId>,
    ) -> Result<Option<Self>, Failure> {
        let configured: Configured = Config::servers(person, project);
        if configured.is_empty() {
            return Ok(None);
        }
        let mut wanted = Vec::new();
        for (name, server) in &configured {
            let server = WantedServer::configured(name, server, root);
            wanted.push(server.map_err(|why| Failure::usage(anyhow::anyhow!(why)))?);
        }
        let started = Self::begin(app, root, wanted, configured, (person, run))?;
        started.tools();
        Ok(Some(started))
    }

    /// Begins to start these servers.
    pub(super) fn begin(
        app: &App,
        root: &Path,
        wanted: Vec<WantedServer>,
        configured: Configured,
        (person, run): (&Config, Option<&RunId>),
    ) -> Result<Self, Failure> {
        let lines = Lines {
            output: app.output,
            screen: Arc::default(),
        };
        let told = lines.clone();
        let servers = ToolServers::start(ToolServersSettings {
            environment: Environment {
                directory: root.to_owned(),
                ..app.environment()?.clone()
            },
            wanted,
            configured,
            run: run.cloned(),
            reserved: Tool::PIPELINE
                .iter()
                .chain(&Tool::CODEMIE)
                .map(|tool| tool.name().to_owned())
                .collect(),
            message_bytes_max: person.gateway.message_bytes_max(),
            note: Box::new(move |line| told.tell(&line)),
        })?;
        Ok(Self {
            servers,
            known: Mutex::default(),
            lines,
        })
    }

    /// Waits until it is known what they have, or until that is `given_up`.
    ///
    /// The error says why the only server there is cannot be reached.
    pub(super) fn listed(&self, given_up: &dyn Fn() -> bool) -> Result<Vec<Served>, String> {
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

    /// Keeps what was listed.
    fn note(&self, listed: Vec<ServedTool>) -> Vec<Served> {
        let served: Vec<Served> = listed.into_iter().map(served).collect();
        let mut known = lock(&self.known);
        for served in &served {
            known.insert(served.spec.name.clone(), served.clone());
        }
        served
    }

    /// Shows lines of the servers on the screen of a run.
    pub(super) fn show_on(&self, screen: Arc<dyn Screen>) {
        *lock(&self.lines.screen) = Some(screen);
    }

    /// Holds definitions to what the run with this id has seen, from now on, and shows lines on its screen.
    pub(super) fn belong_to(&self, run: RunId, screen: Arc<dyn Screen>) -> Result<(), Failure> {
        self.show_on(screen);
        Ok(self.servers.keep_with(run)?)
    }

    /// Refuses a stage of `machine` that is to end with the name of a server's tool.
    pub(super) fn leave_free(&self, machine: &Machine) -> Result<(), Failure> {
        let known = lock(&self.known);
        let machines = std::iter::once(machine).chain(machine.machines.values());
        for (state, activity) in machines.flat_map(|machine| {
            let states = machine.states.iter();
            states.map(|(name, state)| (machine.shown(name), &state.activity))
        }) {
            let Activity::Stage(stage) = activity else {
                continue;
            };
            let Some(name) = stage.completion_tool() else {
                continue;
            };
            let of = |served: &&Served| {
                served.spec.name == name || served.served_as.iter().any(|other| other == name)
            };
            if let Some(served) = known.values().find(of) {
                let whole = served.served_as.get(1).unwrap_or(&served.spec.name);
                return Err(Failure::usage(anyhow::anyhow!(
                    "`{state}` is to end with the tool `{name}`, and an MCP server has one of that name (`{whole}`): \
                     choose another name for what ends the stage, such as `submit_result`"
                )));
            }
        }
        Ok(())
    }
}

impl Servers for OfRun {
    fn tools(&self) -> Vec<Served> {
        // Why a server is not there was told as a line.
        self.note(self.servers.tools().unwrap_or_default())
    }

    fn known(&self, tool: &str) -> Option<Served> {
        lock(&self.known).get(tool).cloned()
    }

    fn proposed(&self, id: CallId, tool: &str, arguments: &Arguments) -> ToolCall {
        let found = self
            .servers
            .proposed(id.clone(), tool, &object(arguments.value()));
        let mut call = found.unwrap_or_else(|| gone(id));
        // By the name that the model has for it, as the log does; rules may use all names.
        tool.clone_into(&mut call.tool);
        call
    }

    fn call(&self, tool: &str, arguments: &Arguments, cancel: &Cancel) -> ServedEnd {
        let call = self.servers.call(tool, object(arguments.value()), None);
        let ended = loop {
            if cancel.is_cancelled() {
                // Dropped below: that cancels it at its server.
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

/// A call of a tool that nobody knows.
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
    // Nothing is left half changed under one of them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
