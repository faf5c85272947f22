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
    /// Whether the other side may have begun work that a cancellation ends.
    cancellable: bool,
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
            let under_way = UnderWay {
                reply,
                tag,
                cancellable: false,
            };
            inner.under_way.insert(number, under_way);
        }
        InFlight {
            peer: Arc::clone(self),
            number,
            answer,
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

    /// Records that a request is on its way.
    fn sent(&self, number: u64, cancellable: bool) {
        if let Some(one) = self.lock().under_way.get_mut(&number) {
            one.cancellable = cancellable;
        }
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

    /// Ends the connection from our side: requests in flight are cancelled at the other side and answered `Gone`.
    ///
    /// A caller may drop its request only after this, when nothing can be sent any more.
    pub fn close(&self) {
        let (outgoing, under_way) = {
            let mut inner = self.lock();
            (inner.outgoing.take(), std::mem::take(&mut inner.under_way))
        };
        let Some(outgoing) = outgoing else { return };
        for (number, one) in under_way {
            if one.cancellable {
                // Where the line is full, the end of the connection says the same.
                let _ = outgoing.try_send(cancellation(number, &one.tag));
            }
        }
    }
}

/// Returns the message that cancels a request of ours.
fn cancellation<T: RequestTag>(number: u64, tag: &T) -> Envelope {
    let mut params = tag.why_cancelled().unwrap_or_default();
    params.insert("requestId".to_owned(), json!(number));
    Envelope::notification("notifications/cancelled", Some(params))
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
        self.peer.sent(self.number, method != "initialize");
        self.peer.send(envelope).await
    }

    /// Waits for its answer.
    ///
    /// # Errors
    /// The other side left before it answered.
    pub async fn reply(&mut self) -> Result<Outcome, Gone> {
        (&mut self.answer).await.map_err(|_| Gone)
    }
}

impl<T: RequestTag> Drop for InFlight<T> {
    fn drop(&mut self) {
        // An answered request is no longer in flight.
        let left = self.peer.lock().under_way.remove(&self.number);
        let Some(left) = left.filter(|left| left.cancellable) else {
            return;
        };
        let envelope = cancellation(self.number, &left.tag);
        // Where the line is full, it waits for its turn behind what is there.
        if !self.peer.try_send(envelope.clone())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let peer = Arc::clone(&self.peer);
            runtime.spawn(async move { peer.send(envelope).await });
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn cancelled(envelope: Option<Envelope>) -> serde_json::Value {
        match envelope.map(|envelope| envelope.message) {
            Some(Message::Notification(note)) if note.method == "notifications/cancelled" => {
                json!(note.params)
            }
            other => json!(format!("{other:?}")),
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_request_in_flight_is_cancelled_once_whether_it_is_dropped_or_the_connection_ends() {
        for closed in [true, false] {
            let (outgoing, mut line) = mpsc::channel(8);
            let peer = Peer::new(outgoing);
            let mut answered = peer.begin(());
            answered.send("ping", None, None).await.unwrap();
            assert!(peer.answered(&Id::from(1), Outcome::error(1, "away")));
            assert!(answered.reply().await.is_ok());
            let mut call = peer.begin(());
            call.send("tools/call", None, None).await.unwrap();
            // Never sent, so that there is nothing to cancel.
            let unsent = peer.begin(());
            if closed {
                peer.close();
            }
            drop((answered, call, unsent));
            peer.close();
            for _ in ["ping", "tools/call"] {
                let message = line.recv().await.unwrap().message;
                assert!(matches!(message, Message::Request(_)));
            }
            assert_eq!(cancelled(line.recv().await), json!({"requestId": 2}));
            assert!(line.recv().await.is_none());
        }
    }
}
