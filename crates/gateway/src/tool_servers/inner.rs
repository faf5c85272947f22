//! The session that a run's calls share, and the names of what is there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_core::machine::Object;
use serde_json::Value;

use super::{
    CallError, ServedTool, ToolResult, WantedServer, line::ServersSession, taking::ServerPolicy,
};
use crate::{
    govern::{Caller, SessionPolicy},
    notes::Notes,
    session::{Bounds, Gateway},
    tools::control_tool,
    upstream::{Running, Server},
};

/// What calls that are under way share.
pub(super) struct Inner {
    pub(super) taking: ServerPolicy,
    /// `None`: it has ended.
    pub(super) shared: Mutex<Option<(Arc<Gateway>, Arc<ServersSession>)>>,
    pub(super) notes: Notes,
    pub(super) running: Mutex<Option<Running>>,
    pub(super) bounds: Bounds,
    /// What each name stands for, as of the newest list.
    pub(super) named: Mutex<HashMap<String, Named>>,
    /// Names that belong to tools of the run's own.
    pub(super) reserved: Vec<String>,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) server: String,
    pub(super) tool: String,
    /// Its name in the session.
    shown: String,
    pub(super) definition: Arc<Value>,
}

impl Inner {
    /// Ends all servers, and lets go of what says that they run.
    pub(super) fn end(&self) {
        lock(&self.running).take();
        let shared = lock(&self.shared).take();
        if let Some((gateway, _)) = shared {
            gateway.end();
        }
    }

    fn line(&self) -> Result<Arc<ServersSession>, CallError> {
        let shared = lock(&self.shared);
        let line = shared.as_ref().map(|(_, line)| Arc::clone(line));
        line.ok_or_else(|| CallError::Unavailable("the servers have ended".to_owned()))
    }

    pub(super) fn wanted(&self, server: &str) -> Option<&WantedServer> {
        self.taking
            .wanted
            .iter()
            .find(|wanted| wanted.name == server)
    }

    pub(super) async fn list(&self) -> Result<Vec<ServedTool>, CallError> {
        let definitions = self.line()?.tools().await?;
        let seen = lock(&self.taking.seen).clone();
        let mut tools = Vec::new();
        for mut definition in definitions {
            let shown = definition
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            let Some(known) = seen.get(&shown) else {
                continue;
            };
            if let Some(name) = definition.get_mut("name") {
                *name = Value::String(known.tool.clone());
            }
            let named = Named {
                server: known.server.clone(),
                tool: known.tool.clone(),
                shown,
                definition: Arc::new(definition),
            };
            tools.push(named);
        }
        let names = self.names(&tools);
        let served = names.iter().zip(&tools).map(|(name, named)| ServedTool {
            name: name.clone(),
            server: named.server.clone(),
            tool: named.tool.clone(),
            definition: (*named.definition).clone(),
        });
        let served = served.collect();
        // What a stage was shown stays what it was, whatever others are called now.
        lock(&self.named).extend(names.into_iter().zip(tools));
        Ok(served)
    }

    /// Names tools: a name that another has too, is reserved, or looks like one behind a server's, stands behind its own server's.
    fn names(&self, tools: &[Named]) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for tool in tools {
            *counts.entry(&tool.tool).or_default() += 1;
        }
        let looks_qualified = |name: &str| {
            self.taking.wanted.iter().any(|server| {
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

    pub(super) async fn call(
        &self,
        named: &Named,
        arguments: Object,
    ) -> Result<ToolResult, CallError> {
        let mark = &self.taking.mark;
        let alone = self
            .wanted(&named.server)
            .filter(|server| server.single_usage);
        let Some(server) = alone else {
            return self.line()?.call(&named.shown, arguments, mark).await;
        };
        let running = lock(&self.running).clone();
        let running =
            running.ok_or_else(|| CallError::Unavailable("the servers have ended".to_owned()))?;
        let gateway = gateway(
            &self.taking,
            vec![server.server()],
            self.bounds,
            &self.notes,
            &running,
        );
        let _ended = EndsWith(&gateway);
        let line = ServersSession::open(&gateway)?;
        // With no other server beside it, a tool has its own name, but for one of the gateway's own.
        let name = match control_tool(&named.tool) {
            Some(_) => format!("{}__{}", named.server, named.tool),
            None => named.tool.clone(),
        };
        line.call(&name, arguments, mark).await
    }
}

/// Ends the servers of a gateway when it is dropped.
struct EndsWith<'a>(&'a Arc<Gateway>);

impl Drop for EndsWith<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Makes the gateway in front of servers.
pub(super) fn gateway(
    taking: &ServerPolicy,
    servers: Vec<Server>,
    bounds: Bounds,
    notes: &Notes,
    running: &Running,
) -> Arc<Gateway> {
    let taking = taking.clone();
    let appoint = move |_: &Caller| -> Box<dyn SessionPolicy> { Box::new(taking.clone()) };
    Gateway::new(
        servers,
        bounds,
        notes.clone(),
        running.clone(),
        Arc::new(appoint),
    )
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half changed under one of them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
