//! One client's view of the servers: an actor over channels, independent of transports.
//!
//! Each request of the client is a task; dropping it cancels what it began. State that both sides share is under one lock, which
//! is never held while waiting.

mod call;
mod forward;
mod gateway;
mod inbound;
pub(crate) mod kept;
mod list_cache;
mod listen;
mod lists;
mod names;
mod open;
pub(crate) mod origin;
mod park;
pub(crate) mod peer;
mod resources;
mod serve;
mod tasks;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, mpsc, watch},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use crate::{
    era::{Era, Introduced, with_subscription, without_subscription},
    governor_queue::GovernorQueue,
    message::{Envelope, INTERNAL_ERROR, INVALID_REQUEST, Id, Message, Outcome, Request, Response},
    session::kept::Upstream,
    session::origin::{Origin, OriginEvents},
    session::peer::{Gone, Peer, Tag},
};

pub use gateway::{Appoint, Bounds, Gateway, TooManySessions};

/// Interval of the checks whether another process moved the run.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// How long a server may still take to start after the client has closed its input.
const GREET_TIME: Duration = Duration::from_secs(10);
/// How long requests may still take after the client has closed its input.
const LINGER: Duration = Duration::from_secs(5);

/// One client's view of the servers.
pub(crate) struct Session {
    gateway: Arc<Gateway>,
    pub(crate) client: Arc<Peer>,
    governor: GovernorQueue,
    own: OnceCell<Own>,
    /// `false` while the client waits for the answer to `initialize`, before which it gets no other message.
    greeted: watch::Sender<bool>,
    /// Whether a check for changes of the run is in progress.
    looking: AtomicBool,
    state: Mutex<State>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

/// What the gateway itself offers.
#[derive(Debug, Default)]
struct Own {
    tools: Vec<Value>,
    instructions: String,
}

#[derive(Debug, Default)]
struct State {
    under_way: HashMap<Id, Arc<Origin>>,
    legacy: Option<Arc<Side>>,
    modern: Vec<Arc<Side>>,
    listens: Vec<listen::Listen>,
    parked: park::Parking,
    routes: resources::Routes,
    tasks: tasks::Tasks,
}

/// The servers, as introduced to a client in one way.
#[derive(Debug)]
struct Side {
    introduced: Arc<Introduced>,
    upstreams: Vec<Arc<Upstream>>,
    log_level: Mutex<Option<String>>,
    names: names::Cache,
}

/// Recipients of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// All clients that want it.
    All,
    /// Clients of the legacy protocol: others have their own subscriptions at the server.
    Legacy,
    /// All clients that want it and read promptly: nobody else waits for the others.
    Ready,
}

/// A request while it is being answered.
#[derive(Debug, Clone)]
struct Asking {
    origin: Arc<Origin>,
    side: Arc<Side>,
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: &Arc<Self>, mut incoming: mpsc::Receiver<Envelope>) {
        let mut tasks = JoinSet::new();
        let mut ending = self.gateway.ending.subscribe();
        let mut greeted = self.greeted.subscribe();
        let mut look = interval(LOOK_PERIOD);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Messages that come before `initialize` is answered, from a client that does not wait for it.
        let mut early = VecDeque::new();
        let mut open = true;
        let gone = sleep(Duration::MAX);
        tokio::pin!(gone);
        while open || !*self.greeted.borrow() || !early.is_empty() {
            let waits = !*greeted.borrow_and_update();
            if !waits && let Some(envelope) = early.pop_front() {
                self.receive(envelope, &mut tasks);
                continue;
            }
            let room = early.len() < self.gateway.bounds.calls_max;
            tokio::select! {
                envelope = incoming.recv(), if open && room => match envelope {
                    Some(envelope) if waits && can_wait(&envelope) => early.push_back(envelope),
                    Some(envelope) => self.receive(envelope, &mut tasks),
                    None => {
                        open = false;
                        gone.as_mut().reset(Instant::now() + GREET_TIME);
                    }
                },
                _ = tasks.join_next(), if !tasks.is_empty() => {}
                _ = greeted.changed(), if waits => {}
                () = &mut gone, if !open => break,
                _ = look.tick() => self.look(),
                _ = ending.wait_for(|ending| *ending) => break,
            }
        }
        self.finish(&mut tasks).await;
        self.close();
    }

    /// Drains in-flight requests for up to `LINGER`; subscriptions have no answer to wait for.
    async fn finish(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        for listen in std::mem::take(&mut self.state().listens) {
            listen.origin.cancel(Object::new());
        }
        let mut ending = self.gateway.ending.subscribe();
        let lingering = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => {}
            _ = timeout(LINGER, lingering) => {}
        }
        tasks.shutdown().await;
        drop(std::mem::take(&mut self.state().parked));
        self.forget_tasks();
        // What ended is recorded before the process may end.
        self.governor.ask(|_| ()).await;
    }

    fn close(&self) {
        let (legacy, modern) = {
            let mut state = self.state();
            state.routes.close();
            (state.legacy.take(), std::mem::take(&mut state.modern))
        };
        for side in legacy.into_iter().chain(modern) {
            side.close();
        }
        self.client.close();
    }

    fn receive(self: &Arc<Self>, envelope: Envelope, tasks: &mut JoinSet<()>) {
        match envelope.message {
            Message::Request(request) => self.begin(request, tasks),
            Message::Notification(notification) => {
                if notification.method == "notifications/cancelled" {
                    return self.cancel(notification.params.unwrap_or_default());
                }
                // In a task of its own, as the requests before it: it must not overtake them.
                let session = Arc::clone(self);
                tasks.spawn(async move { session.told(notification).await });
            }
            Message::Response(Response { id, outcome }) => {
                if let Some(id) = id {
                    self.client.answered(&id, outcome);
                }
            }
        }
    }

    fn cancel(&self, params: Object) {
        let id = params.get("requestId").and_then(Id::from_value);
        let origin = id.and_then(|id| self.state().under_way.get(&id).cloned());
        if let Some(origin) = origin {
            let mut params = params;
            params.shift_remove("requestId");
            origin.cancel(params);
        }
    }

    /// Begins to answer a request.
    fn begin(self: &Arc<Self>, request: Request, tasks: &mut JoinSet<()>) {
        let session = Arc::clone(self);
        let id = request.id.clone();
        match self.register(&request) {
            Ok((asking, told)) => {
                let greeting = Greeting::begin(self, &request, asking.is_none());
                tasks.spawn(async move {
                    let origin =
                        Arc::clone(asking.as_ref().map_or(&told.0, |asking| &asking.origin));
                    let reply = tokio::select! {
                        biased;
                        // `initialize` cannot be cancelled.
                        () = origin.cancelled(), if greeting.is_none() => None,
                        reply = Arc::clone(&session).answer(asking, request, told.1) => Some(reply),
                    };
                    session.state().under_way.remove(&id);
                    if let Some(outcome) = reply {
                        session
                            .client
                            .send(Envelope::response(id, outcome))
                            .await
                            .ok();
                    }
                    drop(greeting);
                });
            }
            Err(outcome) => {
                tasks.spawn(async move {
                    session
                        .client
                        .send(Envelope::response(id, outcome))
                        .await
                        .ok();
                });
            }
        }
    }

    /// Determines the caller and registers the request.
    #[expect(clippy::type_complexity, reason = "one caller takes it apart at once")]
    fn register(
        self: &Arc<Self>,
        request: &Request,
    ) -> Result<(Option<Asking>, (Arc<Origin>, OriginEvents)), Outcome> {
        let introduced = match Introduced::by_meta(request.params.as_ref()) {
            // A client may still find out which protocol is supported here.
            Some(Err(outcome)) => return Err(outcome),
            Some(Ok(introduced)) => Some(Arc::new(introduced)),
            None => None,
        };
        let side = match &introduced {
            Some(introduced) => Some(self.modern_side(introduced)),
            None => self.state().legacy.clone(),
        };
        let mut state = self.state();
        if state.under_way.contains_key(&request.id) {
            let message = format!(
                "a request with the id `{}` is under way: choose another",
                request.id
            );
            return Err(Outcome::error(INVALID_REQUEST, &message));
        }
        let most = self.gateway.bounds.calls_max;
        if state.under_way.len() >= most {
            let message =
                format!("{most} requests are under way, which is the most: wait for an answer");
            return Err(Outcome::error(INTERNAL_ERROR, &message));
        }
        let token = request
            .params
            .as_ref()
            .and_then(|params| params.get("_meta")?.get("progressToken"));
        let introduced = introduced
            .or_else(|| side.as_ref().map(|side| Arc::clone(&side.introduced)))
            .unwrap_or_else(|| Arc::new(Introduced::nobody()));
        let (origin, told) = Origin::new(
            Arc::downgrade(self),
            request.id.clone(),
            token.cloned(),
            introduced,
            request.method == "subscriptions/listen",
        );
        state
            .under_way
            .insert(request.id.clone(), Arc::clone(&origin));
        let asking = side.map(|side| Asking {
            origin: Arc::clone(&origin),
            side,
        });
        Ok((asking, (origin, told)))
    }

    /// Returns the servers as a client of the modern protocol sees them.
    fn modern_side(self: &Arc<Self>, introduced: &Arc<Introduced>) -> Arc<Side> {
        let mut state = self.state();
        let fits = |side: &&Arc<Side>| side.introduced.capabilities == introduced.capabilities;
        if let Some(side) = state.modern.iter().find(fits) {
            return Arc::clone(side);
        }
        let upstreams: Vec<Arc<Upstream>> = (self.gateway.servers.iter())
            .map(|server| {
                // A server that stores nothing about its clients needs one connection.
                let mut known = state.modern.iter().flat_map(|side| &side.upstreams);
                let known = known.find(|upstream| {
                    Arc::ptr_eq(&upstream.server, server)
                        && upstream
                            .live_now()
                            .is_some_and(|live| live.era == Era::Modern)
                });
                known.map_or_else(|| self.gateway.upstream(server, introduced), Arc::clone)
            })
            .collect();
        for upstream in &upstreams {
            upstream.join(self);
        }
        let side = Side::new(Arc::clone(introduced), upstreams);
        state.modern.push(Arc::clone(&side));
        let evicted = (state.modern.len() > SIDES_MAX).then(|| state.modern.remove(0));
        let still: Vec<Arc<Side>> = state.modern.clone();
        drop(state);
        if let Some(evicted) = evicted {
            evicted.close_but(&still);
        }
        side
    }

    /// Asks the client on behalf of a server.
    pub(crate) async fn ask(
        &self,
        server: &Arc<Peer>,
        method: &str,
        mut params: Option<Object>,
        about: Option<Id>,
    ) -> Result<Outcome, Gone> {
        self.wait_greeted().await;
        let token = take_token(&mut params);
        let asked = token.is_some();
        let mut flight = self.client.begin(Tag::Asked(Arc::clone(server), token));
        if asked {
            put_token(&mut params, json!(flight.number()));
        }
        flight.send(method, params, about).await?;
        flight.reply().await
    }

    /// Passes on a notification for all clients of a server.
    pub(crate) async fn hear(
        &self,
        method: &str,
        params: Option<Object>,
        about: Option<Id>,
        to: To,
    ) {
        let (legacy, listening) = {
            let state = self.state();
            let wants = |listen: &&listen::Listen| {
                to != To::Legacy && listen.wants(method, params.as_ref())
            };
            let listening: Vec<Id> = state
                .listens
                .iter()
                .filter(wants)
                .map(|listen| listen.origin.id())
                .collect();
            (state.legacy.is_some(), listening)
        };
        if legacy && to == To::Ready && !*self.greeted.borrow() {
            return;
        }
        if legacy {
            self.wait_greeted().await;
            let params = without_subscription(params.clone());
            let envelope = Envelope::notification(method, params).about(about);
            self.deliver(envelope, to).await;
        }
        for id in listening {
            let params = with_subscription(params.clone(), id.to_value());
            let envelope = Envelope::notification(method, Some(params)).about(Some(id));
            self.deliver(envelope, to).await;
        }
    }

    /// Waits until the client has the answer to `initialize`.
    pub(crate) async fn wait_greeted(&self) {
        let mut greeted = self.greeted.subscribe();
        greeted.wait_for(|greeted| *greeted).await.ok();
    }

    async fn deliver(&self, envelope: Envelope, to: To) {
        if to == To::Ready {
            self.client.try_send(envelope);
        } else {
            self.client.send(envelope).await.ok();
        }
    }

    /// Checks whether the visible tools have changed, and notifies the client.
    fn look(self: &Arc<Self>) {
        let interested = {
            let mut state = self.state();
            state.parked.expire();
            let legacy = state.legacy.is_some() && *self.greeted.borrow();
            legacy || !state.listens.is_empty()
        };
        if interested && !self.looking.swap(true, Ordering::AcqRel) {
            let session = Arc::clone(self);
            tokio::spawn(async move {
                session.look_now(None).await;
                session.looking.store(false, Ordering::Release);
            });
        }
    }

    /// Does the same before anything else.
    async fn look_now(&self, about: Option<Id>) {
        // Changes are counted from what the client saw first.
        self.own().await;
        if self.governor.ask(|govern| govern.changed()).await == Some(true) {
            self.moved(about).await;
        }
    }

    /// Notifies the client that the visible tools may have changed; the gateway's own never change.
    async fn moved(&self, about: Option<Id>) {
        if !self.gateway.servers.is_empty() {
            self.hear("notifications/tools/list_changed", None, about, To::All)
                .await;
        }
    }

    async fn own(&self) -> &Own {
        self.own
            .get_or_init(|| async {
                let own = self.governor.ask(|govern| {
                    // The client will first see what is visible now.
                    govern.changed();
                    Own {
                        tools: govern.own_tools(),
                        instructions: govern.instructions(),
                    }
                });
                own.await.unwrap_or_default()
            })
            .await
    }
}

/// Returns whether a message may be handled later than its successors.
fn can_wait(envelope: &Envelope) -> bool {
    match &envelope.message {
        Message::Request(request) => request.method != "ping",
        Message::Notification(notification) => notification.method != "notifications/cancelled",
        Message::Response(_) => false,
    }
}

/// Guard for the time in which a client waits for the answer to `initialize`.
struct Greeting(Arc<Session>);

impl Greeting {
    fn begin(session: &Arc<Session>, request: &Request, unknown: bool) -> Option<Self> {
        if !unknown || request.method != "initialize" {
            return None;
        }
        session.greeted.send_replace(false);
        Some(Self(Arc::clone(session)))
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        self.0.greeted.send_replace(true);
    }
}

/// Maximum number of different introductions that clients of one credential may have at once.
const SIDES_MAX: usize = 16;

impl Side {
    fn new(introduced: Arc<Introduced>, upstreams: Vec<Arc<Upstream>>) -> Arc<Self> {
        Arc::new(Self {
            introduced,
            upstreams,
            log_level: Mutex::default(),
            names: names::Cache::default(),
        })
    }

    fn close(&self) {
        self.close_but(&[]);
    }

    /// Ends its connections, except those that others use.
    fn close_but(&self, others: &[Arc<Self>]) {
        for upstream in &self.upstreams {
            let used = others.iter().flat_map(|side| &side.upstreams);
            if !upstream.shared && !used.into_iter().any(|other| Arc::ptr_eq(other, upstream)) {
                upstream.close();
            }
        }
    }

    /// Returns the server if there is only one.
    fn only(&self) -> Option<&Arc<Upstream>> {
        match self.upstreams.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// Removes a progress token from parameters.
fn take_token(params: &mut Option<Object>) -> Option<Value> {
    let meta = params.as_mut()?.get_mut("_meta")?.as_object_mut()?;
    let token = meta.get_mut("progressToken")?;
    Some(token.take())
}

/// Restores a progress token.
fn put_token(params: &mut Option<Object>, token: Value) {
    let meta = params.as_mut().and_then(|params| params.get_mut("_meta"));
    if let Some(Value::Object(meta)) = meta {
        meta.insert("progressToken".to_owned(), token);
    }
}
