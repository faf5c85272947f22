//! Messages that a server sends on its own, and their recipients.
//!
//! A message goes to the client whose request it belongs to, if known; otherwise it goes to every client of the connection. A
//! request of a server goes to exactly one client, or is refused.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use super::{
    kept::{Live, Upstream, lock},
    list_cache::spoiled,
};
use crate::{
    asks,
    era::{Era, SUBSCRIPTION_KEY, with_subscription},
    message::{
        Envelope, Id, METHOD_NOT_FOUND, Message, Notification, Outcome, Request, Response, raw,
    },
    session::origin::Origin,
    session::peer::{Peer, Tag, newest_origin, only_origin},
    session::{Session, To},
};

/// How long changes of one list are collected before they are announced.
const GATHER: Duration = Duration::from_millis(50);
/// Delay before a broken subscription is renewed.
const REST: Duration = Duration::from_secs(2);

impl Upstream {
    /// Reads until the connection ends.
    pub(super) async fn take_messages(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        mut incoming: mpsc::Receiver<Envelope>,
    ) {
        while let Some(envelope) = incoming.recv().await {
            let about = envelope.about;
            match envelope.message {
                Message::Response(Response { id, outcome }) => {
                    if let Some(live) = self.live_now() {
                        live.answered.store(true, Ordering::Release);
                    }
                    // Nobody waits for a cancelled request.
                    if let Some(id) = id {
                        peer.answered(&id, outcome);
                    }
                }
                Message::Notification(notification) => {
                    self.told(peer, notification, about).await;
                }
                Message::Request(request) => self.asks(peer, request, about).await,
            }
        }
    }

    /// Passes a notification on.
    async fn told(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        notification: Notification,
        about: Option<Id>,
    ) {
        let Notification { method, params } = notification;
        let field = |name: &str| params.as_ref().and_then(|params| params.get(name));
        match method.as_str() {
            "notifications/progress" => {
                let token = field("progressToken").and_then(Id::from_value);
                if let Some(Tag::Origin(origin)) = token.and_then(|token| peer.tag(&token)) {
                    progress(&origin, params).await;
                }
                return;
            }
            "notifications/cancelled" => {
                let Some(id) = field("requestId").and_then(Id::from_value) else {
                    return;
                };
                if let Some(asking) = lock(&self.asked).remove(&id) {
                    asking.abort();
                } else {
                    // The server ends a subscription.
                    let over = raw(&json!({"resultType": "complete"}));
                    peer.answered(&id, Outcome::Result(over));
                }
                return;
            }
            _ => {}
        }
        let subscription = field("_meta")
            .and_then(|meta| meta.get(SUBSCRIPTION_KEY))
            .and_then(Id::from_value);
        let tag = subscription.or(about).and_then(|id| peer.tag(&id));
        if method == "notifications/subscriptions/acknowledged" {
            if let (Some(Tag::Origin(origin)), Some(granted)) = (tag, field("notifications")) {
                origin.acknowledge(granted.as_object().cloned().unwrap_or_default());
            }
            return;
        }
        if let Some(kind) = spoiled(&method) {
            self.list_cache(kind).spoil();
        }
        match tag {
            Some(Tag::Origin(origin)) if origin.listens => {
                self.to_listener(&origin, method, params).await;
            }
            Some(Tag::Origin(origin)) => self.to_origin(&origin, method, params).await,
            Some(Tag::Own | Tag::Asked(..)) | None => {
                self.to_all(peer, method, params).await;
            }
        }
    }

    async fn to_listener(&self, origin: &Origin, method: String, params: Option<Object>) {
        let Some(session) = origin.session() else {
            return;
        };
        if origin.era == Era::Legacy {
            session.hear(&method, params, None, To::Legacy).await;
            return;
        }
        let id = origin.id();
        let params = with_subscription(params, id.to_value());
        let envelope = Envelope::notification(&method, Some(params)).about(Some(id));
        self.pass(&session, envelope).await;
    }

    async fn to_origin(&self, origin: &Origin, method: String, params: Option<Object>) {
        let level = params.as_ref().and_then(|params| params.get("level"));
        if method == "notifications/message"
            && origin.era == Era::Modern
            && !origin
                .introduced
                .wants_logged(level.and_then(Value::as_str))
        {
            return;
        }
        if is_for_all(&method) {
            return self.broadcast(&method, params, None).await;
        }
        if let Some(session) = origin.session() {
            let envelope = Envelope::notification(&method, params).about(Some(origin.id()));
            self.pass(&session, envelope).await;
        }
    }

    async fn to_all(self: &Arc<Self>, peer: &Peer, method: String, params: Option<Object>) {
        if method.ends_with("/list_changed") {
            return self.gather(method, params).await;
        }
        if is_for_all(&method) {
            return self.broadcast(&method, params, None).await;
        }
        // A transport without separate streams does not show what it belongs to.
        let modern = |origin: &Arc<Origin>| origin.era == Era::Modern;
        let origin = only_origin(peer);
        let origin = origin.or_else(|| newest_origin(peer).filter(modern));
        match origin {
            Some(origin) if !origin.listens => self.to_origin(&origin, method, params).await,
            _ => self.broadcast(&method, params, None).await,
        }
    }

    /// Announces a changed list, and once more if it changed shortly after.
    async fn gather(self: &Arc<Self>, method: String, params: Option<Object>) {
        {
            let mut gathered = lock(&self.gathered);
            if let Some(again) = gathered.get_mut(&method) {
                *again = true;
                return;
            }
            gathered.insert(method.clone(), false);
        }
        self.broadcast(&method, params, None).await;
        let upstream = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(GATHER).await;
                let again = {
                    let mut gathered = lock(&upstream.gathered);
                    let again = gathered.get_mut(&method).is_some_and(std::mem::take);
                    if !again {
                        gathered.remove(&method);
                    }
                    again
                };
                if !again {
                    return;
                }
                upstream.broadcast(&method, None, None).await;
            }
        });
    }

    /// Notifies every client of the connection.
    pub(super) async fn broadcast(&self, method: &str, params: Option<Object>, about: Option<Id>) {
        let modern = self.live_now().is_some_and(|live| live.era == Era::Modern);
        let to = match (self.shared, modern) {
            (_, true) => To::Legacy,
            (true, false) => To::Ready,
            (false, false) => To::All,
        };
        self.announce(method, params, about, to).await;
    }

    /// Notifies the recipients.
    pub(super) async fn announce(
        &self,
        method: &str,
        params: Option<Object>,
        about: Option<Id>,
        to: To,
    ) {
        for session in self.audience() {
            session
                .hear(method, params.clone(), about.clone(), to)
                .await;
        }
    }

    /// Gives a message to a client; a client that does not read blocks no other.
    async fn pass(&self, session: &Session, envelope: Envelope) {
        if self.shared {
            session.client.try_send(envelope);
        } else {
            session.wait_greeted().await;
            session.client.send(envelope).await.ok();
        }
    }

    /// Answers a request of the server, or lets a client answer it.
    async fn asks(self: &Arc<Self>, peer: &Arc<Peer>, request: Request, about: Option<Id>) {
        if request.method == "ping" {
            let pong = Outcome::result(&json!({}));
            peer.send(Envelope::response(request.id, pong)).await.ok();
            return;
        }
        let id = request.id.clone();
        let (upstream, peer) = (Arc::clone(self), Arc::clone(peer));
        let mut asked = lock(&self.asked);
        let asking = tokio::spawn(async move {
            let id = request.id.clone();
            let outcome = upstream.ask_client(&peer, request, about).await;
            lock(&upstream.asked).remove(&id);
            peer.send(Envelope::response(id, outcome)).await.ok();
        });
        asked.insert(id, asking.abort_handle());
    }

    async fn ask_client(&self, peer: &Arc<Peer>, request: Request, about: Option<Id>) -> Outcome {
        let Request { method, params, .. } = request;
        let refuse = |why: &str| {
            let message = format!("`{method}` cannot be answered here: {why}");
            Outcome::error(METHOD_NOT_FOUND, &message)
        };
        let params = match asks::marked(&self.server.asker(), &method, params.clone()) {
            Ok(marked) => marked.or(params),
            Err(refused) => return refused,
        };
        let origin = match about.and_then(|about| peer.tag(&about)) {
            Some(Tag::Origin(origin)) => Some(origin),
            _ => only_origin(peer),
        };
        // A client's subscription has no answer that could carry a question.
        let origin = origin.filter(|origin| !origin.listens || origin.era == Era::Legacy);
        let session = match &origin {
            Some(origin) => origin.session(),
            None => self.only_legacy_session(),
        };
        let Some(session) = session else {
            return refuse("no request of a client is under way to which it belongs");
        };
        match &origin {
            Some(origin) if origin.era == Era::Modern => {
                if !origin.introduced.answers(&method) {
                    return refuse("the client did not declare it");
                }
                match origin.need(&method, params).await {
                    Some(outcome) => outcome,
                    None => refuse("the client gave up"),
                }
            }
            _ => {
                let about = origin.map(|origin| origin.id());
                let asked = session.ask(peer, &method, params, about).await;
                asked.unwrap_or_else(|_| refuse("the client is gone"))
            }
        }
    }

    /// Returns the only session of the legacy protocol, if there is just one.
    fn only_legacy_session(&self) -> Option<Arc<Session>> {
        let audience = self.audience();
        match audience.as_slice() {
            [only] if self.greeting.era == Era::Legacy && !self.shared => Some(Arc::clone(only)),
            _ => None,
        }
    }

    /// Subscribes to the lists of a server of the modern protocol, as long as the connection lasts.
    pub(super) async fn listen_for_changes(self: Arc<Self>, live: Arc<Live>) {
        let mut wanted = Object::new();
        for list in ["tools", "prompts", "resources"] {
            if live.can_also(list, "listChanged") {
                wanted.insert(format!("{list}ListChanged"), json!(true));
            }
        }
        if wanted.is_empty() {
            return;
        }
        let listening = async {
            loop {
                let params = Object::from_iter([("notifications".to_owned(), json!(wanted))]);
                let params = Some(self.greeting.to_meta(Some(params)));
                let asked = live.peer.request(Tag::Own, "subscriptions/listen", params);
                match asked.await {
                    Ok(Outcome::Error(_)) | Err(_) => return,
                    Ok(Outcome::Result(_)) => sleep(REST).await,
                }
            }
        };
        tokio::select! {
            () = listening => {}
            () = self.over(&live) => {}
        }
    }
}

/// Passes progress on to the requester, with the requester's token.
async fn progress(origin: &Origin, params: Option<Object>) {
    let (Some(token), Some(session)) = (origin.token(), origin.session()) else {
        return;
    };
    let mut params = params.unwrap_or_default();
    params.insert("progressToken".to_owned(), token);
    let envelope = Envelope::notification("notifications/progress", Some(params));
    let envelope = envelope.about(Some(origin.id()));
    session.client.send(envelope).await.ok();
}

/// Returns whether a notification is for every client, whatever requests are open.
fn is_for_all(method: &str) -> bool {
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}
