//! Requests that the other side has yet to answer.
//!
//! This module knows JSON-RPC but of MCP only how a request is cancelled: dropping an open one cancels it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_core::machine::Object;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::message::{Envelope, Id, Message, Outcome, Request};

/// What a request belongs to.
pub trait RequestTag: Clone + fmt::Debug + Send + Sync + 'static {
    /// Returns the parameters of the request's cancellation.
    fn why_cancelled(&self) -> Option<Object> {
        None
    }
}

/// The tag of requests that belong to nothing else.
impl RequestTag for () {}

/// The other side of a connection.
#[derive(Debug)]
pub struct Peer<T: RequestTag = ()> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    /// `None` once the connection is over.
    outgoing: Option<mpsc::Sender<Envelope>>,
    next: u64,
    under_way: BTreeMap<u64, UnderWay<T>>,
}

#[derive(Debug)]
struct UnderWay<T> {
    reply: oneshot::Sender<Outcome>,
    tag: T,
}

/// The other side is gone, or left before it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

impl<T: RequestTag> Peer<T> {
    /// Wraps the channel to the other side.
    #[must_use]
    pub fn new(outgoing: mpsc::Sender<Envelope>) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                outgoing: Some(outgoing),
                next: 1,
                under_way: BTreeMap::new(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // Nothing is half done under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a request: its number is known before it is written.
    pub fn begin(self: &Arc<Self>, tag: T) -> InFlight<T> {
        let (reply, answer) = oneshot::channel();
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        // On a closed connection, the sender is dropped and the answer is `Gone`.
        if inner.outgoing.is_some() {
            inner.under_way.insert(number, UnderWay { reply, tag });
        }
        InFlight {
            peer: Arc::clone(self),
            number,
            answer,
            sent: false,
            done: false,
        }
    }

    /// Sends a request and waits for its outcome.
    ///
    /// # Errors
    /// The other side is gone.
    pub async fn request(
        self: &Arc<Self>,
        tag: T,
        method: &str,
        params: Option<Object>,
    ) -> Result<Outcome, Gone> {
        let mut flight = self.begin(tag);
        flight.send(method, params, None).await?;
        flight.reply().await
    }

    /// Sends a message in order.
    ///
    /// # Errors
    /// The other side is gone.
    pub async fn send(&self, envelope: Envelope) -> Result<(), Gone> {
        let outgoing = self.lock().outgoing.clone().ok_or(Gone)?;
        outgoing.send(envelope).await.map_err(|_| Gone)
    }

    /// Sends a message if there is room for it now.
    pub fn try_send(&self, envelope: Envelope) -> bool {
        let outgoing = self.lock().outgoing.clone();
        outgoing.is_some_and(|outgoing| outgoing.try_send(envelope).is_ok())
    }

    /// Delivers an answer to the request that waits for it; returns `false` if none does.
    pub fn answered(&self, id: &Id, reply: Outcome) -> bool {
        let waiting = number(id).and_then(|number| self.lock().under_way.remove(&number));
        waiting.is_some_and(|waiting| waiting.reply.send(reply).is_ok())
    }

    /// Returns the tag of an open request, by its id or by a progress token.
    #[must_use]
    pub fn tag(&self, id: &Id) -> Option<T> {
        let number = number(id)?;
        Some(self.lock().under_way.get(&number)?.tag.clone())
    }

    /// Returns the tags of the open requests, oldest first.
    #[must_use]
    pub fn tags(&self) -> Vec<T> {
        let inner = self.lock();
        inner
            .under_way
            .values()
            .map(|one| one.tag.clone())
            .collect()
    }

    /// Closes the connection: open requests are answered with `Gone`.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.outgoing = None;
        inner.under_way.clear();
    }

    fn forget(&self, number: u64) -> bool {
        self.lock().under_way.remove(&number).is_some()
    }
}

fn number(id: &Id) -> Option<u64> {
    match id {
        Id::Number(number) => number.as_u64(),
        // Some servers write a number that they received as a text.
        Id::Text(text) => text.parse().ok(),
    }
}

/// An open request; dropping it before its answer cancels it.
#[derive(Debug)]
pub struct InFlight<T: RequestTag = ()> {
    peer: Arc<Peer<T>>,
    number: u64,
    answer: oneshot::Receiver<Outcome>,
    sent: bool,
    done: bool,
}

impl<T: RequestTag> InFlight<T> {
    /// Returns the number of the request, which is also its progress token.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Sends it.
    ///
    /// # Errors
    /// The other side is gone.
    pub async fn send(
        &mut self,
        method: &str,
        params: Option<Object>,
        about: Option<Id>,
    ) -> Result<(), Gone> {
        let request = Request {
            id: Id::from(self.number),
            method: method.to_owned(),
            params,
        };
        let envelope = Envelope {
            message: Message::Request(request),
            about,
        };
        self.sent = method != "initialize";
        self.peer.send(envelope).await
    }

    /// Waits for its answer.
    ///
    /// # Errors
    /// The other side left before it answered.
    pub async fn reply(&mut self) -> Result<Outcome, Gone> {
        let reply = (&mut self.answer).await.map_err(|_| Gone);
        self.done = true;
        reply
    }
}

impl<T: RequestTag> Drop for InFlight<T> {
    fn drop(&mut self) {
        let tag = self.peer.tag(&Id::from(self.number));
        let reason = tag.and_then(|tag| tag.why_cancelled());
        let waits = self.peer.forget(self.number);
        if self.done || !self.sent || !waits {
            return;
        }
        let mut params = reason.unwrap_or_default();
        params.insert("requestId".to_owned(), json!(self.number));
        let envelope = Envelope::notification("notifications/cancelled", Some(params));
        // If the queue is full, it waits for its turn.
        if !self.peer.try_send(envelope.clone())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let peer = Arc::clone(&self.peer);
            runtime.spawn(async move { peer.send(envelope).await });
        }
    }
}
