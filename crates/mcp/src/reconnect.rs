//! The loop that connects to a server, and reconnects when the connection is lost.
//!
//! The owner of a server implements [`Reconnect`] and keeps its [`ServerState`]: both the client that calls servers directly and
//! the gateway do. They differ in what they do with an open connection.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock_core::machine::Object;
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::sleep,
};

use crate::{
    era::{Era, Introduced},
    handshake::{Eras, Handshake, TriedEra, shake},
    message::{Envelope, INTERNAL_ERROR, Outcome},
    peer::{Peer, RequestTag},
    transport::{ConnectOptions, Dial, Fate},
};

/// Delay before a server that worked is restarted.
const PAUSE: Duration = Duration::from_millis(100);
/// Delay after the first failure of a server to start; doubled with each.
const PAUSE_FAILED: Duration = Duration::from_millis(250);
/// Longest delay between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A connection that has just been introduced.
#[derive(Debug)]
pub struct Introduction<T: RequestTag> {
    /// The other side.
    pub peer: Arc<Peer<T>>,
    /// The protocol that both support.
    pub era: Era,
    /// Result of `initialize` or `server/discover`.
    pub about: Object,
    /// Why the connection ended, once it has.
    pub fate: Fate,
}

/// The owner of a server that must stay connected.
pub trait Reconnect: Send + Sync + Sized + 'static {
    /// Tag of requests.
    type Tag: RequestTag;
    /// An open and introduced connection.
    type Live: Send + Sync + 'static;
    /// Guard that is held as long as the connection lasts.
    type Held: Send;

    /// Returns the state of the server.
    fn state(&self) -> &ServerState<Self::Live>;

    /// Returns how the server is reached.
    fn dial(&self) -> &dyn Dial;

    /// Returns the protocols that it has refused.
    fn eras(&self) -> &Eras;

    /// Returns the introduction of the client.
    fn greeting(&self) -> &Introduced;

    /// Returns the tag of the handshake's requests.
    fn own_tag(&self) -> Self::Tag;

    /// Reads the server's messages until the connection is over.
    fn read(
        self: &Arc<Self>,
        peer: &Arc<Peer<Self::Tag>>,
        incoming: mpsc::Receiver<Envelope>,
    ) -> impl Future<Output = ()> + Send;

    /// Takes over a connection and lets callers in with [`ServerState::open`].
    fn settle(
        self: &Arc<Self>,
        introduced: Introduction<Self::Tag>,
    ) -> impl Future<Output = (Arc<Self::Live>, Self::Held)> + Send;

    /// Returns whether the server has answered anything on a connection.
    fn has_answered(live: &Self::Live) -> bool;

    /// Cancels the questions to clients of a closed connection.
    fn forget(&self) {}
}

/// The state of a server, and the task that keeps it connected.
pub struct ServerState<L> {
    options: ConnectOptions,
    tried: TriedEra,
    standing: watch::Sender<Standing<L>>,
    /// Whether it was closed permanently.
    closed: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl<L> fmt::Debug for ServerState<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState")
            .field("label", &self.options.label)
            .finish_non_exhaustive()
    }
}

/// State of a server.
enum Standing<L> {
    Starting,
    Up(Arc<L>),
    /// It is tried again; until then, this is the answer.
    Down(Outcome),
}

impl<L: Send + Sync + 'static> ServerState<L> {
    /// Creates the state of a server without a connection.
    #[must_use]
    pub fn new(options: ConnectOptions) -> Self {
        Self {
            options,
            tried: TriedEra::default(),
            standing: watch::Sender::new(Standing::Starting),
            closed: AtomicBool::new(false),
            task: Mutex::default(),
        }
    }

    /// Returns the name of the server for people.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.options.label
    }

    /// Begins to keep the server of `holder` connected; needs a `tokio` runtime.
    pub fn keep<H: Reconnect<Live = L>>(holder: &Arc<H>) {
        let task = tokio::spawn(keep_up(Arc::clone(holder)));
        *holder
            .state()
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Stops connecting permanently, and returns the open connection.
    pub fn close(&self) -> Option<Arc<L>> {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.abort();
        }
        // The task may be in the middle of a step, which continues to its end.
        self.closed.store(true, Ordering::Release);
        let message = format!("{} is closed", self.options.label);
        let down = Standing::Down(Outcome::error(INTERNAL_ERROR, &message));
        match self.standing.send_replace(down) {
            Standing::Up(live) => Some(live),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Changes the state of the server, unless it was closed.
    fn set(&self, standing: Standing<L>) {
        self.standing.send_if_modified(|known| {
            let is_open = !self.closed.load(Ordering::Acquire);
            if is_open {
                *known = standing;
            }
            is_open
        });
    }

    /// Lets callers use a connection.
    pub fn open(&self, live: &Arc<L>) {
        self.set(Standing::Up(Arc::clone(live)));
    }

    /// Waits until the server is up, or is known to be down.
    ///
    /// # Errors
    /// It is down; the error is the answer to callers.
    pub async fn live(&self) -> Result<Arc<L>, Outcome> {
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

    /// Waits until the server is up, without a limit.
    pub async fn up(&self) -> Option<Arc<L>> {
        let mut standing = self.standing.subscribe();
        let up = standing.wait_for(|standing| matches!(standing, Standing::Up(_)));
        match &*up.await.ok()? {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Waits until a connection is over.
    pub async fn over(&self, live: &Arc<L>) {
        let mut standing = self.standing.subscribe();
        let is_other =
            |standing: &Standing<L>| !matches!(standing, Standing::Up(up) if Arc::ptr_eq(up, live));
        standing.wait_for(is_other).await.ok();
    }

    /// Returns the present connection, if there is one.
    #[must_use]
    pub fn live_now(&self) -> Option<Arc<L>> {
        match &*self.standing.borrow() {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Returns why the server is unavailable; `None` if it is available.
    #[must_use]
    pub fn why_away(&self) -> Option<Outcome> {
        match &*self.standing.borrow() {
            Standing::Down(outcome) => Some(outcome.clone()),
            Standing::Starting | Standing::Up(_) => None,
        }
    }

    /// Returns the answer to a request that the server received and did not answer.
    #[must_use]
    pub fn gone(&self, fate: &Fate) -> Outcome {
        self.down(&format!("{} before it answered", ended(fate)))
    }

    fn down(&self, why: &str) -> Outcome {
        let message = format!("{} {why}; it is being restarted", self.options.label);
        Outcome::away(&message)
    }
}

/// Returns how a connection ended.
fn ended(fate: &Fate) -> &str {
    fate.said().unwrap_or("closed the connection")
}

async fn keep_up<H: Reconnect>(holder: Arc<H>) {
    let mut failures = 0_u32;
    loop {
        let (worked, why) = connect_once(&holder).await;
        failures = if worked {
            0
        } else {
            failures.saturating_add(1)
        };
        let state = holder.state();
        let said = why.error_message().unwrap_or_default();
        state.options.notes.tell(&format!("interlock: {said}"));
        let pause = if worked {
            // It will be back shortly: requests wait meanwhile.
            state.set(Standing::Starting);
            PAUSE
        } else {
            state.set(Standing::Down(why));
            PAUSE_FAILED
                .saturating_mul(1 << failures.min(10).saturating_sub(1))
                .min(PAUSE_MAX)
        };
        sleep(pause).await;
    }
}

/// Connects and stays until the connection is over; returns whether it was of any use, and why it ended.
async fn connect_once<H: Reconnect>(holder: &Arc<H>) -> (bool, Outcome) {
    let (state, eras) = (holder.state(), holder.eras());
    let connection = match holder.dial().dial(&state.options).await {
        Ok(connection) => connection,
        Err(why) => return (false, state.down(&format!("is down: {why}"))),
    };
    let peer = Peer::new(connection.link.outgoing);
    let fate = connection.fate;
    let reading = holder.read(&peer, connection.link.incoming);
    tokio::pin!(reading);
    let known = (eras, &state.tried);
    let shaken = tokio::select! {
        () = &mut reading => Handshake::Broken,
        shaken = shake(&peer, holder.own_tag(), holder.greeting(), known) => shaken,
    };
    let result = match shaken {
        Handshake::Done(era, about) => {
            let (live, _held) = holder
                .settle(Introduction {
                    peer: Arc::clone(&peer),
                    era,
                    about,
                    fate: fate.clone(),
                })
                .await;
            reading.await;
            (H::has_answered(&live), state.down(ended(&fate)))
        }
        Handshake::Refused(outcome) => (false, outcome),
        Handshake::Broken => {
            // Some servers of the legacy protocol end when they receive an unknown message.
            let probed = state.tried.take() == Some(Era::Modern);
            if probed && !eras.refused(Era::Modern) {
                eras.refuses(Era::Modern);
                return (true, state.down("ended at words of the modern era"));
            }
            let why = format!("is down: it {} before it was ready", ended(&fate));
            (false, state.down(&why))
        }
    };
    peer.close();
    holder.forget();
    result
}

/// Returns a capability that a server declared.
#[must_use]
pub fn capability<'a>(about: &'a Object, name: &str) -> Option<&'a Value> {
    let capabilities = about.get("capabilities")?;
    capabilities.get(name).filter(|value| value.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{notes::Notes, transport::Running};

    #[test]
    fn what_was_closed_stays_closed() {
        let state = ServerState::new(ConnectOptions {
            label: "the server `far`".to_owned(),
            bytes_max: 1,
            notes: Notes::to_channel().0,
            running: Running::new().0,
        });
        let live = Arc::new(1);
        state.open(&live);
        assert_eq!(state.close(), Some(Arc::clone(&live)));
        // Like a connection that comes up at this moment.
        state.open(&live);
        assert_eq!(state.live_now(), None);
        assert!(state.why_away().is_some());
        assert_eq!(state.close(), None);
    }
}
