//! A server that is kept up: connected, introduced, and connected anew when it is gone.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock_core::machine::Object;
use interlock_mcp::handshake::{Handshake, TriedEra, shake};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinHandle},
    time::sleep,
};

use super::list_cache::ListCache;
use crate::upstream::{ConnectOptions, Server};
use crate::{
    asks,
    era::{Era, Introduced},
    message::{Envelope, INTERNAL_ERROR, Id, Outcome},
    session::peer::{Peer, Tag},
    session::{Session, To},
};
use interlock_project::Asks;

/// How long a server that worked is left alone before it is started again.
const SOON: Duration = Duration::from_millis(100);
/// The same after its first failure to start; doubled with each.
const LATER: Duration = Duration::from_millis(250);
/// The longest pause between two tries.
const LATEST: Duration = Duration::from_secs(30);

/// A server on behalf of one client, or of several that share it.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) server: Arc<Server>,
    /// Who it is introduced to.
    pub(crate) greeting: Arc<Introduced>,
    /// Whether several clients use it.
    pub(crate) shared: bool,
    pub(super) options: ConnectOptions,
    pub(super) tools: ListCache,
    pub(super) prompts: ListCache,
    pub(super) listing: tokio::sync::Mutex<()>,
    standing: watch::Sender<Standing>,
    audience: Mutex<Vec<Weak<Session>>>,
    wishes: Mutex<Wishes>,
    /// Its requests that a client is asked at the moment.
    pub(super) asked: Mutex<HashMap<Id, AbortHandle>>,
    /// The era that is being tried on a connection that is not up yet.
    tried: TriedEra,
    /// Lists that changed a moment ago; `true`: and again since.
    pub(super) gathered: Mutex<HashMap<String, bool>>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// How a server stands.
#[derive(Debug, Clone)]
enum Standing {
    Starting,
    Up(Arc<Live>),
    /// It is tried again; meanwhile this is the answer.
    Down(Outcome),
}

/// What a server must be told again when it starts anew.
#[derive(Debug, Default)]
struct Wishes {
    /// The client said that it is initialized, with these parameters.
    initialized: Option<Option<Object>>,
    log_level: Option<Object>,
    subscribed: BTreeMap<String, usize>,
    /// A client was answered without it.
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

/// What was wished for when a server came up.
struct Known {
    log_level: Option<Object>,
    subscribed: Vec<String>,
}

/// A server that is connected and introduced.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) peer: Arc<Peer>,
    pub(crate) era: Era,
    /// The result of `initialize` or `server/discover`.
    pub(crate) about: Object,
    /// Why it ended, once it has.
    pub(super) fate: crate::upstream::Fate,
    /// What the server may ask of a client.
    asks: Asks,
    /// Whether it answered anything since.
    pub(super) answered: AtomicBool,
    told_initialized: AtomicBool,
}

impl Live {
    pub(super) fn new(
        peer: Arc<Peer>,
        era: Era,
        about: Object,
        fate: crate::upstream::Fate,
        asks: Asks,
    ) -> Arc<Self> {
        Arc::new(Self {
            peer,
            era,
            about,
            fate,
            asks,
            answered: AtomicBool::new(false),
            told_initialized: AtomicBool::new(false),
        })
    }

    /// Tells whether the server declared a capability.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capability(capability).is_some()
    }

    /// Tells whether the server declared a part of a capability.
    pub(crate) fn can_also(&self, capability: &str, part: &str) -> bool {
        let capability = self.capability(capability);
        capability.is_some_and(|capability| capability.get(part) == Some(&Value::Bool(true)))
    }

    fn capability(&self, capability: &str) -> Option<&Value> {
        let capabilities = self.about.get("capabilities")?;
        capabilities
            .get(capability)
            .filter(|value| value.is_object())
    }

    /// Adds to parameters of ours what this server must know of the client.
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
            options,
            tools: ListCache::default(),
            prompts: ListCache::default(),
            listing: tokio::sync::Mutex::new(()),
            standing: watch::Sender::new(Standing::Starting),
            audience: Mutex::default(),
            wishes: Mutex::default(),
            asked: Mutex::default(),
            tried: TriedEra::default(),
            gathered: Mutex::default(),
            keeper: Mutex::default(),
        });
        let keeper = tokio::spawn(Arc::clone(&upstream).keep_up());
        *lock(&upstream.keeper) = Some(keeper);
        upstream
    }

    /// Ends the connection for good.
    pub(crate) fn close(&self) {
        if let Some(keeper) = lock(&self.keeper).take() {
            keeper.abort();
        }
        self.forget_asked();
        if let Standing::Up(live) = &*self.standing.borrow() {
            live.peer.close();
        }
        self.standing.send_replace(Standing::Down(Outcome::error(
            INTERNAL_ERROR,
            &format!("{} is closed", self.options.label),
        )));
    }

    /// Waits until the server is up, or is known to be down.
    pub(crate) async fn live(&self) -> Result<Arc<Live>, Outcome> {
        let mut standing = self.standing.subscribe();
        let known = standing
            .wait_for(|standing| !matches!(standing, Standing::Starting))
            .await;
        match known.as_deref() {
            Ok(Standing::Up(live)) => Ok(Arc::clone(live)),
            Ok(Standing::Down(outcome)) => Err(outcome.clone()),
            Ok(Standing::Starting) | Err(_) => Err(self.down("is not there")),
        }
    }

    /// Waits until the server is up, however long that takes.
    pub(crate) async fn up(&self) -> Option<Arc<Live>> {
        let mut standing = self.standing.subscribe();
        let up = standing.wait_for(|standing| matches!(standing, Standing::Up(_)));
        match &*up.await.ok()? {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Waits until this connection is over.
    pub(crate) async fn over(&self, live: &Arc<Live>) {
        let mut standing = self.standing.subscribe();
        let is_other =
            |standing: &Standing| !matches!(standing, Standing::Up(up) if Arc::ptr_eq(up, live));
        standing.wait_for(is_other).await.ok();
    }

    /// Returns the connection if there is one now.
    pub(crate) fn live_now(&self) -> Option<Arc<Live>> {
        match &*self.standing.borrow() {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Answers a request that the server took and did not answer.
    pub(crate) fn gone(&self, live: &Live) -> Outcome {
        let fate = live.fate.said().unwrap_or("closed the connection");
        self.down(&format!("{fate} before it answered"))
    }

    fn down(&self, why: &str) -> Outcome {
        let message = format!("{} {why}; it is being restarted", self.options.label);
        Outcome::away(&message)
    }

    /// Lets a session hear what the server says to nobody in particular.
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

    /// Returns who hears it.
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

    /// Remembers what is to be logged, for when the server starts anew.
    pub(crate) fn wish_logged(&self, params: Object) {
        lock(&self.wishes).log_level = Some(params);
    }

    /// Tells whether the server already logs at `level`.
    pub(crate) fn logs_at(&self, level: &str) -> bool {
        let wishes = lock(&self.wishes);
        let known = wishes
            .log_level
            .as_ref()
            .and_then(|params| params.get("level"));
        known.and_then(Value::as_str) == Some(level)
    }

    /// Counts a subscription; `true`: it is the first of this resource.
    pub(crate) fn subscribe(&self, uri: &str) -> bool {
        let mut wishes = lock(&self.wishes);
        let count = wishes.subscribed.entry(uri.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts a subscription's end; `true`: it was the last of this resource.
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

    /// Remembers that a client was answered without this server.
    pub(crate) fn miss(&self) {
        lock(&self.wishes).missed = true;
    }

    async fn keep_up(self: Arc<Self>) {
        let (mut failures, mut was_up) = (0_u32, false);
        loop {
            let (worked, why) = self.connect_once(&mut was_up).await;
            failures = if worked {
                0
            } else {
                failures.saturating_add(1)
            };
            let Outcome::Error(error) = &why else {
                continue;
            };
            let said: Value = serde_json::from_str(error.get()).unwrap_or_default();
            let said = said
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default();
            self.options.notes.tell(&format!("interlock: {said}"));
            let pause = if worked {
                // It is back in a moment: who asks meanwhile waits that long.
                self.standing.send_replace(Standing::Starting);
                SOON
            } else {
                self.standing.send_replace(Standing::Down(why));
                LATER
                    .saturating_mul(1 << failures.min(10).saturating_sub(1))
                    .min(LATEST)
            };
            sleep(pause).await;
        }
    }

    /// Connects and stays until the connection is over; tells whether it was of any use, and why it ended.
    async fn connect_once(self: &Arc<Self>, was_up: &mut bool) -> (bool, Outcome) {
        let connection = match self.server.dial.dial(&self.options).await {
            Ok(connection) => connection,
            Err(why) => return (false, self.down(&format!("is down: {why}"))),
        };
        let peer = Peer::new(connection.link.outgoing);
        let fate = connection.fate;
        let reading = self.read(&peer, connection.link.incoming);
        tokio::pin!(reading);
        let known = (&self.server.eras, &self.tried);
        let shaken = tokio::select! {
            () = &mut reading => Handshake::Broken,
            shaken = shake(&peer, Tag::Own, &self.greeting, known) => shaken,
        };
        let ended = match shaken {
            Handshake::Done(era, about) => {
                let server = &self.server;
                let live = Live::new(Arc::clone(&peer), era, about, fate.clone(), server.asks);
                let _up = server.metrics.up(&server.name, *was_up);
                self.settle(&live, was_up).await;
                reading.await;
                let answered = live.answered.load(Ordering::Acquire);
                (
                    answered,
                    self.down(fate.said().unwrap_or("closed the connection")),
                )
            }
            Handshake::Refused(outcome) => (false, outcome),
            Handshake::Broken => {
                // Some servers of the legacy era end at words they do not know.
                let eras = &self.server.eras;
                let probed = self.tried.take() == Some(Era::Modern);
                if probed && !eras.refused(Era::Modern) {
                    eras.refuses(Era::Modern);
                    return (true, self.down("ended at words of the modern era"));
                }
                let fate = fate.said().unwrap_or("closed the connection");
                (
                    false,
                    self.down(&format!("is down: it {fate} before it was ready")),
                )
            }
        };
        peer.close();
        self.forget_asked();
        ended
    }

    /// Takes back what clients are asked: the server no longer waits for it.
    fn forget_asked(&self) {
        let asked = std::mem::take(&mut *lock(&self.asked));
        asked.into_values().for_each(|asking| asking.abort());
    }

    /// Brings a server that has just come up to where it was.
    async fn settle(self: &Arc<Self>, live: &Arc<Live>, was_up: &mut bool) {
        self.initialized(live).await;
        // Whoever finds it up subscribes by itself: only what was wished for before is told again.
        let known = lock(&self.wishes).known();
        self.standing.send_replace(Standing::Up(Arc::clone(live)));
        let again = std::mem::replace(was_up, true);
        let missed = std::mem::take(&mut lock(&self.wishes).missed);
        self.tools.spoil();
        self.prompts.spoil();
        // These wait for answers, which are read only after this.
        tokio::spawn(Arc::clone(self).remind(Arc::clone(live), known, again || missed));
        if live.era == Era::Modern {
            tokio::spawn(Arc::clone(self).listen_for_changes(Arc::clone(live)));
        }
    }

    /// Tells a server that started anew what it was told before, and the clients that it is back.
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
                // That tools may change is said of every server.
                let told = list == "tools" || live.can_also(list, "listChanged");
                if told && live.can(list) {
                    let method = format!("notifications/{list}/list_changed");
                    self.announce(&method, None, None, To::All).await;
                }
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
