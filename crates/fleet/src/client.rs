//! Requests to a server, with a limit on the time of each.

use std::{
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use interlock_store::random_word;
use reqwest::{Client, Method, StatusCode, Url};
use tokio::{runtime::Handle, sync::oneshot};

use crate::{error::FleetError, wire::ErrorBody};

/// How long a request may take: a hook that has no verdict after two seconds refuses by itself, and could not say why.
const REQUEST_TIME: Duration = Duration::from_millis(1_500);
/// Delay before a request is sent again with the same key.
const REST: Duration = Duration::from_millis(50);
/// Maximum size of an answer in bytes.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A server with the token for it.
///
/// The requests run on a thread of their own, because some callers are on a runtime that must not be blocked by another.
#[derive(Debug)]
pub(crate) struct Server {
    base: Url,
    token: String,
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
        let failed = |what: String| FleetError::Unreachable {
            server: address.to_owned(),
            what,
        };
        let builder = interlock_http::client(&base).map_err(|error| failed(error.to_string()))?;
        let client = builder.build().map_err(|error| failed(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("server".to_owned())
            .spawn(move || {
                // It ends when dropped or sent.
                let _ = runtime.block_on(stopped);
            })
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            base,
            token: token.to_owned(),
            client,
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address, for messages.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Reads `path`; the server may wait for `wait` before it answers.
    pub(crate) fn get(&self, path: &str, wait: Duration) -> Result<Vec<u8>, FleetError> {
        self.retried(REQUEST_TIME + wait, |time| {
            self.send(Method::GET, path, None, time)
        })
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
        self.retried(time, |time| {
            self.send(Method::POST, path, Some((&key, body)), time)
        })
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
        // The system's text is the last of the chain.
        let mut cause = what;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        FleetError::Unreachable {
            server: self.address().to_owned(),
            what: cause.to_string(),
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        posted: Option<(&str, &[u8])>,
        time: Duration,
    ) -> Result<Vec<u8>, FleetError> {
        let unreadable = |what: &str| FleetError::Unreadable {
            server: self.address().to_owned(),
            what: what.to_owned(),
        };
        let url = self.base.join(path).map_err(|_| unreadable("no address"))?;
        let mut request = self
            .client
            .request(method, url)
            .bearer_auth(&self.token)
            .timeout(time);
        if let Some((key, body)) = posted {
            request = request
                .header("idempotency-key", key)
                .header("content-type", "application/json")
                .body(body.to_vec());
        }
        let (answer, answered) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = answer.send(answer_to(request).await);
        });
        let (status, bytes) = answered
            .recv()
            .map_err(|error| self.unreachable(&error))?
            .map_err(|error| self.unreachable(&error))?;
        if status == StatusCode::OK {
            return Ok(bytes);
        }
        let Ok(ErrorBody { error }) = serde_json::from_slice(&bytes) else {
            // A proxy in front of a server that is away says so in its own words.
            return Err(if status.is_server_error() {
                FleetError::Unreachable {
                    server: self.address().to_owned(),
                    what: status.to_string(),
                }
            } else {
                unreadable(&status.to_string())
            });
        };
        Err(FleetError::Refused {
            server: self.address().to_owned(),
            code: error.code,
            message: error.message,
        })
    }
}

/// Sends a request and reads the whole answer.
async fn answer_to(
    request: reqwest::RequestBuilder,
) -> Result<(StatusCode, Vec<u8>), reqwest::Error> {
    let mut response = request.send().await?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > BYTES_MAX {
            // What is cut off cannot be read as JSON.
            break;
        }
    }
    Ok((status, bytes))
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
