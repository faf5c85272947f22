//! The requests of ours that one other side has yet to answer.
//!
//! Knows JSON-RPC and nothing of MCP but how a request is cancelled: dropping
//! one that is under way cancels it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_core::machine::Object;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::{
    message::{Envelope, Id, Message, Outcome, Request},
    session::origin::Origin,
};

/// The other side of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None`: the connection is over.
    outgoing: Option<mpsc::Sender<Envelope>>,
    next: u64,
    under_way: BTreeMap<u64, UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    reply: oneshot::Sender<Outcome>,
    tag: Tag,
}

/// What a request of ours belongs to.
#[derive(Debug, Clone)]
pub(crate) enum Tag {
    /// To nothing but ourselves.
    Own,
    /// To a request of a client.
    Origin(Arc<Origin>),
    /// To a request of a server, whose progress token this is.
    Asked(Arc<Peer>, Option<Value>),
}

/// The other side is gone, or went before it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

impl Peer {
    pub(crate) fn new(outgoing: mpsc::Sender<Envelope>) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                outgoing: Some(outgoing),
                next: 1,
                under_way: BTreeMap::new(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half done under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a request: its number is known before it is written.
    pub(crate) fn begin(self: &Arc<Self>, tag: Tag) -> InFlight {
        let (reply, answer) = oneshot::channel();
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        // On a connection that is over, the sender is dropped and the answer is `Gone`.
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

    /// Sends a request and waits for what it comes to.
    pub(crate) async fn request(
        self: &Arc<Self>,
        tag: Tag,
        method: &str,
        params: Option<Object>,
    ) -> Result<Outcome, Gone> {
        let mut flight = self.begin(tag);
        flight.send(method, params, None).await?;
        flight.reply().await
    }

    /// Sends a message in its turn.
    pub(crate) async fn send(&self, envelope: Envelope) -> Result<(), Gone> {
        let outgoing = self.lock().outgoing.clone().ok_or(Gone)?;
        outgoing.send(envelope).await.map_err(|_| Gone)
    }

    /// Sends a message if there is room for it now.
    pub(crate) fn try_send(&self, envelope: Envelope) -> bool {
        let outgoing = self.lock().outgoing.clone();
        outgoing.is_some_and(|outgoing| outgoing.try_send(envelope).is_ok())
    }

    /// Gives an answer to the request that waits for it; `false`: none does.
    pub(crate) fn answered(&self, id: &Id, reply: Outcome) -> bool {
        let waiting = number(id).and_then(|number| self.lock().under_way.remove(&number));
        waiting.is_some_and(|waiting| waiting.reply.send(reply).is_ok())
    }

    /// Returns what a request of ours belongs to, by its id or by a progress token.
    pub(crate) fn tag(&self, id: &Id) -> Option<Tag> {
        let number = number(id)?;
        Some(self.lock().under_way.get(&number)?.tag.clone())
    }

    /// Returns what the only client's request under way belongs to; `None`: there are none or several.
    pub(crate) fn only_origin(&self) -> Option<Arc<Origin>> {
        let inner = self.lock();
        let mut origins = inner.under_way.values().filter_map(origin_of);
        let first = origins.next()?;
        origins.next().is_none().then(|| Arc::clone(first))
    }

    /// Returns what the newest client's request under way belongs to.
    pub(crate) fn newest_origin(&self) -> Option<Arc<Origin>> {
        let inner = self.lock();
        inner.under_way.values().rev().find_map(origin_of).cloned()
    }

    /// Ends the connection from our side: whatever is under way is answered `Gone`.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.outgoing = None;
        inner.under_way.clear();
    }

    fn forget(&self, number: u64) -> bool {
        self.lock().under_way.remove(&number).is_some()
    }
}

/// Returns the request of a client that is to be answered, which a subscription is not.
fn origin_of(waiting: &UnderWay) -> Option<&Arc<Origin>> {
    match &waiting.tag {
        Tag::Origin(origin) if !origin.listens => Some(origin),
        Tag::Origin(_) | Tag::Own | Tag::Asked(..) => None,
    }
}

fn number(id: &Id) -> Option<u64> {
    match id {
        Id::Number(number) => number.as_u64(),
        // Some servers write a number they were given as a text.
        Id::Text(text) => text.parse().ok(),
    }
}

/// A request on its way; dropped before its answer came, it is cancelled.
#[derive(Debug)]
pub(crate) struct InFlight {
    peer: Arc<Peer>,
    number: u64,
    answer: oneshot::Receiver<Outcome>,
    sent: bool,
    done: bool,
}

impl InFlight {
    /// Returns the number it is known by, which is its progress token, too.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Sends it.
    pub(crate) async fn send(
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
    pub(crate) async fn reply(&mut self) -> Result<Outcome, Gone> {
        let reply = (&mut self.answer).await.map_err(|_| Gone);
        self.done = true;
        reply
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let reason = match self.peer.tag(&Id::from(self.number)) {
            Some(Tag::Origin(origin)) => origin.why_cancelled(),
            _ => None,
        };
        let waits = self.peer.forget(self.number);
        if self.done || !self.sent || !waits {
            return;
        }
        let mut params = reason.unwrap_or_default();
        params.insert("requestId".to_owned(), json!(self.number));
        let envelope = Envelope::notification("notifications/cancelled", Some(params));
        // Where the line is full, it waits for its turn behind what is there.
        if !self.peer.try_send(envelope.clone())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let peer = Arc::clone(&self.peer);
            runtime.spawn(async move { peer.send(envelope).await });
        }
    }
}
