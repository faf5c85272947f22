//! Introduction of a client: what the servers together can do.
//!
//! With one server, a client gets exactly that server's capabilities, with the gateway's own tools added. With several, it gets
//! their union.

use std::{sync::Arc, time::Duration};

use interlock_core::machine::Object;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::{Asking, Session, Side};
use crate::{
    era::{Era, Introduced, LEGACY, SERVER_KEY, versions},
    message::{Outcome, Request},
    session::kept::{Live, Upstream},
};

/// How long to wait for several servers.
pub(super) const START_TIME: Duration = Duration::from_secs(8);
/// How long to wait for a single server, which is described to a client only once.
const START_TIME_OF_ONE: Duration = Duration::from_secs(20);

impl Session {
    /// Answers `initialize`.
    pub(super) async fn initialize(self: &Arc<Self>, request: Request) -> Outcome {
        let params = request.params.unwrap_or_default();
        let introduced = match Introduced::by_initialize(&params) {
            Ok(introduced) => Arc::new(introduced),
            Err(outcome) => return outcome,
        };
        let side = {
            let mut state = self.state();
            if state.legacy.is_some() {
                return super::serve::invalid("the session is being initialized already");
            }
            let servers = self.gateway.servers.iter();
            let upstreams: Vec<Arc<Upstream>> = servers
                .map(|server| self.gateway.upstream(server, &introduced))
                .collect();
            let side = Side::new(introduced, upstreams);
            state.legacy = Some(Arc::clone(&side));
            // The client only asked which protocol is supported: what it began is not needed.
            let probed = std::mem::take(&mut state.modern);
            drop(state);
            for other in probed {
                other.close_but(&[Arc::clone(&side)]);
            }
            side
        };
        for upstream in &side.upstreams {
            upstream.join(self);
        }
        match self.about(&side).await {
            Ok(about) => Outcome::result(&Value::Object(about)),
            Err(outcome) => {
                // The client may try again.
                self.state().legacy = None;
                side.close();
                outcome
            }
        }
    }

    /// Describes what the servers of a client can do.
    ///
    /// The control tools are there whatever happens to the servers. Without control tools, and with the only server down, the
    /// answer is just the reason.
    async fn about(&self, side: &Side) -> Result<Object, Outcome> {
        let Some(only) = side.only() else {
            return Ok(self.about_all(side, Instant::now() + START_TIME).await);
        };
        if self.own().await.tools.is_empty() {
            let live = only.live().await?;
            return Ok(self.about_one(&live, side).await);
        }
        match timeout_at(Instant::now() + START_TIME_OF_ONE, only.live()).await {
            Ok(Ok(live)) => Ok(self.about_one(&live, side).await),
            Ok(Err(_)) | Err(_) => Ok(self.about_all(side, Instant::now()).await),
        }
    }

    /// Answers `server/discover`.
    pub(super) async fn discover(self: &Arc<Self>, asking: &Asking) -> Outcome {
        let side = &asking.side;
        let mut about = match self.about(side).await {
            Ok(about) => about,
            Err(outcome) => return outcome,
        };
        about.insert("ttlMs".to_owned(), json!(0));
        about.insert("cacheScope".to_owned(), json!("private"));
        let outcome = Outcome::result(&Value::Object(about));
        self.in_words_of(&asking.origin, "server/discover", outcome)
    }

    /// Returns the only server's own description, with the gateway's additions.
    async fn about_one(&self, live: &Live, side: &Side) -> Object {
        let mut about = match (side.introduced.era, live.era) {
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => live.about.clone(),
            (Era::Legacy, Era::Modern) => to_legacy(&live.about, &side.introduced),
            (Era::Modern, Era::Legacy) => to_modern(&live.about),
        };
        let own = self.own().await;
        if !own.tools.is_empty() || live.can("tools") {
            let capabilities = about.entry("capabilities").or_insert_with(|| json!({}));
            if let Value::Object(capabilities) = capabilities {
                let tools = capabilities.entry("tools").or_insert_with(|| json!({}));
                if let (Value::Object(tools), true) = (tools, live.can("tools")) {
                    // Another state shows other tools, whatever the server does.
                    tools.insert("listChanged".to_owned(), json!(true));
                }
            }
        }
        let theirs = about.get("instructions").and_then(Value::as_str);
        let told: Vec<&str> = theirs
            .into_iter()
            .chain([own.instructions.as_str()])
            .collect();
        let told: Vec<&str> = told.into_iter().filter(|told| !told.is_empty()).collect();
        if !told.is_empty() {
            about.insert("instructions".to_owned(), json!(told.join("\n\n")));
        }
        about
    }

    /// Describes what the servers have together; a server that is not up at `until` is named and joins later.
    async fn about_all(&self, side: &Side, until: Instant) -> Object {
        let mut lives = Vec::new();
        let mut down: Vec<String> = Vec::new();
        for upstream in &side.upstreams {
            let why = match timeout_at(until, upstream.live()).await {
                Ok(Ok(live)) => {
                    lives.push((Arc::clone(upstream), live));
                    continue;
                }
                Ok(Err(outcome)) => outcome.error_message(),
                Err(_) => None,
            };
            upstream.miss();
            let name = upstream.server.label();
            let why = why.unwrap_or_else(|| format!("{name} is not up yet"));
            down.push(format!("{why}. Its tools appear when it is there."));
        }
        let own = self.own().await;
        let mut capabilities = Map::new();
        if !own.tools.is_empty() {
            capabilities.insert("tools".to_owned(), json!({}));
        }
        for (_, live) in &lives {
            let theirs = match (side.introduced.era, live.era) {
                (Era::Modern, Era::Legacy) => to_modern(&live.about),
                _ => live.about.clone(),
            };
            if let Some(Value::Object(more)) = theirs.get("capabilities") {
                unite(&mut capabilities, more);
            }
        }
        if let (Some(Value::Object(tools)), false) =
            (capabilities.get_mut("tools"), side.upstreams.is_empty())
        {
            tools.insert("listChanged".to_owned(), json!(true));
        }
        let mut told: Vec<String> = Vec::new();
        for (upstream, live) in &lives {
            if let Some(theirs) = live.about.get("instructions").and_then(Value::as_str) {
                told.push(format!("{}: {theirs}", upstream.server.name));
            }
        }
        told.extend(down);
        told.push(own.instructions.clone());
        told.retain(|told| !told.is_empty());
        let mut about = Object::new();
        let us = json!({"name": "interlock", "title": "Interlock", "version": env!("CARGO_PKG_VERSION")});
        match side.introduced.era {
            Era::Legacy => {
                let version = version_of_all(&side.introduced.version, &lives);
                about.insert("protocolVersion".to_owned(), json!(version));
                about.insert("capabilities".to_owned(), Value::Object(capabilities));
                about.insert("serverInfo".to_owned(), us);
            }
            Era::Modern => {
                about.insert("supportedVersions".to_owned(), json!(versions()));
                about.insert("capabilities".to_owned(), Value::Object(capabilities));
                about.insert("_meta".to_owned(), json!({ SERVER_KEY: us }));
            }
        }
        if !told.is_empty() {
            about.insert("instructions".to_owned(), json!(told.join("\n\n")));
        }
        about
    }
}

/// Returns the newest revision that everybody supports.
fn version_of_all(asked: &str, lives: &[(Arc<Upstream>, Arc<Live>)]) -> String {
    let newest = LEGACY.first().copied().unwrap_or_default();
    let ours = if LEGACY.contains(&asked) {
        asked
    } else {
        newest
    };
    let theirs = lives.iter().filter(|(_, live)| live.era == Era::Legacy);
    let theirs = theirs.filter_map(|(_, live)| live.about.get("protocolVersion")?.as_str());
    // Revisions are dates: the smaller is the older.
    theirs.chain([ours]).min().unwrap_or(ours).to_owned()
}

/// Describes the capabilities of a modern server in the legacy protocol.
fn to_legacy(about: &Object, introduced: &Introduced) -> Object {
    let mut said = Object::new();
    let newest = LEGACY.first().copied().unwrap_or_default();
    let asked = introduced.version.as_str();
    let version = if LEGACY.contains(&asked) {
        asked
    } else {
        newest
    };
    said.insert("protocolVersion".to_owned(), json!(version));
    let mut capabilities = about.get("capabilities").cloned().unwrap_or(json!({}));
    if let Value::Object(capabilities) = &mut capabilities {
        // Tasks have become a different feature, which no client of the legacy protocol knows.
        if let Some(Value::Object(extensions)) = capabilities.get_mut("extensions") {
            extensions.shift_remove("io.modelcontextprotocol/tasks");
        }
    }
    said.insert("capabilities".to_owned(), capabilities);
    let named = about.get("_meta").and_then(|meta| meta.get(SERVER_KEY));
    let named = named.or_else(|| about.get("serverInfo")).cloned();
    let unnamed = json!({"name": "unnamed", "version": "0"});
    said.insert("serverInfo".to_owned(), named.unwrap_or(unnamed));
    if let Some(instructions) = about.get("instructions") {
        said.insert("instructions".to_owned(), instructions.clone());
    }
    said
}

/// Describes the capabilities of a legacy server in the modern protocol.
fn to_modern(about: &Object) -> Object {
    let mut said = Object::new();
    said.insert("supportedVersions".to_owned(), json!(versions()));
    let mut capabilities = about.get("capabilities").cloned().unwrap_or(json!({}));
    if let Value::Object(capabilities) = &mut capabilities {
        // Tasks have become a different feature, which no server of the legacy protocol knows.
        capabilities.shift_remove("tasks");
    }
    said.insert("capabilities".to_owned(), capabilities);
    if let Some(instructions) = about.get("instructions") {
        said.insert("instructions".to_owned(), instructions.clone());
    }
    let mut meta = match about.get("_meta") {
        Some(Value::Object(meta)) => meta.clone(),
        _ => Map::new(),
    };
    if let Some(server) = about.get("serverInfo") {
        meta.insert(SERVER_KEY.to_owned(), server.clone());
        said.insert("serverInfo".to_owned(), server.clone());
    }
    said.insert("_meta".to_owned(), Value::Object(meta));
    said
}

/// Merges capabilities, part by part.
fn unite(known: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (known.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(more)) => unite(known, more),
            (Some(known @ Value::Bool(false)), Value::Bool(true)) => *known = json!(true),
            (Some(_), _) => {}
            (None, value) => {
                known.insert(name.clone(), value.clone());
            }
        }
    }
}
