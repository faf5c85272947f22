//! Calls, retried until they succeed, are refused, or are given up.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use interlock_http::Clients;
use interlock_process::Cancel;
use reqwest::{Response, header::RETRY_AFTER};
use tokio::runtime::{Builder, Runtime};

use crate::{
    Answer, Clock, Heard, Kind, ModelError, Provider, Request, RetryPolicy, SystemClock, Waited,
    error::{Code, Failure},
    reading::Reading,
    refusal, send,
    send::Exchange,
    wire::{self, Dialect, Names},
};

/// Calls models. There is one for a whole process: it keeps connections, and one thread for all of them.
///
/// Any number of threads may call at once; a call blocks its thread. It must not be called from within an asynchronous runtime.
pub struct Client {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    clients: Clients,
    clock: Arc<dyn Clock>,
    /// What servers have refused, by address and model.
    dialects: Mutex<BTreeMap<(String, String), Dialect>>,
}

impl Client {
    /// Creates a client that uses the clock of this machine.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new() -> io::Result<Self> {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Creates a client that waits between attempts with `clock`.
    ///
    /// Idle timeouts and the time limit of an attempt use the clock of this machine all the same.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn with_clock(clock: Arc<dyn Clock>) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("models")
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            clients: Clients::default(),
            clock,
            dialects: Mutex::default(),
        })
    }

    /// Sends `request` until a complete message has come back, as often as `retry` allows.
    ///
    /// Progress is reported to `hear`, on this thread; an incomplete message is discarded. Pulling `cancel` ends a delay or a
    /// stream at once.
    ///
    /// # Errors
    /// The provider refuses, or no attempt succeeded, or the call was given up.
    pub fn call(
        &self,
        provider: &Provider,
        request: &Request,
        retry: &RetryPolicy,
        cancel: &Cancel,
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError> {
        let mut tries: u32 = 0;
        loop {
            tries = tries.saturating_add(1);
            let failure = match self.call_once(provider, request, cancel, hear) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let wait = retry.wait(tries, failure.retry_after, self.clock.jitter());
            let Some(wait) = wait.filter(|_| failure.is_passing) else {
                return Err(ModelError { failure, tries });
            };
            hear(Heard::Again {
                try_number: tries,
                failure: &failure,
                wait,
            });
            if self.clock.wait(wait, cancel) == Waited::Cancelled {
                let failure = Failure::cancelled();
                return Err(ModelError { failure, tries });
            }
        }
    }

    /// Sends `request` once, for callers with their own retries.
    ///
    /// If the server refuses something that another of its kind accepts, the request is repeated at once without it, and from
    /// then on it is always left out.
    ///
    /// # Errors
    /// The provider cannot be reached, refuses, or ends the stream too early, or the call was given up.
    pub fn call_once(
        &self,
        provider: &Provider,
        request: &Request,
        cancel: &Cancel,
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, Failure> {
        if cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if let Some(flaw) = request.flaw() {
            return Err(Failure::lasting(format!(
                "the request is not whole: {flaw}"
            )));
        }
        let runtime = self.runtime.as_ref().ok_or_else(Failure::cancelled)?;
        let names = Names::of(provider.kind, request);
        let mut dialect = self.dialect(provider, request);
        loop {
            let exchange = self.exchange(provider, request, &names, dialect, cancel, hear);
            match runtime.block_on(exchange)? {
                Ended::Answered(answer) => return Ok(answer),
                Ended::Refused { failure, said } => {
                    let other = dialect.after(provider.kind, &request.options, &said);
                    let may = matches!(failure.status, Some(400 | 422))
                        && failure.code == Code::ModelError;
                    let Some(other) = other.filter(|_| may) else {
                        return Err(failure);
                    };
                    dialect = other;
                    self.learn(provider, request, dialect);
                }
            }
        }
    }

    async fn exchange(
        &self,
        provider: &Provider,
        request: &Request,
        names: &Names,
        dialect: Dialect,
        cancel: &Cancel,
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Ended, Failure> {
        let outgoing = wire::outgoing(provider, request, names, dialect)?;
        let client = self.clients.to(&outgoing.url);
        let client =
            client.map_err(|why| Failure::lasting(format!("no connection can be made: {why}")))?;
        let exchange = Exchange::begin(provider, cancel);
        let posted = send::request(provider, outgoing);
        let mut response = exchange.send(client, posted).await?;
        let status = response.status().as_u16();
        let retry_after = self.retry_after(&response);
        let mut next = None;
        if status == 200 {
            next = exchange.next(&mut response).await?;
        }
        if status != 200 || is_no_stream(provider, next.as_deref()) {
            let said = exchange.refusal(next, response).await?;
            let failure = refusal::by_status(provider, status, &said, retry_after);
            let said = String::from_utf8_lossy(&said).into_owned();
            return Ok(Ended::Refused { failure, said });
        }
        let mut reading = Reading::new(provider.kind, names.clone());
        let told = |failure: Failure| Failure {
            message: refusal::scrub(provider, &failure.message),
            ..failure
        };
        while let Some(bytes) = next {
            reading.feed(&bytes, hear).map_err(told)?;
            if reading.is_over() {
                break;
            }
            next = exchange.next(&mut response).await?;
        }
        let answer = reading.end(hear).map_err(told)?;
        send::finish(response).await;
        Ok(Ended::Answered(answer))
    }

    fn retry_after(&self, response: &Response) -> Option<std::time::Duration> {
        let text = |name: &str| response.headers().get(name)?.to_str().ok();
        let value = text(RETRY_AFTER.as_str());
        refusal::retry_after(value, text("retry-after-ms"), self.clock.now_ms())
    }

    fn dialect(&self, provider: &Provider, request: &Request) -> Dialect {
        let known = self.dialects.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(&place(provider, request))
            .copied()
            .unwrap_or_default()
    }

    fn learn(&self, provider: &Provider, request: &Request, dialect: Dialect) {
        let mut known = self.dialects.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(place(provider, request), dialect);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // This does not wait for what is still being read.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Result of one exchange.
enum Ended {
    Answered(Answer),
    Refused { failure: Failure, said: String },
}

fn place(provider: &Provider, request: &Request) -> (String, String) {
    (provider.base.to_string(), request.model.clone())
}

/// Returns whether an answer is a document or a page, as an intermediary may send.
///
/// Every line of an event stream begins with a name or a colon.
fn is_no_stream(provider: &Provider, first: Option<&[u8]>) -> bool {
    let first = first.and_then(|bytes| bytes.trim_ascii_start().first());
    provider.kind() != Kind::Ollama && first.is_some_and(|byte| b"{[<".contains(byte))
}
