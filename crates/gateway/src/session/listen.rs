//! Subscriptions of the modern protocol: one stream for the notifications of all servers.

use std::{sync::Arc, time::Duration};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Asking, Session,
    serve::{Read, invalid},
};
use crate::{
    era::{Era, with_subscription},
    message::{Envelope, Outcome, Request},
    session::kept::{Live, Upstream},
    session::origin::{Origin, OriginEvents},
    session::peer::Tag,
};

/// How long servers may take to acknowledge a subscription.
const ACKNOWLEDGE_TIME: Duration = Duration::from_secs(5);
/// Delay before a subscription that a server ended is renewed.
const REST: Duration = Duration::from_secs(2);

/// A subscription.
#[derive(Debug)]
pub(super) struct Listen {
    pub(super) origin: Arc<Origin>,
    wanted: Object,
}

impl Listen {
    /// Returns whether a notification is wanted.
    pub(super) fn wants(&self, method: &str, params: Option<&Object>) -> bool {
        let field = match method {
            "notifications/tools/list_changed" => "toolsListChanged",
            "notifications/prompts/list_changed" => "promptsListChanged",
            "notifications/resources/list_changed" => "resourcesListChanged",
            "notifications/resources/updated" => {
                let uri = params.and_then(|params| params.get("uri"));
                return uri.is_some_and(|uri| self.uris().any(|wanted| wanted == uri));
            }
            _ => return false,
        };
        self.wanted.get(field) == Some(&Value::Bool(true))
    }

    fn uris(&self) -> impl Iterator<Item = &Value> {
        let uris = self
            .wanted
            .get("resourceSubscriptions")
            .and_then(Value::as_array);
        uris.into_iter().flatten()
    }
}

/// Answer of a server to a subscription, as far as known.
enum Granted {
    Some(Object),
    /// The server refuses.
    Refused(Outcome),
}

impl Session {
    /// Answers a subscription, which lasts until the client ends it.
    pub(super) async fn listen(
        self: &Arc<Self>,
        asking: Asking,
        request: Request,
        told: OriginEvents,
    ) -> Outcome {
        let wanted = request
            .params
            .as_ref()
            .and_then(|params| params.get("notifications"));
        let Some(wanted) = wanted.and_then(Value::as_object).cloned() else {
            return invalid("`notifications` must be an object");
        };
        let id = asking.origin.id();
        let (grant, mut grants) = mpsc::channel(asking.side.upstreams.len().max(1));
        let mut listening = JoinSet::new();
        let mut acknowledged = told.acknowledged;
        for upstream in &asking.side.upstreams {
            let (session, upstream) = (Arc::clone(self), Arc::clone(upstream));
            let (asking, request, grant) = (asking.clone(), request.clone(), grant.clone());
            listening.spawn(async move {
                session
                    .listen_at(&asking, &upstream, request.params, grant)
                    .await;
            });
        }
        drop(grant);
        let mut granted = Object::new();
        if wanted.get("toolsListChanged") == Some(&Value::Bool(true)) {
            granted.insert("toolsListChanged".to_owned(), json!(true));
        }
        let mut waiting = asking.side.upstreams.len();
        let gather = async {
            while waiting > 0 {
                tokio::select! {
                    Some(one) = grants.recv() => match one {
                        Granted::Some(more) => { merge(&mut granted, more); waiting -= 1; }
                        Granted::Refused(outcome) => {
                            if asking.side.only().is_some() { return Some(outcome); }
                            waiting -= 1;
                        }
                    },
                    Some(more) = acknowledged.recv() => { merge(&mut granted, more); waiting -= 1; }
                    else => return None,
                }
            }
            None
        };
        if let Ok(Some(refused)) = timeout(ACKNOWLEDGE_TIME, gather).await {
            return refused;
        }
        self.state().listens.push(Listen {
            origin: Arc::clone(&asking.origin),
            wanted,
        });
        let _listed = Listed {
            session: self,
            origin: &asking.origin,
        };
        let params = Object::from_iter([("notifications".to_owned(), Value::Object(granted))]);
        let params = with_subscription(Some(params), id.to_value());
        let envelope =
            Envelope::notification("notifications/subscriptions/acknowledged", Some(params));
        self.client
            .send(envelope.about(Some(id.clone())))
            .await
            .ok();
        // Servers come and go; the client ends it by dropping this.
        while listening.join_next().await.is_some() {}
        std::future::pending().await
    }

    /// Subscribes at one server, over all its successive connections.
    async fn listen_at(
        self: &Arc<Self>,
        asking: &Asking,
        upstream: &Arc<Upstream>,
        params: Option<Object>,
        grant: mpsc::Sender<Granted>,
    ) {
        let mut grant = Some(grant);
        loop {
            let live = match upstream.live().await {
                Ok(live) => live,
                Err(_) => {
                    // Down for now: the others need not wait for it.
                    if let Some(grant) = grant.take() {
                        grant.send(Granted::Some(Object::new())).await.ok();
                    }
                    match upstream.up().await {
                        Some(live) => live,
                        None => return,
                    }
                }
            };
            if live.era == Era::Legacy {
                self.subscribe_at(upstream, &live, params.as_ref(), grant.take())
                    .await;
                continue;
            }
            let mut params = params.clone();
            self.keep_readable(upstream, params.as_mut()).await;
            let tag = Tag::Origin(Arc::clone(&asking.origin));
            let asked = live.peer.request(tag, "subscriptions/listen", params);
            match asked.await {
                Ok(outcome @ Outcome::Error(_)) => {
                    if let Some(grant) = grant.take() {
                        grant.send(Granted::Refused(outcome)).await.ok();
                        return;
                    }
                    sleep(REST).await;
                }
                Ok(Outcome::Result(_)) => sleep(REST).await,
                Err(_) => upstream.over(&live).await,
            }
            // One acknowledgement is enough for the client.
            grant = None;
        }
    }

    /// Removes what may not be read from a subscription.
    async fn keep_readable(&self, upstream: &Upstream, params: Option<&mut Object>) {
        let wanted = params.and_then(|params| params.get_mut("notifications"));
        let uris = wanted.and_then(|wanted| wanted.get_mut("resourceSubscriptions"));
        let Some(Value::Array(uris)) = uris else {
            return;
        };
        for uri in std::mem::take(uris) {
            let reading = Read::Resource(uri.as_str().unwrap_or_default().to_owned());
            if self.unread(upstream, &reading).await.is_none() {
                uris.push(uri);
            }
        }
    }

    /// Subscribes at a server of the legacy protocol as long as one connection lasts.
    async fn subscribe_at(
        &self,
        upstream: &Arc<Upstream>,
        live: &Arc<Live>,
        params: Option<&Object>,
        grant: Option<mpsc::Sender<Granted>>,
    ) {
        let wanted = params.and_then(|params| params.get("notifications"));
        let wants = |field: &str| wanted.and_then(|wanted| wanted.get(field)) == Some(&json!(true));
        let mut granted = Object::new();
        for list in ["tools", "prompts", "resources"] {
            let field = format!("{list}ListChanged");
            if wants(&field) && live.can_also(list, "listChanged") {
                granted.insert(field, json!(true));
            }
        }
        let mut held = Vec::new();
        if live.can_also("resources", "subscribe") {
            let uris = wanted.and_then(|wanted| wanted.get("resourceSubscriptions"));
            for uri in uris.and_then(Value::as_array).into_iter().flatten() {
                let Some(name) = uri.as_str() else {
                    continue;
                };
                if self
                    .unread(upstream, &Read::Resource(name.to_owned()))
                    .await
                    .is_some()
                {
                    continue;
                }
                let subscription = Subscription::begin(upstream, live, name).await;
                held.extend(subscription);
            }
            let uris: Vec<&str> = held.iter().map(|held| held.uri.as_str()).collect();
            if !uris.is_empty() {
                granted.insert("resourceSubscriptions".to_owned(), json!(uris));
            }
        }
        if let Some(grant) = grant {
            grant.send(Granted::Some(granted)).await.ok();
        }
        upstream.over(live).await;
        drop(held);
    }
}

/// Removes a subscription from the list when it ends.
struct Listed<'a> {
    session: &'a Session,
    origin: &'a Arc<Origin>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state
            .listens
            .retain(|listen| !Arc::ptr_eq(&listen.origin, self.origin));
    }
}

/// A subscription to a resource of a server of the legacy protocol.
struct Subscription {
    upstream: Arc<Upstream>,
    uri: String,
}

impl Subscription {
    async fn begin(upstream: &Arc<Upstream>, live: &Arc<Live>, uri: &str) -> Option<Self> {
        let subscription = Self {
            upstream: Arc::clone(upstream),
            uri: uri.to_owned(),
        };
        if upstream.subscribe(uri) {
            let params = Object::from_iter([("uri".to_owned(), json!(uri))]);
            let asked = live
                .peer
                .request(Tag::Own, "resources/subscribe", Some(params));
            let granted = asked
                .await
                .is_ok_and(|outcome| matches!(outcome, Outcome::Result(_)));
            return granted.then_some(subscription);
        }
        Some(subscription)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.upstream.unsubscribe(&self.uri) {
            return;
        }
        let (Some(live), Ok(runtime)) = (
            self.upstream.live_now(),
            tokio::runtime::Handle::try_current(),
        ) else {
            return;
        };
        let params = Object::from_iter([("uri".to_owned(), json!(self.uri))]);
        runtime.spawn(async move {
            let asked = live
                .peer
                .request(Tag::Own, "resources/unsubscribe", Some(params));
            asked.await.ok();
        });
    }
}

/// Merges what one server will announce into what the others will.
fn merge(granted: &mut Object, more: Object) {
    for (field, value) in more {
        match (granted.get_mut(&field), value) {
            (Some(Value::Array(known)), Value::Array(more)) => {
                for one in more {
                    if !known.contains(&one) {
                        known.push(one);
                    }
                }
            }
            (_, value) => {
                granted.insert(field, value);
            }
        }
    }
}
