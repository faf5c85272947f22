//! A connection to a server that is kept up: introduced, and re-established when it is lost.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use interlock_core::machine::Object;
use interlock_mcp::{
    handshake::Eras,
    reconnect::{self, Introduction, Reconnect, ServerState},
    transport::Dial,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::AbortHandle};

use super::list_cache::ListCache;
use crate::upstream::{ConnectOptions, Server};
use crate::{
    asks,
    era::{Era, Introduced},
    message::{Envelope, Id, Outcome},
    metrics::Up,
    session::peer::{Peer, Tag},
    session::{Session, To},
};
use interlock_project::Asks;

/// A server on behalf of one client, or of several that share it.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) server: Arc<Server>,
    /// The client that it is introduced to.
    pub(crate) greeting: Arc<Introduced>,
    /// Whether several clients use it.
    pub(crate) shared: bool,
    pub(super) tools: ListCache,
    pub(super) prompts: ListCache,
    pub(super) listing: tokio::sync::Mutex<()>,
    state: ServerState<Live>,
    /// Whether it was up before.
    was_up: AtomicBool,
    audience: Mutex<Vec<Weak<Session>>>,
    wishes: Mutex<Wishes>,
    /// Its open requests to a client.
    pub(super) asked: Mutex<HashMap<Id, AbortHandle>>,
    /// Lists that changed recently; `true` if they changed again since.
    pub(super) gathered: Mutex<HashMap<String, bool>>,
}

/// What must be repeated to a server when it restarts.
#[derive(Debug, Default)]
struct Wishes {
    /// The client reported that it is initialized, with these parameters.
    initialized: Option<Option<Object>>,
    log_level: Option<Object>,
    subscribed: BTreeMap<String, usize>,
    /// A client was answered without the server.
    missed: bool,
}

impl Wishes {
    fn known(&self) -> Known {
        Known {
            log_level: self.log_level.clone(),
            subscribed: self.subscribed.keys().cloned().collect(),
        }
    }
}

/// What was requested when a server came up.
struct Known {
    log_level: Option<Object>,
    subscribed: Vec<String>,
}

/// A connected and introduced server.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) peer: Arc<Peer>,
    pub(crate) era: Era,
    /// Result of `initialize` or `server/discover`.
    pub(crate) about: Object,
    /// Why the connection ended, once it has.
    pub(super) fate: crate::upstream::Fate,
    /// What the server may ask of a client.
    asks: Asks,
    /// Whether it has answered anything since.
    pub(super) answered: AtomicBool,
    told_initialized: AtomicBool,
}

impl Live {
    fn new(introduced: Introduction<Tag>, asks: Asks) -> Arc<Self> {
        Arc::new(Self {
            peer: introduced.peer,
            era: introduced.era,
            about: introduced.about,
            fate: introduced.fate,
            asks,
            answered: AtomicBool::new(false),
            told_initialized: AtomicBool::new(false),
        })
    }

    /// Returns whether the server declared a capability.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capability(capability).is_some()
    }

    /// Returns whether the server declared a part of a capability.
    pub(crate) fn can_also(&self, capability: &str, part: &str) -> bool {
        let capability = self.capability(capability);
        capability.is_some_and(|capability| capability.get(part) == Some(&Value::Bool(true)))
    }

    fn capability(&self, capability: &str) -> Option<&Value> {
        reconnect::capability(&self.about, capability)
    }

    /// Adds to parameters what this server must know of the client.
    pub(crate) fn addressed(&self, params: Option<Object>, client: &Introduced) -> Option<Object> {
        match self.era {
            Era::Legacy => params,
            Era::Modern => Some(asks::introduced(self.asks, client).to_meta(params)),
        }
    }
}

impl Upstream {
    /// Begins to keep a server up.
    pub(crate) fn keep(
        server: Arc<Server>,
        greeting: Arc<Introduced>,
        shared: bool,
        options: &ConnectOptions,
    ) -> Arc<Self> {
        let options = ConnectOptions {
            label: server.label(),
            ..options.clone()
        };
        let greeting = Arc::new(asks::introduced(server.asks, &greeting));
        let upstream = Arc::new(Self {
            server,
            greeting,
            shared,
            tools: ListCache::default(),
            prompts: ListCache::default(),
            listing: tokio::sync::Mutex::new(()),
            state: ServerState::new(options),
            was_up: AtomicBool::new(false),
            audience: Mutex::default(),
            wishes: Mutex::default(),
            asked: Mutex::default(),
            gathered: Mutex::default(),
        });
        ServerState::keep(&upstream);
        upstream
    }

    /// Ends the connection permanently.
    pub(crate) fn close(&self) {
        let live = self.state.close();
        self.forget_asked();
        if let Some(live) = live {
            live.peer.close();
        }
    }

    /// Waits until the server is up, or is known to be down.
    pub(crate) async fn live(&self) -> Result<Arc<Live>, Outcome> {
        self.state.live().await
    }

    /// Waits until the server is up, without a limit.
    pub(crate) async fn up(&self) -> Option<Arc<Live>> {
        self.state.up().await
    }

    /// Waits until this connection is over.
    pub(crate) async fn over(&self, live: &Arc<Live>) {
        self.state.over(live).await;
    }

    /// Returns the present connection, if there is one.
    pub(crate) fn live_now(&self) -> Option<Arc<Live>> {
        self.state.live_now()
    }

    /// Answers a request that the server received and did not answer.
    pub(crate) fn gone(&self, live: &Live) -> Outcome {
        self.state.gone(&live.fate)
    }

    /// Adds a session to the recipients of the server's general messages.
    pub(crate) fn join(&self, session: &Arc<Session>) {
        let mut audience = lock(&self.audience);
        audience.retain(|other| other.strong_count() > 0);
        let known = audience
            .iter()
            .any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(session)));
        if !known {
            audience.push(Arc::downgrade(session));
        }
    }

    /// Returns these recipients.
    pub(crate) fn audience(&self) -> Vec<Arc<Session>> {
        lock(&self.audience)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Passes on that the client is initialized, now or as soon as the server is.
    pub(crate) async fn tell_initialized(&self, params: Option<Object>) {
        lock(&self.wishes).initialized = Some(params);
        if let Some(live) = self.live_now() {
            self.initialized(&live).await;
        }
    }

    async fn initialized(&self, live: &Live) {
        if live.era != Era::Legacy {
            return;
        }
        let params = match (self.greeting.era, &lock(&self.wishes).initialized) {
            (Era::Modern, _) => None,
            (Era::Legacy, Some(params)) => params.clone(),
            (Era::Legacy, None) => return,
        };
        if !live.told_initialized.swap(true, Ordering::AcqRel) {
            let envelope = Envelope::notification("notifications/initialized", params);
            live.peer.send(envelope).await.ok();
        }
    }

    /// Stores the log level, for when the server restarts.
    pub(crate) fn wish_logged(&self, params: Object) {
        lock(&self.wishes).log_level = Some(params);
    }

    /// Returns whether the server already logs at `level`.
    pub(crate) fn logs_at(&self, level: &str) -> bool {
        let wishes = lock(&self.wishes);
        let known = wishes
            .log_level
            .as_ref()
            .and_then(|params| params.get("level"));
        known.and_then(Value::as_str) == Some(level)
    }

    /// Counts a subscription; returns `true` if it is the first of this resource.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut wishes = lock(&self.wishes);
        let count = wishes.subscribed.entry(uri.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts the end of a subscription; returns `true` if it was the last of this resource.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        let mut wishes = lock(&self.wishes);
        let Some(count) = wishes.subscribed.get_mut(uri) else {
            return true;
        };
        *count = count.saturating_sub(1);
        let last = *count == 0;
        if last {
            wishes.subscribed.remove(uri);
        }
        last
    }

    /// Records that a client was answered without this server.
    pub(crate) fn miss(&self) {
        lock(&self.wishes).missed = true;
    }

    /// Cancels the questions to clients: the server no longer waits for them.
    fn forget_asked(&self) {
        let asked = std::mem::take(&mut *lock(&self.asked));
        asked.into_values().for_each(|asking| asking.abort());
    }

    /// Repeats to a restarted server what it was told before, and announces to the clients that it is back.
    async fn remind(self: Arc<Self>, live: Arc<Live>, known: Known, announce: bool) {
        if live.era == Era::Legacy {
            if let Some(level) = known.log_level {
                let asked = live.peer.request(Tag::Own, "logging/setLevel", Some(level));
                asked.await.ok();
            }
            for uri in known.subscribed {
                let params = Object::from_iter([("uri".to_owned(), json!(uri))]);
                let asked = live
                    .peer
                    .request(Tag::Own, "resources/subscribe", Some(params));
                asked.await.ok();
            }
        }
        if announce {
            for list in ["tools", "prompts", "resources"] {
                // The tools of every server are declared as changeable.
                let told = list == "tools" || live.can_also(list, "listChanged");
                if told && live.can(list) {
                    let method = format!("notifications/{list}/list_changed");
                    self.announce(&method, None, None, To::All).await;
                }
            }
        }
    }
}

impl Reconnect for Upstream {
    type Tag = Tag;
    type Live = Live;
    type Held = Up;

    fn state(&self) -> &ServerState<Live> {
        &self.state
    }

    fn dial(&self) -> &dyn Dial {
        &*self.server.dial
    }

    fn eras(&self) -> &Eras {
        &self.server.eras
    }

    fn greeting(&self) -> &Introduced {
        &self.greeting
    }

    fn own_tag(&self) -> Tag {
        Tag::Own
    }

    async fn read(self: &Arc<Self>, peer: &Arc<Peer>, incoming: mpsc::Receiver<Envelope>) {
        self.take_messages(peer, incoming).await;
    }

    /// Restores the state of a server that has just come up.
    async fn settle(self: &Arc<Self>, introduced: Introduction<Tag>) -> (Arc<Live>, Up) {
        let server = &self.server;
        let live = Live::new(introduced, server.asks);
        let again = self.was_up.swap(true, Ordering::AcqRel);
        let up = server.metrics.up(&server.name, again);
        self.initialized(&live).await;
        // A client that finds it up subscribes itself: only earlier requests are repeated.
        let known = lock(&self.wishes).known();
        self.state.open(&live);
        let missed = std::mem::take(&mut lock(&self.wishes).missed);
        self.tools.spoil();
        self.prompts.spoil();
        // These wait for answers, which are read only after this.
        tokio::spawn(Arc::clone(self).remind(Arc::clone(&live), known, again || missed));
        if live.era == Era::Modern {
            tokio::spawn(Arc::clone(self).listen_for_changes(Arc::clone(&live)));
        }
        (live, up)
    }

    fn has_answered(live: &Live) -> bool {
        live.answered.load(Ordering::Acquire)
    }

    fn forget(&self) {
        self.forget_asked();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
