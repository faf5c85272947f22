//! MCP over HTTP: every revision on one endpoint, with the transport used before 2025.
//!
//! This module knows headers, streams and callers; the meaning of messages belongs to the session.

mod answer;
mod believed;
mod body;
mod conversation;
mod events;
mod guard;
mod modern;
mod one_stream;
mod refuse;
mod routes;
mod sessions;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, StatusCode};
use interlock_core::names::RunId;

use self::{
    believed::Believed,
    conversation::{Conversation, Counted, Kind},
    guard::{Guard, Shown},
    refuse::Refused,
    sessions::Sessions,
};
use crate::{channel::Channel, govern::Caller, metrics::Metrics, notes::Notes};

pub(crate) use self::routes::router;

/// Opens sessions and knows the credentials of runs.
pub trait SessionFactory: Send + Sync + 'static {
    /// Opens a session for a client.
    ///
    /// # Errors
    /// There are too many; the error says what to do.
    fn open(&self, caller: &Caller) -> Result<Channel, String>;

    /// Returns the run that a credential was made for; `None` if it is invalid or has expired.
    ///
    /// May wait for the disk.
    ///
    /// # Errors
    /// The credentials cannot be read; the error gives the reason.
    fn run_of(&self, credential: &str) -> Result<Option<RunId>, String>;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest message, in bytes.
    pub message_bytes_max: usize,
    /// Limit of open requests in one session.
    pub requests_max: usize,
    /// Limit of open sessions.
    pub sessions_max: usize,
    /// Limit of open connections; further ones wait until one is closed.
    pub connections_max: usize,
    /// Idle time after which a session is closed.
    pub idle: Duration,
    /// Idle time after which a session makes room for a new one when the limit is reached.
    pub rest: Duration,
    /// Time limit for a client to send a request.
    pub request_time: Duration,
    /// How long to wait for an answer before starting a stream.
    pub hold: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: 32 * 1024 * 1024,
            requests_max: 1_000,
            sessions_max: 10_000,
            connections_max: 20_000,
            idle: Duration::from_secs(1_800),
            rest: Duration::from_secs(30),
            request_time: Duration::from_secs(60),
            hold: Duration::from_millis(500),
        }
    }
}

/// Who may use the server.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Token of the server; `None` if none is required.
    pub token: Option<String>,
    /// Host names of the server besides those of this machine.
    pub hosts: Vec<String>,
    /// Allowed origins besides those of this machine.
    pub origins: Vec<String>,
    /// Published metadata about where clients get tokens.
    pub resource: Option<Resource>,
}

/// Metadata of an OAuth-protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Public address of the MCP endpoint.
    pub address: String,
    /// Servers that issue tokens for it.
    pub authorization_servers: Vec<String>,
}

/// Everything that the requests of a server share.
pub(crate) struct ServerState {
    factory: Arc<dyn SessionFactory>,
    guard: Guard,
    limits: Limits,
    resource: Option<Resource>,
    pub(crate) counted: Counted,
    sessions: Sessions,
    /// Channels of clients without sessions, by the run whose credential they show, or `None` without a credential.
    shared: Mutex<BTreeMap<Option<RunId>, Arc<Conversation>>>,
    /// Recently verified credentials, by their hashes.
    believed: Mutex<Believed>,
    /// Log with one line per request.
    log: Option<Notes>,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").finish_non_exhaustive()
    }
}

impl ServerState {
    /// Creates the state of a server at `address`.
    pub(crate) fn new(
        factory: Arc<dyn SessionFactory>,
        address: SocketAddr,
        access: &Access,
        limits: Limits,
        metrics: Metrics,
        log: Option<Notes>,
    ) -> Self {
        let token = access.token.as_deref();
        Self {
            factory,
            guard: Guard::new(address, token, &access.hosts, &access.origins),
            resource: access.resource.clone(),
            counted: Counted {
                bytes: Arc::new(AtomicUsize::new(0)),
                metrics,
                requests_max: limits.requests_max,
            },
            limits,
            sessions: Sessions::default(),
            shared: Mutex::default(),
            believed: Mutex::default(),
            log,
        }
    }

    /// Determines the caller, or refuses the request.
    async fn admit(
        self: &Arc<Self>,
        headers: &HeaderMap,
        path_token: Option<&str>,
    ) -> Result<Caller, Refused> {
        let shown = Shown {
            headers,
            path_token,
        };
        let run_of = |credential| Arc::clone(self).run_of(credential);
        self.guard.caller(&shown, run_of).await
    }

    async fn run_of(self: Arc<Self>, credential: String) -> Result<Caller, Refused> {
        let key = guard::hash(&credential);
        if let Some(run) = lock(&self.believed).run(&key, Instant::now()) {
            return Ok(Caller::Run(run));
        }
        let factory = Arc::clone(&self.factory);
        let found = tokio::task::spawn_blocking(move || factory.run_of(&credential)).await;
        let mut believed = lock(&self.believed);
        match found {
            Ok(Ok(Some(run))) => {
                believed.keep(key, run.clone(), Instant::now());
                Ok(Caller::Run(run))
            }
            Ok(Ok(None)) => {
                believed.forget(&key);
                Err(Refused::unauthorized(
                    "the token is not one of this server, or not any more",
                ))
            }
            Ok(Err(why)) => Err(Refused::plain(StatusCode::SERVICE_UNAVAILABLE, &why)),
            Err(_) => Err(Refused::plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the token cannot be looked up",
            )),
        }
    }

    /// Opens a channel for one client.
    fn open(&self, kind: Kind, caller: &Caller) -> Result<Arc<Conversation>, Refused> {
        let is_full = self.sessions.count() >= self.limits.sessions_max;
        if is_full && !self.sessions.make_room(self.limits.rest) {
            let what = format!(
                "{} sessions are open already: try again later",
                self.limits.sessions_max
            );
            return Err(Refused::plain(StatusCode::SERVICE_UNAVAILABLE, &what));
        }
        self.begin(kind, caller)
    }

    fn begin(&self, kind: Kind, caller: &Caller) -> Result<Arc<Conversation>, Refused> {
        let link = self.factory.open(caller);
        let link = link.map_err(|why| Refused::plain(StatusCode::SERVICE_UNAVAILABLE, &why))?;
        let counted = self.counted.clone();
        Ok(Conversation::begin(kind, caller.clone(), link, counted))
    }

    /// Returns the shared channel of all clients with this credential and without a session.
    fn shared(&self, caller: &Caller) -> Result<Arc<Conversation>, Refused> {
        let mut shared = lock(&self.shared);
        let key = match caller {
            Caller::Run(run) => Some(run.clone()),
            Caller::Stdio | Caller::Nobody => None,
        };
        if let Some(open) = shared.get(&key).filter(|open| !open.is_closed()) {
            open.touch();
            return Ok(Arc::clone(open));
        }
        let opened = self.begin(Kind::Stateless, caller)?;
        shared.insert(key, Arc::clone(&opened));
        Ok(opened)
    }

    /// Closes what has been idle for too long.
    pub(crate) fn tidy(&self) {
        self.sessions.close_idle(self.limits.idle);
        lock(&self.shared).retain(|_, open| {
            let rests = open.idle() > self.limits.idle || open.is_closed();
            if rests {
                open.close();
            }
            !rests
        });
    }

    /// Ends the streams that would not end by themselves.
    pub(crate) fn wind_down(&self) {
        self.each(|open| open.wind_down());
    }

    /// Closes everything.
    pub(crate) fn close(&self) {
        self.each(|open| open.close());
        self.sessions.clear();
        lock(&self.shared).clear();
    }

    fn each(&self, act: impl Fn(&Conversation)) {
        for open in self.sessions.all() {
            act(&open);
        }
        for open in lock(&self.shared).values() {
            act(open);
        }
    }

    fn measure(&self) -> String {
        let bytes = self.counted.bytes.load(Ordering::Relaxed);
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.counted.metrics.write(&[
            (
                "interlock_sessions",
                "Open sessions.",
                number(self.sessions.count()),
            ),
            (
                "interlock_waiting_bytes",
                "Bytes that wait for clients.",
                number(bytes),
            ),
        ])
    }
}

/// Locks a value that a panic cannot leave half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
