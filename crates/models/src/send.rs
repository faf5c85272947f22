//! Connections to providers: reused, without printing secrets, and with time limits.

use std::time::Duration;

use interlock_process::Cancel;
use reqwest::{
    Client, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT},
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Key, Kind, Provider, error::Failure, refusal, wire::Outgoing};

/// How long to wait for the end of a stream whose answer is complete.
const REST_TIME: Duration = Duration::from_millis(20);
/// How long to wait for it in the background, so that the connection can be reused.
const REST_BESIDE_TIME: Duration = Duration::from_secs(5);
/// Maximum number of bytes read of an unsuccessful answer.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// Creates the HTTP request.
pub(crate) fn request(provider: &Provider, outgoing: Outgoing) -> Request {
    let mut request = Request::new(reqwest::Method::POST, outgoing.url);
    let headers = request.headers_mut();
    let accepted = match provider.kind {
        Kind::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    let agent = HeaderValue::from_static(interlock_http::USER_AGENT);
    headers.insert(USER_AGENT, agent);
    for (name, value) in outgoing.headers {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if let Some(key) = &provider.key {
        open_with(headers, provider.kind, key);
    }
    for (name, value) in &provider.headers {
        headers.insert(name.clone(), value.clone());
    }
    *request.body_mut() = Some(outgoing.body.into());
    request
}

fn open_with(headers: &mut HeaderMap, kind: Kind, key: &Key) {
    let (name, value) = match kind {
        Kind::Anthropic => (
            HeaderName::from_static("x-api-key"),
            key.secret().to_owned(),
        ),
        Kind::Gemini => (
            HeaderName::from_static("x-goog-api-key"),
            key.secret().to_owned(),
        ),
        Kind::OpenAi | Kind::Ollama => (AUTHORIZATION, format!("Bearer {}", key.secret())),
    };
    // A key consists of valid header characters.
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// One pending exchange, with a time limit and a cancel handle.
#[derive(Debug)]
pub(crate) struct Exchange<'e> {
    provider: &'e Provider,
    cancel: &'e Cancel,
    deadline: Instant,
}

impl<'e> Exchange<'e> {
    pub(crate) fn begin(provider: &'e Provider, cancel: &'e Cancel) -> Self {
        let now = Instant::now();
        // Beyond the range of the clock: a day.
        let deadline = now.checked_add(provider.timeout);
        let day = Duration::from_hours(24);
        Self {
            provider,
            cancel,
            deadline: deadline.unwrap_or_else(|| now + day),
        }
    }

    /// Sends, and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        client: &Client,
        request: Request,
    ) -> Result<Response, Failure> {
        self.bounded(client.execute(request)).await
    }

    /// Returns the next bytes of an answer; `None` at its end.
    pub(crate) async fn next(&self, response: &mut Response) -> Result<Option<Vec<u8>>, Failure> {
        let bytes = self.bounded(response.chunk()).await?;
        Ok(bytes.map(Vec::from))
    }

    /// Reads an unsuccessful answer as far as needed; an incomplete one is short.
    pub(crate) async fn refusal(
        &self,
        first: Option<Vec<u8>>,
        mut response: Response,
    ) -> Result<Vec<u8>, Failure> {
        let mut body = first.unwrap_or_default();
        while body.len() < REFUSAL_BYTES_MAX {
            match self.next(&mut response).await {
                Ok(Some(bytes)) => body.extend(bytes),
                Err(failure) if failure.code == crate::Code::Cancelled => return Err(failure),
                Ok(None) | Err(_) => break,
            }
        }
        body.truncate(REFUSAL_BYTES_MAX);
        Ok(body)
    }

    async fn bounded<T>(
        &self,
        doing: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, Failure> {
        let silence = self.provider.silence;
        let doing = timeout_at(self.deadline, timeout(silence, doing));
        let done = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(Failure::cancelled()),
            done = doing => done,
        };
        let place = refusal::place(self.provider);
        match done {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(error))) => Err(self.on_the_way(error)),
            Ok(Err(_)) => Err(Failure::passing(format!(
                "{place} was silent for {} s",
                seconds(silence)
            ))),
            Err(_) => Err(Failure::passing(format!(
                "{place} took longer than {} s",
                seconds(self.provider.timeout)
            ))),
        }
    }

    fn on_the_way(&self, error: reqwest::Error) -> Failure {
        let place = refusal::place(self.provider);
        let what = if error.is_connect() {
            "cannot be reached"
        } else if error.is_body() || error.is_decode() {
            "broke the stream"
        } else {
            "broke the connection"
        };
        let error = error.without_url();
        // The innermost error says what happened, the outer ones only where.
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let told = format!("{place} {what}: {cause}");
        Failure::passing(refusal::scrub(self.provider, &told))
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// Reads the end of a stream whose answer is complete, so that its connection can be reused.
pub(crate) async fn finish(mut response: Response) {
    let ended = timeout(REST_TIME, rest(&mut response)).await;
    if ended.is_err() {
        tokio::spawn(async move { timeout(REST_BESIDE_TIME, rest(&mut response)).await });
    }
}

async fn rest(response: &mut Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}
