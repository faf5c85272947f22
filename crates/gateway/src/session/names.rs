//! The names under which a client sees what several servers offer.
//!
//! A unique name is shown unchanged, any other with its server's name as a prefix. The names of the gateway's own tools are
//! reserved for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Asking, Session, Side, open::START_TIME};
use crate::{
    session::{kept::Upstream, list_cache::Kind},
    tools::control_tool,
};

/// What a shown name refers to.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) upstream: Arc<Upstream>,
    /// The server's own name.
    pub(super) name: String,
    pub(super) shown: String,
    pub(super) definition: Arc<Value>,
}

/// All names of one kind.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) all: Vec<Named>,
    by_shown: HashMap<String, usize>,
}

impl Names {
    /// Finds an entry by its shown name or by its prefixed name.
    pub(super) fn find(&self, name: &str) -> Option<&Named> {
        if let Some(at) = self.by_shown.get(name) {
            return self.all.get(*at);
        }
        self.all
            .iter()
            .find(|named| qualified(&named.upstream, &named.name) == name)
    }
}

/// Names that were computed for certain editions of the servers' lists.
#[derive(Debug, Default)]
pub(super) struct Cache {
    tools: Mutex<(Vec<u64>, Arc<Names>)>,
    prompts: Mutex<(Vec<u64>, Arc<Names>)>,
}

/// Returns a name with its server's prefix.
pub(super) fn qualified(upstream: &Upstream, name: &str) -> String {
    format!("{}__{name}", upstream.server.prefix())
}

impl Session {
    /// Finds an entry by name; servers are asked again only if the name is not known.
    pub(super) async fn named(&self, kind: Kind, asking: &Asking, name: &str) -> Option<Named> {
        let fresh = |named: &&Named| named.upstream.list_cache(kind).fresh(&named.name).is_some();
        if let Some(named) = asking.side.names_known(kind).find(name).filter(fresh) {
            return Some(named.clone());
        }
        self.names(kind, asking).await.find(name).cloned()
    }

    /// Returns all names of one kind, computed again if lists have changed.
    pub(super) async fn names(&self, kind: Kind, asking: &Asking) -> Arc<Names> {
        let mut waits = Vec::new();
        let upstreams = asking.side.upstreams.iter();
        for upstream in upstreams.filter(|upstream| !upstream.list_cache(kind).is_whole()) {
            let (upstream, origin) = (Arc::clone(upstream), Arc::clone(&asking.origin));
            waits.push(tokio::spawn(
                async move { upstream.listed(kind, &origin).await },
            ));
        }
        let until = Instant::now() + START_TIME;
        for mut wait in waits {
            if timeout_at(until, &mut wait).await.is_err() {
                wait.abort();
            }
        }
        asking.side.names_known(kind)
    }

    /// Returns whether a name belongs to one of the gateway's own tools.
    pub(super) async fn is_own(&self, name: &str) -> bool {
        if control_tool(name).is_some() {
            return true;
        }
        let own = self.own().await;
        own.tools
            .iter()
            .any(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
    }
}

impl Side {
    /// Returns the names of the known entries.
    fn names_known(&self, kind: Kind) -> Arc<Names> {
        let known: Vec<_> = self
            .upstreams
            .iter()
            .map(|upstream| upstream.list_cache(kind).known())
            .collect();
        let editions: Vec<u64> = known.iter().map(|(_, edition)| *edition).collect();
        let cache = match kind {
            Kind::Tools => &self.names.tools,
            Kind::Prompts => &self.names.prompts,
        };
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.0 == editions && !editions.is_empty() {
            return Arc::clone(&cache.1);
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (entries, _) in &known {
            for name in entries.keys() {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut names = Names::default();
        for (upstream, (entries, _)) in self.upstreams.iter().zip(&known) {
            for (name, definition) in entries.iter() {
                let unique = counts.get(name.as_str()) == Some(&1);
                let ours = kind == Kind::Tools && control_tool(name).is_some();
                let whole = qualified(upstream, name);
                // A plain name that equals the prefixed name of another gives way to it.
                let plain = unique && !ours && !self.looks_qualified(name);
                let shown = if plain { name.clone() } else { whole };
                names.by_shown.insert(shown.clone(), names.all.len());
                names.all.push(Named {
                    upstream: Arc::clone(upstream),
                    name: name.clone(),
                    shown,
                    definition: Arc::clone(definition),
                });
            }
        }
        *cache = (editions, Arc::new(names));
        Arc::clone(&cache.1)
    }

    /// Returns whether a name begins like a prefixed one.
    fn looks_qualified(&self, name: &str) -> bool {
        self.upstreams.iter().any(|upstream| {
            let rest = name.strip_prefix(upstream.server.prefix());
            rest.is_some_and(|rest| rest.starts_with("__"))
        })
    }
}
