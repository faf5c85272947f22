//! The way to a provider: connections that are kept, secrets that are not printed, and the end of waiting.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, Request, Response, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT},
    redirect,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Cancel, Key, Kind, Provider, error::Failure, refusal, wire::Outgoing};

/// How long a provider may take to take a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long the end of a stream is waited for whose answer is whole.
const REST_TIME: Duration = Duration::from_millis(20);
/// How long it is waited for beside, so that the connection can be used again.
const REST_BESIDE_TIME: Duration = Duration::from_secs(5);
/// Bytes that are read of an answer which is none.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// Connections to any provider; each kind of them is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    plain: Pair,
    secure: Pair,
}

/// Connections to this machine, which no proxy stands before, and to others.
#[derive(Debug, Default)]
struct Pair {
    here: OnceLock<Result<Client, String>>,
    elsewhere: OnceLock<Result<Client, String>>,
}

impl Connections {
    pub(crate) fn to(&self, url: &Url) -> Result<&Client, Failure> {
        let is_secure = url.scheme() == "https";
        let is_here = is_loopback(url);
        let pair = if is_secure { &self.secure } else { &self.plain };
        let made = if is_here { &pair.here } else { &pair.elsewhere };
        let made = made.get_or_init(|| client(is_secure, is_here));
        let broken = |why: &String| Failure::lasting(format!("no connection can be made: {why}"));
        made.as_ref().map_err(broken)
    }
}

fn client(is_secure: bool, is_here: bool) -> Result<Client, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| told(&error))?;
    let tls = if is_secure {
        tls.with_platform_verifier()
            .map_err(|error| told(&error))?
            .with_no_client_auth()
    } else {
        // Nothing is believed where nothing is to be believed.
        tls.with_root_certificates(RootCertStore::empty())
            .with_no_client_auth()
    };
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIME)
        .tcp_nodelay(true)
        // The key goes where it was meant to, and nowhere else.
        .redirect(redirect::Policy::none());
    // A proxy of the environment stands between here and elsewhere, never between here and here.
    let client = if is_here { client.no_proxy() } else { client };
    client.build().map_err(|error| told(&error))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
}

/// Makes the request of HTTP.
pub(crate) fn request(provider: &Provider, outgoing: Outgoing) -> Request {
    let mut request = Request::new(reqwest::Method::POST, outgoing.url);
    let headers = request.headers_mut();
    let accepted = match provider.kind {
        Kind::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    let agent = concat!("interlock/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
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
    // A key is made of what a header may hold.
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// One exchange under way: bounded in time, ended by the handle.
#[derive(Debug)]
pub(crate) struct Exchange<'e> {
    provider: &'e Provider,
    cancel: &'e Cancel,
    deadline: Instant,
}

impl<'e> Exchange<'e> {
    pub(crate) fn begin(provider: &'e Provider, cancel: &'e Cancel) -> Self {
        let now = Instant::now();
        // Beyond what the clock can say: a day.
        let deadline = now.checked_add(provider.timeout);
        let day = Duration::from_hours(24);
        Self {
            provider,
            cancel,
            deadline: deadline.unwrap_or_else(|| now + day),
        }
    }

    /// Sends, and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        client: &Client,
        request: Request,
    ) -> Result<Response, Failure> {
        self.bounded(client.execute(request)).await
    }

    /// Returns the next bytes of an answer; `None`: there are no more.
    pub(crate) async fn next(&self, response: &mut Response) -> Result<Option<Vec<u8>>, Failure> {
        let bytes = self.bounded(response.chunk()).await?;
        Ok(bytes.map(Vec::from))
    }

    /// Reads an answer that is none, as far as it is needed; what breaks off is short.
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
            () = self.cancel.pulled() => return Err(Failure::cancelled()),
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
        // The innermost says what happened, those around it only where.
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

/// Reads the end of a stream whose answer is whole, so that its connection can be used again.
pub(crate) async fn finish(mut response: Response) {
    let ended = timeout(REST_TIME, rest(&mut response)).await;
    if ended.is_err() {
        tokio::spawn(async move { timeout(REST_BESIDE_TIME, rest(&mut response)).await });
    }
}

async fn rest(response: &mut Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_itself_is_reached_past_a_proxy() {
        for (url, here) in [
            ("http://localhost:11434/api", true),
            ("http://127.0.0.1/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:8080/", true),
            ("http://localhost.example.com/", false),
            ("http://mylocalhost/", false),
            ("http://127.0.0.1.example.com/", false),
            ("http://10.0.0.1/", false),
            ("http://[2001:db8::1]/", false),
        ] {
            let parsed = Url::parse(url);
            assert_eq!(parsed.is_ok_and(|url| is_loopback(&url)), here, "{url}");
        }
    }
}
