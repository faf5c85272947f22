//! One channel of a session, and the streams by which its client reads from it.
//!
//! A message of a session travels in the stream of the request that it belongs to, or else in the common one. On a channel that
//! many clients share, ids are made unique here and restored in the answers.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use bytes::Bytes;
use interlock_core::machine::Object;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Caller,
    events::{Events, Keep, Weight},
    refuse::{REFUSED, Refused},
};
use crate::{
    channel::Channel,
    mcp_headers::Schemas,
    message::{Envelope, Id, Message, Notification, Outcome, Request, Response, raw},
    metrics::{Method, Metrics},
};

/// Maximum number of ended streams of a session that a client may reconnect to.
const ENDED_MAX: usize = 16;
/// How long a client may reconnect to an ended stream.
const ENDED_TIME: Duration = Duration::from_secs(300);
/// Key with which a notification names the request that subscribed to it.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How a channel is shared and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Belongs to one client, which begins with `initialize`.
    Session,
    /// Shared by all clients with the same credential; every request is independent.
    Stateless,
    /// Belongs to one client, with everything in one stream, as before 2025.
    OneStream,
}

/// Limits and counters that all channels share.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// Number of bytes that wait in streams.
    pub(crate) bytes: Arc<AtomicUsize>,
    /// Metrics of the server.
    pub(crate) metrics: Metrics,
    /// Maximum number of open requests of one channel.
    pub(crate) requests_max: usize,
}

/// One channel and the streams by which it is read.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// The client's identity.
    pub(crate) caller: Caller,
    kind: Kind,
    counted: Counted,
    table: Mutex<Table>,
    /// Parameters that clients repeat in headers, according to the lists that they received.
    pub(crate) schemas: Mutex<Schemas>,
    /// Stream of messages that belong to no request.
    pub(crate) common: Arc<Events>,
    born: Instant,
    touched_ms: AtomicU64,
    open: AtomicUsize,
}

#[derive(Debug)]
struct Table {
    /// `None` once it is closed.
    outgoing: Option<mpsc::Sender<Envelope>>,
    next: u64,
    requests: HashMap<Id, Route>,
    streams: BTreeMap<u64, Arc<Events>>,
    ended: VecDeque<u64>,
}

/// Destination of the answer to a request.
#[derive(Debug)]
struct Route {
    events: Arc<Events>,
    /// Id that the client gave.
    id: Id,
    /// Number of requests of the same stream that have no answer yet.
    left: Arc<AtomicUsize>,
    lists_tools: bool,
    listens: bool,
    method: Method,
    asked: Instant,
}

/// Requests that were sent, and the stream of their answers.
///
/// If requests are independent, dropping it before its end cancels them.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    conversation: Arc<Conversation>,
    /// The stream.
    pub(crate) events: Arc<Events>,
    sent: Vec<Id>,
    /// Whether the client was told how to reconnect.
    pub(crate) resumable: bool,
}

impl Conversation {
    /// Takes a channel and begins to read it.
    pub(crate) fn begin(kind: Kind, caller: Caller, link: Channel, counted: Counted) -> Arc<Self> {
        let keep = if kind == Kind::Session {
            Keep::Replay
        } else {
            Keep::Nothing
        };
        let Channel { outgoing, incoming } = link;
        let conversation = Arc::new(Self {
            caller,
            kind,
            common: Events::new(0, keep, Arc::clone(&counted.bytes)),
            table: Mutex::new(Table {
                outgoing: Some(outgoing),
                next: 0,
                requests: HashMap::new(),
                streams: BTreeMap::new(),
                ended: VecDeque::new(),
            }),
            schemas: Mutex::default(),
            counted,
            born: Instant::now(),
            touched_ms: AtomicU64::new(0),
            open: AtomicUsize::new(0),
        });
        tokio::spawn(read_link(Arc::clone(&conversation), incoming));
        conversation
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Every change of the table is complete before anything can panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every stream and drops the channel.
    pub(crate) fn close(&self) {
        let mut table = self.table();
        table.outgoing = None;
        table.requests.clear();
        table.ended.clear();
        let streams = std::mem::take(&mut table.streams);
        drop(table);
        for events in streams.values() {
            events.end();
        }
        self.common.end();
    }

    /// Returns whether it was closed, or the session ended it.
    pub(crate) fn is_closed(&self) -> bool {
        let table = self.table();
        table.outgoing.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// Records that it was used.
    pub(crate) fn touch(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.touched_ms.store(now, Ordering::Relaxed);
    }

    /// Keeps it open as long as an answer is being read.
    pub(crate) fn hold(self: &Arc<Self>) -> ActivityGuard {
        self.open.fetch_add(1, Ordering::Relaxed);
        ActivityGuard {
            conversation: Arc::clone(self),
            afterwards: None,
        }
    }

    /// Returns how long it has been idle.
    pub(crate) fn idle(&self) -> Duration {
        if self.open.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        let touched = Duration::from_millis(self.touched_ms.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(touched)
    }

    /// Sends a message that needs no answer.
    pub(crate) async fn tell(&self, envelope: Envelope) -> Result<(), Refused> {
        let outgoing = self.table().outgoing.clone();
        let outgoing = outgoing.ok_or_else(gone)?;
        outgoing.send(envelope).await.map_err(|_| gone())
    }

    /// Sends requests and accompanying messages, and opens the stream of their answers.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        mut envelopes: Vec<Envelope>,
    ) -> Result<OpenRequest, Refused> {
        let asked = self.enter(&mut envelopes)?;
        for envelope in envelopes {
            self.tell(envelope).await?;
        }
        Ok(asked)
    }

    fn enter(self: &Arc<Self>, envelopes: &mut [Envelope]) -> Result<OpenRequest, Refused> {
        let mut table = self.table();
        table.next += 1;
        let keep = if self.kind == Kind::Session {
            Keep::Replay
        } else {
            Keep::Nothing
        };
        let events = Events::new(table.next, keep, Arc::clone(&self.counted.bytes));
        let left = Arc::new(AtomicUsize::new(0));
        let mut sent = Vec::new();
        let refused = envelopes
            .iter_mut()
            .filter_map(|envelope| match &mut envelope.message {
                Message::Request(request) => Some(request),
                _ => None,
            })
            .try_for_each(|request| {
                let id = self.register(&mut table, request, &events, &left)?;
                sent.push(id);
                Ok(())
            });
        if let Err(refused) = refused {
            for id in &sent {
                table.requests.remove(id);
            }
            return Err(refused);
        }
        table.streams.insert(events.number, Arc::clone(&events));
        Ok(OpenRequest {
            conversation: Arc::clone(self),
            events,
            sent,
            resumable: false,
        })
    }

    fn register(
        &self,
        table: &mut Table,
        request: &mut Request,
        events: &Arc<Events>,
        left: &Arc<AtomicUsize>,
    ) -> Result<Id, Refused> {
        let id = request.id.clone();
        if table.requests.len() >= self.counted.requests_max {
            let what = format!(
                "{} requests are under way already: wait for an answer",
                self.counted.requests_max
            );
            let outcome = Outcome::error(REFUSED, &what);
            return Err(Refused::new(
                StatusCode::TOO_MANY_REQUESTS,
                Some(id),
                outcome,
            ));
        }
        let on_link = match self.kind {
            Kind::Stateless => {
                table.next += 1;
                Id::from(table.next)
            }
            Kind::Session | Kind::OneStream => id.clone(),
        };
        if table.requests.contains_key(&on_link) {
            let what = format!("a request with the id `{id}` is under way");
            return Err(Refused::invalid(Some(id), &what));
        }
        left.fetch_add(1, Ordering::Relaxed);
        let route = Route {
            events: Arc::clone(events),
            id,
            left: Arc::clone(left),
            lists_tools: request.method == "tools/list",
            listens: request.method == "subscriptions/listen",
            method: Method::of(&request.method),
            asked: Instant::now(),
        };
        table.requests.insert(on_link.clone(), route);
        request.id = on_link.clone();
        Ok(on_link)
    }

    /// Ends the stream of a request that its client cancelled.
    pub(crate) fn given_up(&self, id: &Id) {
        if let Some(route) = self.take(id)
            && route.left.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.ended(&route.events);
        }
    }

    /// Ends what would not end by itself: the common stream, and subscriptions.
    pub(crate) fn wind_down(&self) {
        self.common.end();
        let mut table = self.table();
        let mut ended = Vec::new();
        table.requests.retain(|_, route| {
            if route.listens {
                ended.push(Arc::clone(&route.events));
            }
            !route.listens
        });
        drop(table);
        for events in ended {
            self.ended(&events);
        }
    }

    /// Finds a stream for a client that reconnects.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Events>> {
        if number == 0 {
            return Some(Arc::clone(&self.common));
        }
        self.table().streams.get(&number).cloned()
    }

    /// Removes ended streams to which no client reconnected.
    pub(crate) fn tidy(&self) {
        let mut table = self.table();
        while let Some(number) = table.ended.front().copied() {
            let old = |events: &Arc<Events>| {
                let ended = events.ended();
                ended.is_none_or(|ended| ended.elapsed() > ENDED_TIME)
            };
            if table.ended.len() <= ENDED_MAX && !table.streams.get(&number).is_none_or(old) {
                return;
            }
            table.ended.pop_front();
            table.streams.remove(&number);
        }
    }

    /// Delivers a message of the session to its stream.
    fn deliver(&self, envelope: Envelope) {
        if self.kind == Kind::OneStream {
            self.deliver_to(&self.common, &envelope);
            return;
        }
        match &envelope.message {
            Message::Response(_) => self.deliver_answer(envelope),
            Message::Notification(told) if self.kind == Kind::Stateless => {
                if told.method == "notifications/cancelled" {
                    self.end_cancelled(told);
                } else {
                    self.deliver_stateless(envelope);
                }
            }
            Message::Notification(_) | Message::Request(_) => {
                let about = envelope.about.as_ref();
                let stream = about.and_then(|id| self.events_of(id));
                if stream.is_some() || self.kind == Kind::Session {
                    self.deliver_to(stream.as_ref().unwrap_or(&self.common), &envelope);
                }
            }
        }
    }

    fn events_of(&self, id: &Id) -> Option<Arc<Events>> {
        let table = self.table();
        let route = table.requests.get(id)?;
        Some(Arc::clone(&route.events))
    }

    fn deliver_to(&self, events: &Events, envelope: &Envelope) {
        let weight = match &envelope.message {
            Message::Request(_) => Weight::Request,
            Message::Notification(_) => Weight::Notification,
            Message::Response(_) => Weight::Response,
        };
        let mut text = Vec::new();
        envelope.write(&mut text);
        if !events.push(weight, Bytes::from(text)) {
            self.counted.metrics.dropped();
        }
    }

    fn deliver_answer(&self, mut envelope: Envelope) {
        let Message::Response(response) = &mut envelope.message else {
            return;
        };
        let Some(route) = response.id.as_ref().and_then(|id| self.take(id)) else {
            // Cancelled meanwhile, or without a request.
            return;
        };
        if let Outcome::Result(result) = &mut response.outcome {
            if route.lists_tools {
                let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
                schemas.learn(result);
            }
            if route.listens && self.kind == Kind::Stateless {
                rename_in_result(result, &route.id);
            }
        }
        let failed = matches!(response.outcome, Outcome::Error(_));
        let took = route.asked.elapsed();
        self.counted.metrics.answered(route.method, failed, took);
        response.id = Some(route.id);
        self.deliver_to(&route.events, &envelope);
        if route.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ended(&route.events);
        }
    }

    fn take(&self, id: &Id) -> Option<Route> {
        self.table().requests.remove(id)
    }

    fn ended(&self, events: &Arc<Events>) {
        events.end();
        let mut table = self.table();
        if self.kind == Kind::Session && table.streams.contains_key(&events.number) {
            table.ended.push_back(events.number);
            drop(table);
            self.tidy();
        } else {
            table.streams.remove(&events.number);
        }
    }

    fn deliver_stateless(&self, mut envelope: Envelope) {
        let Message::Notification(told) = &mut envelope.message else {
            return;
        };
        let named = subscription(told).and_then(|value| Id::from_value(value));
        let table = self.table();
        let about = envelope.about.as_ref().or(named.as_ref());
        let Some(route) = about.and_then(|id| table.requests.get(id)) else {
            return;
        };
        if let Some(value) = subscription(told) {
            *value = route.id.to_value();
        }
        let events = Arc::clone(&route.events);
        drop(table);
        self.deliver_to(&events, &envelope);
    }

    /// Ends the stream of a request that the server cancelled, which is a subscription.
    fn end_cancelled(&self, told: &Notification) {
        let id = told
            .params
            .as_ref()
            .and_then(|params| params.get("requestId"));
        let route = id.and_then(Id::from_value).and_then(|id| self.take(&id));
        if let Some(route) = route {
            self.ended(&route.events);
        }
    }
}

async fn read_link(conversation: Arc<Conversation>, mut incoming: mpsc::Receiver<Envelope>) {
    // If it is closed from this side, the session notices and drops its end.
    while let Some(envelope) = incoming.recv().await {
        conversation.deliver(envelope);
    }
    conversation.close();
}

fn gone() -> Refused {
    Refused::plain(StatusCode::NOT_FOUND, "the session has ended")
}

fn subscription(told: &mut Notification) -> Option<&mut Value> {
    let meta = told.params.as_mut()?.get_mut("_meta")?;
    meta.get_mut(SUBSCRIPTION)
}

fn rename_in_result(result: &mut Box<serde_json::value::RawValue>, id: &Id) {
    let Ok(mut value) = serde_json::from_str::<Value>(result.get()) else {
        return;
    };
    let meta = value.get_mut("_meta");
    if let Some(named) = meta.and_then(|meta| meta.get_mut(SUBSCRIPTION)) {
        *named = id.to_value();
        *result = raw(&value);
    }
}

impl OpenRequest {
    /// Returns the conversation that the requests belong to.
    pub(crate) fn conversation(&self) -> &Arc<Conversation> {
        &self.conversation
    }

    /// Removes the stream after its complete answer.
    pub(crate) fn answered(&self) {
        let mut table = self.conversation.table();
        table.streams.remove(&self.events.number);
        table.ended.retain(|number| *number != self.events.number);
    }

    fn cancel(&self) {
        let mut table = self.conversation.table();
        table.streams.remove(&self.events.number);
        let mut unanswered = self.sent.clone();
        unanswered.retain(|id| table.requests.remove(id).is_some());
        let outgoing = table.outgoing.clone();
        drop(table);
        let runtime = tokio::runtime::Handle::try_current();
        let (Some(outgoing), Ok(runtime)) = (outgoing, runtime) else {
            return;
        };
        if unanswered.is_empty() {
            return;
        }
        runtime.spawn(async move {
            for id in unanswered {
                let mut params = Object::new();
                params.insert("requestId".to_owned(), id.to_value());
                let envelope = Envelope::notification("notifications/cancelled", Some(params));
                outgoing.send(envelope).await.ok();
            }
        });
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        match self.conversation.kind {
            Kind::Stateless => self.cancel(),
            // The answer is still read and discarded: a disconnect does not cancel a request.
            Kind::Session if !self.resumable => self.answered(),
            Kind::Session | Kind::OneStream => {}
        }
    }
}

/// Keeps a session from being idle while one of its streams is read.
pub(crate) struct ActivityGuard {
    conversation: Arc<Conversation>,
    afterwards: Option<Box<dyn FnOnce() + Send>>,
}

impl ActivityGuard {
    /// Calls `afterwards` when the guard is dropped.
    pub(crate) fn then(mut self, afterwards: impl FnOnce() + Send + 'static) -> Self {
        self.afterwards = Some(Box::new(afterwards));
        self
    }
}

impl std::fmt::Debug for ActivityGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.conversation.touch();
        self.conversation.open.fetch_sub(1, Ordering::Relaxed);
        if let Some(afterwards) = self.afterwards.take() {
            afterwards();
        }
    }
}

/// Returns the result of an answer that begins a session, if it is one.
pub(crate) fn result_of(text: &[u8]) -> Option<Value> {
    let envelopes = crate::message::read_server(text).ok()?;
    match envelopes.into_iter().next()?.message {
        Message::Response(Response {
            outcome: Outcome::Result(result),
            ..
        }) => serde_json::from_str(result.get()).ok(),
        _ => None,
    }
}
