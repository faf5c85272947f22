//! Requests to a server, with a limit on the time of each.

use std::{
    sync::{Mutex, OnceLock, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use interlock_store::random_word;
use nix::sys::signal::{SigSet, SigmaskHow};
use reqwest::{Client, Method, StatusCode, Url};
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    error::FleetError,
    forward::Forwarder,
    request::{Answer, BYTES_MAX, REQUEST_TIME, Request},
    wire::ErrorBody,
};

/// How long an unused connection is kept by a process that lives as long as a session.
const IDLE_TIME: Duration = Duration::from_secs(15 * 60);
/// How often an unused connection is checked.
const KEEPALIVE_TIME: Duration = Duration::from_secs(15);
/// Delay before a request is sent again with the same key.
const REST: Duration = Duration::from_millis(50);

/// A server with the token for it.
#[derive(Debug)]
pub(crate) struct Server {
    base: Url,
    token: String,
    /// A process of this machine that may be connected already.
    forwarder: Mutex<Option<Forwarder>>,
    own: OnceLock<Connection>,
}

/// A connection of this process.
///
/// The requests run on a thread of their own, because some callers are on a runtime that must not be blocked by another.
#[derive(Debug)]
struct Connection {
    client: Client,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Uses the server at `address`; nothing is sent yet.
    pub(crate) fn new(address: &str, token: &str) -> Result<Self, FleetError> {
        let bad = |why| FleetError::BadServer {
            server: address.to_owned(),
            why,
        };
        let base = Url::parse(address)
            .map_err(|_| bad("write `https://HOST` or `http://127.0.0.1:PORT`"))?;
        let is_plain = base.path() == "/"
            && base.query().is_none()
            && base.username().is_empty()
            && base.password().is_none();
        if !is_plain || base.host_str().is_none() {
            return Err(bad(
                "it is a scheme, a host and a port, without anything else",
            ));
        }
        let is_safe = base.scheme() == "https"
            || base.scheme() == "http" && interlock_http::is_loopback(&base);
        if !is_safe {
            return Err(bad("the token would be sent in the clear: use `https`"));
        }
        Ok(Self {
            base,
            token: token.to_owned(),
            forwarder: Mutex::new(None),
            own: OnceLock::new(),
        })
    }

    /// Sends short requests over the connection that another process keeps, if it does.
    pub(crate) fn forwarded(mut self, by: Forwarder) -> Self {
        self.forwarder = Mutex::new(Some(by));
        self
    }

    /// Returns the connection of this process; the first call makes it.
    fn own(&self) -> Result<&Connection, FleetError> {
        if let Some(own) = self.own.get() {
            return Ok(own);
        }
        let made = Connection::new(&self.base).map_err(|what| FleetError::Unreachable {
            server: self.address().to_owned(),
            what,
        })?;
        Ok(self.own.get_or_init(|| made))
    }

    /// Returns the address, for messages.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Reads `path`; the server may wait for `wait` before it answers.
    pub(crate) fn get(&self, path: &str, wait: Duration) -> Result<Vec<u8>, FleetError> {
        let request = Request { path, posted: None };
        self.retried(REQUEST_TIME + wait, |time| self.send(&request, time))
    }

    /// Posts `body`, again with the same key if there is no answer.
    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, FleetError> {
        self.post_within(path, body, REQUEST_TIME)
    }

    /// Posts like [`Self::post`], for as long as `time`.
    pub(crate) fn post_within(
        &self,
        path: &str,
        body: &[u8],
        time: Duration,
    ) -> Result<Vec<u8>, FleetError> {
        let key = random_word().map_err(|error| self.unreachable(&error))?;
        let request = Request {
            path,
            posted: Some((&key, body)),
        };
        self.retried(time, |time| self.send(&request, time))
    }

    /// Repeats a request that had no answer until the time is over.
    fn retried(
        &self,
        time: Duration,
        mut send: impl FnMut(Duration) -> Result<Vec<u8>, FleetError>,
    ) -> Result<Vec<u8>, FleetError> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match send(left) {
                Err(FleetError::Unreachable { .. }) if Instant::now() + REST < until => {
                    thread::sleep(REST);
                }
                answer => return answer,
            }
        }
    }

    fn unreachable(&self, what: &dyn std::error::Error) -> FleetError {
        FleetError::Unreachable {
            server: self.address().to_owned(),
            what: cause(what),
        }
    }

    fn send(&self, request: &Request<'_>, time: Duration) -> Result<Vec<u8>, FleetError> {
        let began = Instant::now();
        if let Some(answer) = self.forward(request, time) {
            return self.read(answer);
        }
        let answer = self.raw(request, time.saturating_sub(began.elapsed()))?;
        self.read(answer)
    }

    /// Has a short request forwarded by the process that keeps a connection.
    fn forward(&self, request: &Request<'_>, time: Duration) -> Option<Answer> {
        if time > REQUEST_TIME {
            return None;
        }
        let lock = || {
            self.forwarder
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let mut forwarder = lock().take()?;
        let answer = forwarder.send(&self.token, request, time / 2)?;
        // One that has failed is not asked again.
        *lock() = Some(forwarder);
        Some(answer)
    }

    /// Sends a request over the connection of this process.
    pub(crate) fn raw(&self, request: &Request<'_>, time: Duration) -> Result<Answer, FleetError> {
        let url = self
            .base
            .join(request.path)
            .map_err(|_| self.unreadable("no address"))?;
        let own = self.own()?;
        let method = request.posted.map_or(Method::GET, |_| Method::POST);
        let mut built = own
            .client
            .request(method, url)
            .bearer_auth(&self.token)
            .timeout(time);
        if let Some((key, body)) = request.posted {
            built = built
                .header("idempotency-key", key)
                .header("content-type", "application/json")
                .body(body.to_vec());
        }
        own.send(built).map_err(|what| FleetError::Unreachable {
            server: self.address().to_owned(),
            what,
        })
    }

    fn unreadable(&self, what: &str) -> FleetError {
        FleetError::Unreadable {
            server: self.address().to_owned(),
            what: what.to_owned(),
        }
    }

    /// Returns the body of an answer, or the error that it reports.
    fn read(&self, Answer { status, body }: Answer) -> Result<Vec<u8>, FleetError> {
        if status == StatusCode::OK {
            return Ok(body);
        }
        let Ok(ErrorBody { error }) = serde_json::from_slice(&body) else {
            // A proxy in front of a server that is away says so in its own words.
            return Err(if status.is_server_error() {
                FleetError::Unreachable {
                    server: self.address().to_owned(),
                    what: status.to_string(),
                }
            } else {
                self.unreadable(&status.to_string())
            });
        };
        Err(FleetError::Refused {
            server: self.address().to_owned(),
            code: error.code,
            message: error.message,
        })
    }
}

impl Connection {
    fn new(base: &Url) -> Result<Self, String> {
        let builder = interlock_http::client(base).map_err(|error| error.to_string())?;
        let client = builder
            .pool_idle_timeout(IDLE_TIME)
            .tcp_keepalive(KEEPALIVE_TIME)
            .build()
            .map_err(|error| cause(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        // The thread, and those that it starts, inherit what is blocked here. A signal that one of them took would not wake
        // a thread that waits for it, not even the one that says that a shell line has ended.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let thread = thread::Builder::new()
            .name("server".to_owned())
            .spawn(move || {
                // It ends when dropped or sent.
                let _ = runtime.block_on(stopped);
            });
        if let Ok(before) = before {
            // What was blocked before can be set again.
            let _ = before.thread_set_mask();
        }
        let thread = thread.map_err(|error| error.to_string())?;
        Ok(Self {
            client,
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Sends a request and waits for the answer; or says why there is none.
    fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, String> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = answer.send(answer_to(request).await);
        });
        let answered = answered.recv().map_err(|error| error.to_string())?;
        answered.map_err(|error| cause(&error))
    }
}

/// Returns the last error of the chain, which is the system's.
fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Sends a request and reads the whole answer.
async fn answer_to(request: reqwest::RequestBuilder) -> Result<Answer, reqwest::Error> {
    let mut response = request.send().await?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
        if body.len() > BYTES_MAX {
            // What is cut off cannot be read as JSON.
            break;
        }
    }
    Ok(Answer { status, body })
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
