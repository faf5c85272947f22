//! The one loop that connects to a server, and connects anew when it is gone.
//!
//! Whoever holds a server implements [`Reconnect`] and keeps its [`ServerState`]: the client that calls servers
//! directly and the gateway do. What differs between them is what they do with an open connection.

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

/// How long a server that worked is left alone before it is started again.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause after the first failure of a server to start; doubled with each.
const PAUSE_FAILED: Duration = Duration::from_millis(250);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A connection that has just been introduced.
#[derive(Debug)]
pub struct Introduction<T: RequestTag> {
    /// The other side.
    pub peer: Arc<Peer<T>>,
    /// The era that both speak.
    pub era: Era,
    /// The result of `initialize` or `server/discover`.
    pub about: Object,
    /// Why the connection ended, once it has.
    pub fate: Fate,
}

/// What holds a server that is to stay connected.
pub trait Reconnect: Send + Sync + Sized + 'static {
    /// What requests belong to.
    type Tag: RequestTag;
    /// A connection that is open and introduced.
    type Live: Send + Sync + 'static;
    /// Held as long as the connection lasts.
    type Held: Send;

    /// Returns how the server stands.
    fn state(&self) -> &ServerState<Self::Live>;

    /// Returns how the server is reached.
    fn dial(&self) -> &dyn Dial;

    /// Returns what is known of the eras it speaks.
    fn eras(&self) -> &Eras;

    /// Returns who is introduced to it.
    fn greeting(&self) -> &Introduced;

    /// Returns what the requests of the handshake belong to.
    fn own_tag(&self) -> Self::Tag;

    /// Takes what the server sends until the connection is over.
    fn read(
        self: &Arc<Self>,
        peer: &Arc<Peer<Self::Tag>>,
        incoming: mpsc::Receiver<Envelope>,
    ) -> impl Future<Output = ()> + Send;

    /// Takes a connection over and lets callers in with [`ServerState::open`].
    fn settle(
        self: &Arc<Self>,
        introduced: Introduction<Self::Tag>,
    ) -> impl Future<Output = (Arc<Self::Live>, Self::Held)> + Send;

    /// Tells whether the server answered anything on a connection.
    fn has_answered(live: &Self::Live) -> bool;

    /// Takes back what clients are asked for a connection that is over.
    fn forget(&self) {}
}

/// How a server stands, and the task that keeps it connected.
pub struct ServerState<L> {
    options: ConnectOptions,
    tried: TriedEra,
    standing: watch::Sender<Standing<L>>,
    /// Whether it was closed for good.
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

/// How a server stands.
enum Standing<L> {
    Starting,
    Up(Arc<L>),
    /// It is tried again; meanwhile this is the answer.
    Down(Outcome),
}

impl<L: Send + Sync + 'static> ServerState<L> {
    /// Makes the state of a server that nobody has connected to.
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

    /// Returns what people call the server.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.options.label
    }

    /// Begins to keep the server of `holder` connected; needs a runtime of `tokio`.
    pub fn keep<H: Reconnect<Live = L>>(holder: &Arc<H>) {
        let task = tokio::spawn(keep_up(Arc::clone(holder)));
        *holder
            .state()
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Stops connecting for good, and returns the connection that is open.
    pub fn close(&self) -> Option<Arc<L>> {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.abort();
        }
        // The task may be in the middle of a step, which goes on to its end.
        self.closed.store(true, Ordering::Release);
        let message = format!("{} is closed", self.options.label);
        let down = Standing::Down(Outcome::error(INTERNAL_ERROR, &message));
        match self.standing.send_replace(down) {
            Standing::Up(live) => Some(live),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Changes how the server stands, unless it was closed.
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
    /// It is down: the answer to whoever wants something of it.
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

    /// Waits until the server is up, however long that takes.
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

    /// Returns the connection if there is one now.
    #[must_use]
    pub fn live_now(&self) -> Option<Arc<L>> {
        match &*self.standing.borrow() {
            Standing::Up(live) => Some(Arc::clone(live)),
            Standing::Starting | Standing::Down(_) => None,
        }
    }

    /// Returns why the server is away now; `None`: it is not.
    #[must_use]
    pub fn why_away(&self) -> Option<Outcome> {
        match &*self.standing.borrow() {
            Standing::Down(outcome) => Some(outcome.clone()),
            Standing::Starting | Standing::Up(_) => None,
        }
    }

    /// Returns the answer to a request that the server took and did not answer.
    #[must_use]
    pub fn gone(&self, fate: &Fate) -> Outcome {
        self.down(&format!("{} before it answered", ended(fate)))
    }

    fn down(&self, why: &str) -> Outcome {
        let message = format!("{} {why}; it is being restarted", self.options.label);
        Outcome::away(&message)
    }
}

/// How a connection ended.
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
            // It is back in a moment: who asks meanwhile waits that long.
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

/// Connects and stays until the connection is over; tells whether it was of any use, and why it ended.
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
            // Some servers of the legacy era end at words they do not know.
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

/// Returns a capability that a server declared of itself.
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
        // As a connection that comes up at this very moment does.
        state.open(&live);
        assert_eq!(state.live_now(), None);
        assert!(state.why_away().is_some());
        assert_eq!(state.close(), None);
    }
}
