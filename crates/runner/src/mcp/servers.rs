//! The MCP servers of a run: started together, called one by one, ended together.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use interlock_core::{
    call::ToolCall,
    machine::Object,
    names::{CallId, RunId},
};
use interlock_mcp::{
    notes::Notes,
    transport::{ConnectOptions, Running},
};
use interlock_project::{Config, Environment, Servers};
use interlock_served::{Files, Identity, ListedTool};
use interlock_store::{Home, StoreError};
use serde_json::Value;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    time::timeout,
};

use super::{
    Call, CallError, WantedServer,
    inner::{Connected, Inner, lock},
    pinned::PinnedTools,
};
use crate::build_error::BuildError;

/// How long servers may take to end; then they are left to the system.
const END_TIME: Duration = Duration::from_secs(4);
/// How long the servers of a run may take to start and to list their tools.
const LIST_TIME: Duration = Duration::from_secs(60);

/// A server tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// Name to call it by: its own if unique, otherwise `SERVER__TOOL`.
    pub name: String,
    /// Name of the server.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: String,
    /// Definition as the server gives it: `description`, `inputSchema`, `annotations` and so on.
    pub definition: Value,
}

/// Settings for the servers of a run.
pub struct ToolServersSettings {
    /// Environment of the invocation.
    pub environment: Environment,
    /// Further folders from which clients load Interlock's plugin.
    pub plugins: Vec<PathBuf>,
    /// Servers to start, with distinct names.
    pub wanted: Vec<WantedServer>,
    /// Configuration of single tools and of the servers' working directories.
    pub configured: Servers,
    /// Run beside whose log definitions are pinned; `None`: pinned in memory.
    pub run: Option<RunId>,
    /// Names of other tools of the run; server tools with such a name get the server's name as prefix.
    pub reserved: Vec<String>,
    /// Largest message of a server, in bytes.
    pub message_bytes_max: usize,
    /// Receives lines for a person: standard error of servers, and which servers are down.
    pub note: Box<dyn FnMut(String) + Send>,
}

impl fmt::Debug for ToolServersSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServersSettings")
            .field("wanted", &self.wanted)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// The MCP servers of a run; dropping this ends them with all that they started.
pub struct ToolServers {
    inner: Arc<Inner>,
    home: Home,
    files: Mutex<Files>,
    /// `true` once nothing may be called any more.
    ending: watch::Sender<bool>,
    /// The runtime, and the receiver that closes when all servers have ended; `None` only while dropped.
    running: Option<(Runtime, tokio::sync::mpsc::Receiver<()>)>,
}

impl fmt::Debug for ToolServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServers")
            .field("wanted", &self.inner.wanted)
            .finish_non_exhaustive()
    }
}

impl ToolServers {
    /// Starts the servers without waiting; [`Self::tools`] waits for them.
    ///
    /// # Errors
    /// Two servers have the same name, the person's configuration cannot be read, or the system provides no threads.
    pub fn start(settings: ToolServersSettings) -> Result<Self, BuildError> {
        let wanted = settings.wanted;
        for (at, server) in wanted.iter().enumerate() {
            let before = wanted.get(..at).unwrap_or_default();
            if before.iter().any(|other| other.name == server.name) {
                let what = format!("two servers are called `{}`", server.name);
                return Err(BuildError::Unusable(what));
            }
        }
        let files = files(
            &settings.environment,
            &settings.plugins,
            settings.configured,
        )?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("interlock-mcp")
            .enable_all()
            .build()
            .map_err(|error| BuildError::Unusable(format!("the server cannot start: {error}")))?;
        let _inside = runtime.enter();
        let (notes, lines) = Notes::to_channel();
        runtime.spawn(pass_notes(lines, settings.note));
        let home = settings.environment.home.clone();
        let run = settings.run;
        let (running, ended) = Running::new();
        let options = ConnectOptions {
            label: String::new(),
            bytes_max: settings.message_bytes_max,
            notes,
            running,
        };
        let clients = wanted.iter().map(|server| server.connect(&options));
        let connected = Connected {
            clients: clients.collect(),
            options,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                wanted,
                connected: Mutex::new(Some(connected)),
                pinned: PinnedTools::new(run.map(|run| (home.clone(), run))),
                named: Mutex::default(),
                reserved: settings.reserved,
            }),
            home,
            files: Mutex::new(files),
            ending: watch::Sender::new(false),
            running: Some((runtime, ended)),
        })
    }

    /// Lists the available tools; waits up to a minute for servers that are starting.
    ///
    /// A tool whose definition differs from the one that the run saw first is left out, and so are those of an unavailable
    /// server. The order is that of the servers, and of each server's list.
    ///
    /// # Errors
    /// The only server cannot be reached; the error gives the reason.
    pub fn tools(&self) -> Result<Vec<ServedTool>, CallError> {
        self.listing().wait()
    }

    /// Lists the available tools without waiting, like [`Self::tools`].
    #[must_use]
    pub fn listing(&self) -> Call<Vec<ServedTool>> {
        let inner = Arc::clone(&self.inner);
        self.begin_with(Some(LIST_TIME), async move { inner.list().await })
    }

    /// Pins seen and future definitions beside the log of a run that has started since.
    ///
    /// # Errors
    /// They cannot be stored.
    pub fn keep_with(&self, run: RunId) -> Result<(), StoreError> {
        self.inner.pinned.keep_with(&self.home, run)
    }

    /// Returns the names of servers without known tools: they are down, or have none.
    #[must_use]
    pub fn silent(&self) -> Vec<String> {
        let connected = lock(&self.inner.connected).clone();
        let clients = connected.iter().flat_map(|connected| &connected.clients);
        let servers = self.inner.wanted.iter().zip(clients);
        let silent = servers.filter(|(_, client)| client.known().is_empty());
        silent.map(|(server, _)| server.name.clone()).collect()
    }

    /// Returns the facts of a call for judging it; `None` if the newest list has no such tool.
    #[must_use]
    pub fn proposed(&self, id: CallId, name: &str, arguments: &Object) -> Option<ToolCall> {
        let named = lock(&self.inner.named).get(name).cloned()?;
        let listed = ListedTool {
            server: &named.server,
            name: &named.tool,
            shown: name,
            definition: &named.definition,
        };
        let input = Value::Object(arguments.clone());
        Some(lock(&self.files).call(&listed, &input, Identity { id, agent: None }))
    }

    /// Starts a call of a tool by its name in the newest list.
    ///
    /// `time` is the time limit; `None` for that of the server.
    #[must_use]
    pub fn call(&self, name: &str, arguments: Object, time: Option<Duration>) -> Call {
        let inner = Arc::clone(&self.inner);
        let named = lock(&inner.named).get(name).cloned();
        let server = named.as_ref().and_then(|named| inner.wanted(&named.server));
        let time = time.or(server.and_then(|server| server.timeout));
        let name = name.to_owned();
        self.begin_with(time, async move {
            match named {
                Some(named) => inner.call(&named, arguments).await,
                None => Err(CallError::Unknown(format!("no tool is called `{name}`"))),
            }
        })
    }

    fn begin_with<T: Send + 'static>(
        &self,
        time: Option<Duration>,
        work: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Call<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        let mut ending = self.ending.subscribe();
        let timed = async move {
            match time {
                Some(time) => timeout(time, work)
                    .await
                    .unwrap_or(Err(CallError::TimedOut(time))),
                None => work.await,
            }
        };
        let bounded = async move {
            let ended = tokio::select! {
                // First: a call that ends because everything ends was not refused by its server.
                biased;
                _ = ending.wait_for(|ending| *ending) => Err(CallError::Cancelled),
                ended = timed => ended,
            };
            answer.send(ended).ok();
        };
        let running = self.running.as_ref();
        let task = running.map(|(runtime, _)| runtime.spawn(bounded).abort_handle());
        Call { answered, task }
    }
}

impl Drop for ToolServers {
    fn drop(&mut self) {
        let Some((runtime, mut ended)) = self.running.take() else {
            return;
        };
        self.ending.send_replace(true);
        self.inner.end();
        let (told, heard) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            // Nothing is ever received: this returns when the last server is gone.
            timeout(END_TIME, ended.recv()).await.ok();
            told.send(()).ok();
        });
        heard.recv().ok();
        runtime.shutdown_background();
    }
}

fn files(
    environment: &Environment,
    plugins: &[PathBuf],
    configured: Servers,
) -> Result<Files, BuildError> {
    let person = Config::of_person(environment.configuration())?;
    let root = environment.project();
    Ok(Files::new(environment, plugins, &root, &person, configured))
}

/// Passes lines to their receiver, in a thread that may block.
async fn pass_notes(
    mut lines: tokio::sync::mpsc::Receiver<String>,
    mut note: Box<dyn FnMut(String) + Send>,
) {
    while let Some(line) = lines.recv().await {
        tokio::task::block_in_place(|| note(line));
    }
}
