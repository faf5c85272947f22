//! The servers behind all sessions, and what the sessions share.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::{OnceCell, watch};

use super::Session;
use crate::{
    channel::Channel,
    era::Introduced,
    govern::{Caller, SessionPolicy},
    governor_queue::GovernorQueue,
    notes::Notes,
    session::kept::Upstream,
    session::peer::Peer,
    upstream::{ConnectOptions, Running, Server},
};

/// Limits of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Largest message, in bytes.
    pub message_bytes_max: usize,
    /// Limit of open requests in one session.
    pub calls_max: usize,
    /// Limit of open sessions.
    pub sessions_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            message_bytes_max: 32 * 1_048_576,
            calls_max: 1_000,
            sessions_max: 10_000,
        }
    }
}

/// Creates the policy of a session for its caller.
pub type Appoint = Arc<dyn Fn(&Caller) -> Box<dyn SessionPolicy> + Send + Sync>;

/// The servers and what all sessions share.
pub struct Gateway {
    pub(super) servers: Vec<Arc<Server>>,
    pub(super) bounds: Bounds,
    options: ConnectOptions,
    appoint: Appoint,
    /// Connections that all sessions share.
    shared: Mutex<BTreeMap<String, Arc<Upstream>>>,
    sessions: AtomicUsize,
    /// `true` once everything ends.
    pub(super) ending: watch::Sender<bool>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("servers", &self.servers)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// The limit of open sessions is reached.
#[derive(Debug, thiserror::Error, Clone, Copy, PartialEq, Eq)]
#[error("there are {0} sessions already, which is the most: close one, or raise `sessions_max`")]
pub struct TooManySessions(pub usize);

impl Gateway {
    /// Creates a gateway in front of `servers`; needs a `tokio` runtime.
    #[must_use]
    pub fn new(
        servers: Vec<Server>,
        bounds: Bounds,
        notes: Notes,
        running: Running,
        appoint: Appoint,
    ) -> Arc<Self> {
        Arc::new(Self {
            servers: servers.into_iter().map(Arc::new).collect(),
            bounds,
            options: ConnectOptions {
                label: String::new(),
                bytes_max: bounds.message_bytes_max,
                notes,
                running,
            },
            appoint,
            shared: Mutex::default(),
            sessions: AtomicUsize::new(0),
            ending: watch::Sender::new(false),
        })
    }

    /// Returns the limits.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the number of open sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Acquire)
    }

    /// Opens a session, which ends when its channel is dropped.
    ///
    /// # Errors
    /// Too many sessions are open.
    pub fn open(self: &Arc<Self>, caller: Caller) -> Result<Channel, TooManySessions> {
        let before = self.sessions.fetch_add(1, Ordering::AcqRel);
        if before >= self.bounds.sessions_max {
            self.sessions.fetch_sub(1, Ordering::AcqRel);
            return Err(TooManySessions(before));
        }
        let (near, far) = Channel::pair();
        let appoint = Arc::clone(&self.appoint);
        let session = Arc::new(Session {
            gateway: Arc::clone(self),
            client: Peer::new(far.outgoing),
            governor: GovernorQueue::new(Box::new(move || appoint(&caller))),
            own: OnceCell::new(),
            greeted: watch::Sender::new(true),
            looking: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let running = self.options.running.clone();
        tokio::spawn(async move {
            session.run(far.incoming).await;
            session.gateway.sessions.fetch_sub(1, Ordering::AcqRel);
            drop(running);
        });
        Ok(near)
    }

    /// Returns a server on behalf of a client.
    pub(super) fn upstream(
        &self,
        server: &Arc<Server>,
        introduced: &Arc<Introduced>,
    ) -> Arc<Upstream> {
        // A server without sessions belongs to no particular client.
        let shared = server.shared || server.has_no_sessions();
        let keep = || {
            let (server, introduced) = (Arc::clone(server), Arc::clone(introduced));
            Upstream::keep(server, introduced, shared, &self.options)
        };
        if !shared {
            return keep();
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shared.entry(server.name.clone()).or_insert_with(keep))
    }

    /// Ends all sessions, and the connections that no session owns.
    pub fn end(&self) {
        self.ending.send_replace(true);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for upstream in std::mem::take(&mut *shared).values() {
            upstream.close();
        }
    }
}
