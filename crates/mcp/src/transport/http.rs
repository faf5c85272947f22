//! A server over HTTP, of any revision, as a channel.
//!
//! Every message is a separate request. The transport's state is here: the session, the revision, the stream of the server's own
//! messages. No header of a client is ever forwarded: a server gets those of the configuration.

mod ask;
mod call;
mod listen;
mod old;
mod reached;
mod renew;
mod speech;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use tokio::{sync::mpsc, task::AbortHandle, time::timeout};

use self::reached::LocalClient;
use super::{ConnectOptions, Connection, Dial, Dialing, Fate};
use crate::{
    channel::Channel,
    headers::Schemas,
    message::{Envelope, Id, Message, Notification, Outcome, Request},
};

/// How long a server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long ending a session may take.
const GOODBYE_TIME: Duration = Duration::from_secs(2);
/// How long the first call waits for the stream of the server's own messages.
const STREAM_TIME: Duration = Duration::from_millis(500);
/// Maximum number of redirects that are followed, all to the same origin.
const REDIRECTS_MAX: usize = 5;
/// Maximum number of messages without an answer that wait to be sent.
const TOLD_MAX: usize = 256;

/// Transports that a server may support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// Streamable HTTP, or the earlier transport if the server supports no other.
    Any,
    /// The transport before 2025: one stream of events, and messages posted separately.
    OneStream,
}

/// A server that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct HttpServer {
    client: Client,
    near: Option<LocalClient>,
    url: Url,
    headers: HeaderMap,
    speaks: Speaks,
}

/// An address or a header that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpServerError {
    /// It is not an HTTP address.
    #[error("`{0}` is not an address of a server: it begins with `http://` or `https://`")]
    Address(String),
    /// It cannot be sent, or is set by the protocol.
    #[error("the header `{0}` cannot be set: take it out")]
    Header(String),
    /// The system's certificates cannot be used.
    #[error("secure connections cannot be made: {0}")]
    Tls(String),
}

impl HttpServer {
    /// Describes a server at `url`; `headers` are sent with every request.
    ///
    /// # Errors
    /// The address or a header is not usable.
    pub fn new<'a>(
        url: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        speaks: Speaks,
    ) -> Result<Self, HttpServerError> {
        let no_address = || HttpServerError::Address(url.to_owned());
        let url: Url = url.parse().map_err(|_| no_address())?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(no_address());
        }
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let (parsed, value) =
                header(name, value).ok_or_else(|| HttpServerError::Header(name.to_owned()))?;
            own.append(parsed, value);
        }
        Ok(Self {
            client: client(&url)?,
            near: LocalClient::new(&url),
            url,
            headers: own,
            speaks,
        })
    }

    /// Connects; nothing is sent to the server before the first message.
    #[must_use]
    pub fn connect(&self, options: &ConnectOptions) -> Connection {
        let (near, far) = Channel::pair();
        let fate = Fate::default();
        let carrier = Arc::new(Carrier {
            server: self.clone(),
            session: far.outgoing,
            options: options.clone(),
            state: Mutex::default(),
            renewing: tokio::sync::Mutex::new(()),
            proven: AtomicBool::new(false),
        });
        let said = fate.clone();
        tokio::spawn(async move {
            let ended = carrier.carry(far.incoming).await;
            said.say(ended);
        });
        Connection { link: near, fate }
    }
}

impl Dial for HttpServer {
    fn dial<'a>(&'a self, options: &'a ConnectOptions) -> Dialing<'a> {
        Box::pin(std::future::ready(Ok(self.connect(options))))
    }
}

/// Parses a header of the configuration, which may not be one of the protocol's own.
fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let name: HeaderName = name.parse().ok()?;
    let own = [
        "accept",
        "content-type",
        "content-length",
        "host",
        "connection",
        "transfer-encoding",
        "last-event-id",
    ];
    if own.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
        return None;
    }
    let mut value = HeaderValue::from_str(value).ok()?;
    // Most are secrets: they are not printed.
    value.set_sensitive(true);
    Some((name, value))
}

fn client(url: &Url) -> Result<Client, HttpServerError> {
    let broken = |error: &dyn std::fmt::Display| HttpServerError::Tls(error.to_string());
    let client = interlock_http::client(url).map_err(|error| broken(&error))?;
    let client = client.redirect(redirect::Policy::custom(follow));
    client.build().map_err(|error| broken(&error))
}

/// Follows a redirect only to the same origin: the request may contain secrets.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let first = attempt.previous().first();
    let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if same && attempt.previous().len() <= REDIRECTS_MAX {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Carries the messages of one connection.
#[derive(Debug)]
struct Carrier {
    server: HttpServer,
    session: mpsc::Sender<Envelope>,
    options: ConnectOptions,
    state: Mutex<State>,
    /// Held while a lost session is renewed.
    renewing: tokio::sync::Mutex<()>,
    /// Whether the server has answered with streamable HTTP.
    proven: AtomicBool,
}

/// What was agreed on with the server.
#[derive(Debug, Default)]
struct State {
    session_id: Option<String>,
    version: Option<String>,
    /// Number of renewals of the session.
    age: u64,
    /// Request that began the session.
    initialize: Option<Request>,
    /// Requests to repeat to a new session.
    settings: Vec<Request>,
    schemas: Schemas,
    under_way: HashMap<Id, UnderWay>,
    listening: Option<AbortHandle>,
}

#[derive(Debug)]
struct UnderWay {
    task: AbortHandle,
    is_modern: bool,
}

impl Carrier {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of it is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries messages until the session is gone; returns why it ended.
    async fn carry(self: Arc<Self>, mut incoming: mpsc::Receiver<Envelope>) -> String {
        if self.server.speaks == Speaks::OneStream {
            return self.carry_one_stream(incoming, None).await;
        }
        let (told, telling) = mpsc::channel(TOLD_MAX);
        let teller = tokio::spawn(Arc::clone(&self).tell_all(telling));
        while let Some(envelope) = incoming.recv().await {
            match &envelope.message {
                Message::Request(request) if begins(&request.method) => {
                    // Nothing else may be sent until it is answered.
                    if let Some(request) = self.begin(envelope).await {
                        teller.abort();
                        return self.carry_one_stream(incoming, Some(request)).await;
                    }
                }
                Message::Request(_) => self.ask_beside(envelope),
                Message::Notification(note) if note.method == "notifications/cancelled" => {
                    let is_told = self.cancel(note);
                    if is_told {
                        told.send(envelope).await.ok();
                    }
                }
                Message::Notification(note) if note.method == "notifications/initialized" => {
                    self.tell(&envelope).await;
                    // The server's questions during the first call may come through its own stream.
                    let opens = self.listen_beside();
                    timeout(STREAM_TIME, opens).await.ok();
                }
                Message::Notification(_) | Message::Response(_) => {
                    told.send(envelope).await.ok();
                }
            }
        }
        drop(told);
        self.end().await;
        teller.abort();
        "was left".to_owned()
    }

    /// Sends messages that need no answer, in order.
    async fn tell_all(self: Arc<Self>, mut telling: mpsc::Receiver<Envelope>) {
        while let Some(envelope) = telling.recv().await {
            self.tell(&envelope).await;
            if let Message::Notification(note) = &envelope.message
                && note.method == "notifications/cancelled"
                && let Some(id) = cancelled(note)
            {
                let ended = self.state().under_way.remove(&id);
                if let Some(ended) = ended {
                    ended.task.abort();
                }
            }
        }
    }

    /// Sends a request concurrently with other messages.
    fn ask_beside(self: &Arc<Self>, envelope: Envelope) {
        let Message::Request(request) = &envelope.message else {
            return;
        };
        let id = request.id.clone();
        let is_modern = call::modern_version(request).is_some();
        let carrier = Arc::clone(self);
        let own = id.clone();
        // Registered before it runs, so that it cannot end before it is known.
        let mut state = self.state();
        let task = tokio::spawn(async move {
            carrier.ask(&envelope).await;
            carrier.state().under_way.remove(&own);
        });
        let task = task.abort_handle();
        state.under_way.insert(id, UnderWay { task, is_modern });
    }

    /// Cancels a request; returns `true` if the server must be told.
    fn cancel(&self, note: &Notification) -> bool {
        let Some(id) = cancelled(note) else {
            return true;
        };
        let mut state = self.state();
        match state.under_way.get(&id) {
            Some(under_way) if under_way.is_modern => {
                // The end of its stream tells the server.
                under_way.task.abort();
                state.under_way.remove(&id);
                false
            }
            _ => state.version.is_some(),
        }
    }

    /// Ends open requests, and the session.
    async fn end(&self) {
        let (session_id, tasks) = {
            let mut state = self.state();
            let mut tasks: Vec<AbortHandle> = state.listening.take().into_iter().collect();
            tasks.extend(state.under_way.drain().map(|(_, under_way)| under_way.task));
            (state.session_id.take(), tasks)
        };
        for task in tasks {
            task.abort();
        }
        if let Some(session_id) = session_id {
            let goodbye = self.goodbye(&session_id);
            timeout(GOODBYE_TIME, goodbye).await.ok();
        }
    }

    /// Delivers a message to the session; returns `false` if it is gone.
    async fn give(&self, envelope: Envelope) -> bool {
        self.session.send(envelope).await.is_ok()
    }

    /// Answers a request in place of the server.
    async fn fail(&self, id: &Id, outcome: Outcome) {
        self.give(Envelope::response(id.clone(), outcome)).await;
    }

    fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }
}

/// Returns whether nothing may be sent concurrently with a request.
fn begins(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover")
}

fn cancelled(note: &Notification) -> Option<Id> {
    Id::from_value(note.params.as_ref()?.get("requestId")?)
}
