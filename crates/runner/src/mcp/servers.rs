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
/// How long the servers of a run may take to start and to say what they have.
const LIST_TIME: Duration = Duration::from_secs(60);

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// The name it is called by: its own where no other tool has it, else `SERVER__TOOL`.
    pub name: String,
    /// The server's name.
    pub server: String,
    /// The server's own name of it.
    pub tool: String,
    /// Its definition as the server gives it: `description`, `inputSchema`, `annotations` and so on.
    pub definition: Value,
}

/// What the servers of a run are started with.
pub struct ToolServersSettings {
    /// The project, the state directory and the person's configuration.
    pub environment: Environment,
    /// Folders from which clients load Interlock's plugin, outside of their own directories.
    pub plugins: Vec<PathBuf>,
    /// The servers, each of another name.
    pub wanted: Vec<WantedServer>,
    /// What the configuration says of single tools; where servers work is read from it, too.
    pub configured: Servers,
    /// The run beside whose log definitions are pinned; `None`: they are held as long as this lives.
    pub run: Option<RunId>,
    /// Names of tools that the run has beside them: a server's tool of one stands behind its server's name.
    pub reserved: Vec<String>,
    /// The longest message of a server, in bytes.
    pub message_bytes_max: usize,
    /// Gets lines for a person: what servers write to standard error, and which of them are down.
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

/// The MCP servers of a run; dropped, they are ended with all that they started.
pub struct ToolServers {
    inner: Arc<Inner>,
    home: Home,
    files: Mutex<Files>,
    /// `true`: nothing is called any more.
    ending: watch::Sender<bool>,
    /// The runtime, and what tells that all servers have ended; `None` only while it is dropped.
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
    /// Begins to start the servers; [`Self::tools`] waits for them.
    ///
    /// # Errors
    /// Two servers have one name, the person's configuration cannot be read, or the system gives no threads.
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

    /// Lists the tools that are there now; waits for servers that are starting, a minute at most.
    ///
    /// A tool whose definition is another than the run saw first is left out, and so are those of a
    /// server that is down. In the order of the servers, and of each as it lists them.
    ///
    /// # Errors
    /// The only server there is cannot be reached, with the reason.
    pub fn tools(&self) -> Result<Vec<ServedTool>, CallError> {
        self.listing().wait()
    }

    /// Begins to list the tools that are there now, as [`Self::tools`] does.
    #[must_use]
    pub fn listing(&self) -> Call<Vec<ServedTool>> {
        let inner = Arc::clone(&self.inner);
        self.begin_with(Some(LIST_TIME), async move { inner.list().await })
    }

    /// Keeps the definitions that were seen, and those to come, beside the log of a run that has begun since.
    ///
    /// # Errors
    /// They cannot be kept.
    pub fn keep_with(&self, run: RunId) -> Result<(), StoreError> {
        self.inner.pinned.keep_with(&self.home, run)
    }

    /// Returns the names of servers of which no tool is known now: they are down, or have none.
    #[must_use]
    pub fn silent(&self) -> Vec<String> {
        let connected = lock(&self.inner.connected).clone();
        let clients = connected.iter().flat_map(|connected| &connected.clients);
        let servers = self.inner.wanted.iter().zip(clients);
        let silent = servers.filter(|(_, client)| client.known().is_empty());
        silent.map(|(server, _)| server.name.clone()).collect()
    }

    /// Finds what a call would do, for whoever judges it; `None`: the newest list has no such tool.
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

    /// Begins to call a tool by its name of the newest list.
    ///
    /// `time` is the longest it may take; `None`: what is set for its server.
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
                // First: what ends because all ends was not refused by its server.
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
            // Nothing is ever received: it is over when the last server is.
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

/// Gives lines to whoever wants them, in a thread that may wait.
async fn pass_notes(
    mut lines: tokio::sync::mpsc::Receiver<String>,
    mut note: Box<dyn FnMut(String) + Send>,
) {
    while let Some(line) = lines.recv().await {
        tokio::task::block_in_place(|| note(line));
    }
}
