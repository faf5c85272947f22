//! The events of one stream to a client, in order, until the client has received them.
//!
//! The session writes without waiting; a client reads at its own speed, and may reconnect for what it missed. The queue is
//! bounded: beyond the limit, notifications are dropped, but never answers or requests.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use tokio::sync::Notify;

/// Maximum number of events of one stream that wait, or are kept for a client that reconnects.
const EVENTS_MAX: usize = 1_024;
/// Maximum number of bytes kept of one stream.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of bytes kept of all streams together.
const ALL_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The kind of an event, as far as a stream needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// May be dropped if the client is too slow.
    Notification,
    /// Expects an answer.
    Request,
    /// Answers a request of the client.
    Response,
}

/// One message of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// Position in the stream.
    pub(crate) place: u64,
    /// Kind of the message.
    pub(crate) weight: Weight,
    /// The message as sent.
    pub(crate) text: Bytes,
}

/// Whether events that were read are kept for a client that reconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They are kept, within limits.
    Replay,
    /// They are not kept.
    Nothing,
}

/// One stream.
#[derive(Debug)]
pub(crate) struct Events {
    /// Number within the session; 0 for the stream of no request.
    pub(crate) number: u64,
    keep: Keep,
    kept: Mutex<Backlog>,
    arrived: Notify,
    /// Number of bytes of all streams together.
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Backlog {
    events: VecDeque<Event>,
    bytes: usize,
    /// Positions of the next event, and of the next unread event; the first is 1.
    next: u64,
    unread: u64,
    /// Number of readers so far; only the newest one reads.
    readers: u64,
    ended: Option<Instant>,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            next: 1,
            unread: 1,
            readers: 0,
            ended: None,
        }
    }
}

impl Backlog {
    fn is_full_with(&self, text: &Bytes) -> bool {
        self.events.len() >= EVENTS_MAX || self.bytes + text.len() > BYTES_MAX
    }
}

impl Events {
    /// Creates an empty stream, whose bytes are also counted in `all_bytes`.
    pub(crate) fn new(number: u64, keep: Keep, all_bytes: Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            number,
            keep,
            kept: Mutex::default(),
            arrived: Notify::new(),
            all_bytes,
        })
    }

    fn kept(&self) -> MutexGuard<'_, Backlog> {
        // A panic in between leaves at worst a wrong byte count.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; returns `false` if it was dropped because too much waits.
    pub(crate) fn push(&self, weight: Weight, text: Bytes) -> bool {
        let mut kept = self.kept();
        while kept.is_full_with(&text) {
            let first = kept.events.front();
            if first.is_none_or(|event| event.place >= kept.unread) {
                break;
            }
            self.drop_first(&mut kept);
        }
        let full = kept.is_full_with(&text) && !kept.events.is_empty();
        let all_full = self.all_bytes.load(Ordering::Relaxed) > ALL_BYTES_MAX;
        if (full || all_full) && weight == Weight::Notification {
            return false;
        }
        kept.bytes += text.len();
        self.all_bytes.fetch_add(text.len(), Ordering::Relaxed);
        let place = kept.next;
        kept.next += 1;
        kept.events.push_back(Event {
            place,
            weight,
            text,
        });
        drop(kept);
        self.arrived.notify_waiters();
        true
    }

    fn drop_first(&self, kept: &mut Backlog) {
        if let Some(event) = kept.events.pop_front() {
            let bytes = event.text.len();
            kept.bytes = kept.bytes.saturating_sub(bytes);
            self.all_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Ends the stream after its last event.
    pub(crate) fn end(&self) {
        self.kept().ended.get_or_insert_with(Instant::now);
        self.arrived.notify_waiters();
    }

    /// Returns when it ended.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.kept().ended
    }

    /// Returns the number of bytes that it keeps.
    pub(crate) fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// Begins to read after `after`, in place of any earlier reader.
    pub(crate) fn read(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut kept = self.kept();
        kept.readers += 1;
        let first = kept.events.front().map_or(kept.next, |event| event.place);
        let next = after.map_or(kept.unread, |after| after.saturating_add(1));
        let reader = Reader {
            events: Arc::clone(self),
            next: next.clamp(first, kept.next),
            number: kept.readers,
        };
        drop(kept);
        self.arrived.notify_waiters();
        reader
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let bytes = self.bytes();
        self.all_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Reads a stream for one connection.
#[derive(Debug)]
pub(crate) struct Reader {
    /// The stream.
    pub(crate) events: Arc<Events>,
    next: u64,
    number: u64,
}

enum Look {
    Event(Event),
    End,
    Wait,
}

impl Reader {
    /// Waits for the next event; returns `None` if the stream ended, or another reader took over.
    ///
    /// Cancel-safe: nothing is lost if it is dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let events = Arc::clone(&self.events);
            let arrived = events.arrived.notified();
            tokio::pin!(arrived);
            // Listens before it checks, so that no event is missed in between.
            arrived.as_mut().enable();
            match self.look() {
                Look::Event(event) => return Some(event),
                Look::End => return None,
                Look::Wait => arrived.await,
            }
        }
    }

    fn look(&mut self) -> Look {
        let mut kept = self.events.kept();
        if kept.readers != self.number {
            return Look::End;
        }
        let mut events = kept.events.iter();
        let found = events.find(|event| event.place >= self.next).cloned();
        let Some(event) = found else {
            return if kept.ended.is_some() {
                Look::End
            } else {
                Look::Wait
            };
        };
        self.next = event.place + 1;
        kept.unread = kept.unread.max(self.next);
        let read = |kept: &Backlog| {
            let first = kept.events.front();
            first.is_some_and(|first| first.place < self.next)
        };
        while self.events.keep == Keep::Nothing && read(&kept) {
            self.events.drop_first(&mut kept);
        }
        Look::Event(event)
    }

    /// Returns whether the stream ended and everything was read.
    pub(crate) fn is_done(&self) -> bool {
        let kept = self.events.kept();
        kept.ended.is_some() && self.next >= kept.next
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    fn events(keep: Keep) -> Arc<Events> {
        Events::new(1, keep, Arc::default())
    }

    async fn texts(reader: &mut Reader) -> Vec<String> {
        let mut texts = Vec::new();
        while let Some(event) = reader.next().await {
            texts.push(String::from_utf8(event.text.to_vec()).unwrap());
        }
        texts
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_what_it_missed() {
        let events = events(Keep::Replay);
        for text in ["a", "b", "c"] {
            events.push(Weight::Notification, text.into());
        }
        let mut first = events.read(None);
        let seen = first.next().await.unwrap();
        events.end();
        assert_eq!(texts(&mut events.read(Some(seen.place))).await, ["b", "c"]);
        assert!(first.next().await.is_none(), "the first has been replaced");
    }

    #[tokio::test]
    async fn a_place_that_never_was_is_the_end() {
        let events = events(Keep::Replay);
        events.push(Weight::Response, "a".into());
        events.end();
        assert!(texts(&mut events.read(Some(u64::MAX))).await.is_empty());
    }

    #[tokio::test]
    async fn answers_pass_where_notifications_are_dropped() {
        let all = Arc::new(AtomicUsize::new(0));
        let events = Events::new(1, Keep::Nothing, Arc::clone(&all));
        for _ in 0..EVENTS_MAX {
            assert!(events.push(Weight::Notification, "n".into()));
        }
        assert!(!events.push(Weight::Notification, "n".into()));
        assert!(events.push(Weight::Response, "r".into()));
        events.end();
        let texts = texts(&mut events.read(None)).await;
        assert_eq!(texts.len(), EVENTS_MAX + 1);
        assert_eq!(texts.last().map(String::as_str), Some("r"));
        assert_eq!(all.load(Ordering::Relaxed), 0, "what was read is not kept");
    }

    #[tokio::test]
    async fn what_was_read_makes_room() {
        let events = events(Keep::Replay);
        let mut reader = events.read(None);
        for number in 0..3 * EVENTS_MAX {
            assert!(events.push(Weight::Notification, number.to_string().into()));
            assert!(reader.next().await.is_some());
        }
    }
}
