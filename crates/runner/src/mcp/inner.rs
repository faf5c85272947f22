//! The connections that a run's calls share, and the names of the available tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use interlock_core::machine::Object;
use interlock_mcp::{
    client::{Definitions, McpClient},
    transport::ConnectOptions,
};
use interlock_served::{ListedTool, pins::different};
use serde_json::Value;
use tokio::{
    task::block_in_place,
    time::{Instant, timeout_at},
};

use super::{CallError, ServedTool, ToolResult, WantedServer, pinned::PinnedTools};

/// How long to wait for several servers; a server that is not ready by then joins later.
const START_TIME: Duration = Duration::from_secs(16);

/// State that open calls share.
pub(super) struct Inner {
    pub(super) wanted: Vec<WantedServer>,
    /// Connections to each server, in order; `None` once they have ended.
    pub(super) connected: Mutex<Option<Connected>>,
    pub(super) pinned: PinnedTools,
    /// Tool of each name, according to the newest list.
    pub(super) named: Mutex<HashMap<String, Named>>,
    /// Reserved names of the run's own tools.
    pub(super) reserved: Vec<String>,
}

/// The connections, and the means to create more of them.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) clients: Vec<Arc<McpClient>>,
    pub(super) options: ConnectOptions,
}

/// The tool that a name refers to.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) definition: Arc<Value>,
}

impl Named {
    fn listed(&self) -> ListedTool<'_> {
        ListedTool {
            server: &self.server,
            name: &self.tool,
            shown: &self.tool,
            definition: &self.definition,
        }
    }
}

impl Inner {
    /// Ends all servers, and releases the guards that show that they run.
    pub(super) fn end(&self) {
        let connected = lock(&self.connected).take();
        for client in connected.iter().flat_map(|connected| &connected.clients) {
            client.close();
        }
    }

    fn connected(&self) -> Result<Connected, CallError> {
        let connected = lock(&self.connected).clone();
        connected.ok_or_else(|| CallError::Unavailable("the servers have ended".to_owned()))
    }

    pub(super) fn wanted(&self, server: &str) -> Option<&WantedServer> {
        self.wanted.iter().find(|wanted| wanted.name == server)
    }

    /// Lists the selected tools whose definitions have not changed.
    pub(super) async fn list(&self) -> Result<Vec<ServedTool>, CallError> {
        let lists = self.lists(&self.connected()?.clients).await?;
        let mut tools = Vec::new();
        for (wanted, list) in self.wanted.iter().zip(lists) {
            let taken = list.iter().filter(|(name, _)| wanted.takes(name));
            tools.extend(taken.map(|(name, definition)| Named {
                server: wanted.name.clone(),
                tool: name.clone(),
                definition: Arc::clone(definition),
            }));
        }
        let listed: Vec<ListedTool<'_>> = tools.iter().map(Named::listed).collect();
        // If the pins cannot be read, no definition is known to be unchanged.
        let same: Vec<bool> = match block_in_place(|| self.pinned.compare(&listed)) {
            Ok(changes) => changes.iter().map(Option::is_none).collect(),
            Err(_) => Vec::new(),
        };
        let mut same = same.into_iter();
        tools.retain(|_| same.next() == Some(true));
        let names = self.names(&tools);
        let served = names.iter().zip(&tools).map(|(name, named)| ServedTool {
            name: name.clone(),
            server: named.server.clone(),
            tool: named.tool.clone(),
            definition: (*named.definition).clone(),
        });
        let served = served.collect();
        // Tools that a stage was shown keep their names, whatever others are called now.
        lock(&self.named).extend(names.into_iter().zip(tools));
        Ok(served)
    }

    /// Asks each server for its tools; of several, one that is unavailable keeps its last list.
    ///
    /// The error says why the only server cannot be reached.
    async fn lists(&self, clients: &[Arc<McpClient>]) -> Result<Vec<Arc<Definitions>>, CallError> {
        if let [only] = clients {
            let list = only.list().await;
            return Ok(vec![list.map_err(|why| CallError::of_outcome(&why))?]);
        }
        let asked: Vec<_> = clients
            .iter()
            .map(|client| {
                let client = Arc::clone(client);
                tokio::spawn(async move { client.listed().await })
            })
            .collect();
        let until = Instant::now() + START_TIME;
        let mut lists = Vec::new();
        for (client, mut asked) in clients.iter().zip(asked) {
            let list = timeout_at(until, &mut asked).await;
            lists.push(match list {
                Ok(Ok(Ok(list))) => list,
                Ok(_) => client.known(),
                Err(_) => {
                    asked.abort();
                    client.known()
                }
            });
        }
        Ok(lists)
    }

    /// Names tools: a name that is not unique, is reserved, or looks prefixed gets its server's name as a prefix.
    fn names(&self, tools: &[Named]) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for tool in tools {
            *counts.entry(&tool.tool).or_default() += 1;
        }
        let looks_qualified = |name: &str| {
            self.wanted.iter().any(|server| {
                let rest = name.strip_prefix(server.name.as_str());
                rest.is_some_and(|rest| rest.starts_with("__"))
            })
        };
        let name = |named: &Named| {
            let is_free = !self.reserved.contains(&named.tool);
            if is_free
                && counts.get(named.tool.as_str()) == Some(&1)
                && !looks_qualified(&named.tool)
            {
                named.tool.clone()
            } else {
                format!("{}__{}", named.server, named.tool)
            }
        };
        tools.iter().map(name).collect()
    }

    /// Calls a tool at its server, if its definition is the one that the run saw first.
    pub(super) async fn call(
        &self,
        named: &Named,
        arguments: Object,
    ) -> Result<ToolResult, CallError> {
        let connected = self.connected()?;
        let at = self.wanted.iter().position(|one| one.name == named.server);
        let known = at.and_then(|at| Some((self.wanted.get(at)?, connected.clients.get(at)?)));
        let Some((wanted, client)) = known else {
            return Err(unknown(&named.tool));
        };
        if !wanted.single_usage {
            return self.call_on(client, wanted, named, arguments).await;
        }
        let alone = Alone(wanted.connect(&connected.options));
        drop(connected);
        self.call_on(&alone.0, wanted, named, arguments).await
    }

    async fn call_on(
        &self,
        client: &McpClient,
        wanted: &WantedServer,
        named: &Named,
        arguments: Object,
    ) -> Result<ToolResult, CallError> {
        // A definition that may have changed is not called.
        let list = client.listed().await;
        let list = list.map_err(|why| CallError::of_outcome(&why))?;
        let definition = list.get(&named.tool).map(Arc::clone).unwrap_or_default();
        if definition.is_null() || !wanted.takes(&named.tool) {
            return Err(match client.why_away() {
                Some(why) => CallError::of_outcome(&why),
                None => unknown(&named.tool),
            });
        }
        let now = Named {
            definition,
            ..named.clone()
        };
        let compared = block_in_place(|| self.pinned.compare(&[now.listed()]));
        match compared.map(|mut all| all.pop()) {
            Ok(Some(None)) => {}
            Ok(Some(Some(change))) => {
                let run = self.pinned.run();
                return Err(CallError::Changed(different(&change, run.as_deref())));
            }
            Ok(None) => {
                let why = "what the run has pinned is not known";
                return Err(CallError::Unavailable(why.to_owned()));
            }
            Err(error) => {
                let why = format!("what the run has pinned cannot be read: {error}");
                return Err(CallError::Unavailable(why));
            }
        }
        ToolResult::of_outcome(&client.call(&named.tool, arguments).await)
    }
}

fn unknown(tool: &str) -> CallError {
    CallError::Unknown(format!("no tool is called `{tool}`"))
}

/// A server for one call, which ends when dropped.
struct Alone(Arc<McpClient>);

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half changed under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
