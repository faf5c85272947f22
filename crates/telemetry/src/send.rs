//! Posts spans and log records to a collector.

use std::{thread, time::Duration};

use interlock_http::{TlsError, is_loopback, tls};
use reqwest::{
    StatusCode, Url,
    blocking::Client,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};

use crate::{LogRecord, Settings, Span, logs_request, request};

/// The number of spans in one request.
const SPANS_MAX: usize = 256;
/// The number of times a request is made that a collector may take later.
const TRIES_MAX: u32 = 3;
/// Time before the first retry.
const WAIT: Duration = Duration::from_millis(500);

/// Why spans or log records were not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The endpoint is not an address.
    #[error("`{0}` is not an address of a collector: it begins with `http://` or `https://`")]
    Address(String),
    /// The system's certificates cannot be used.
    #[error("secure connections cannot be made: {0}")]
    Tls(#[from] TlsError),
    /// A header of the settings is not valid.
    #[error("`{0}` is not a header that can be sent")]
    Header(String),
    /// The collector cannot be reached.
    #[error("`{endpoint}` cannot be reached")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// The underlying error.
        source: reqwest::Error,
    },
    /// The collector refused them.
    #[error("`{endpoint}` answered {status}: {said}")]
    Refused {
        /// The endpoint.
        endpoint: String,
        /// The status of the answer.
        status: u16,
        /// The text of the answer.
        said: String,
    },
}

impl SendError {
    /// Returns whether sending the same again would end the same way.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status: 400, .. })
    }
}

/// A connection to a collector.
#[derive(Debug)]
pub struct Sender<'a> {
    settings: &'a Settings,
    endpoint: &'a str,
    client: Client,
}

impl<'a> Sender<'a> {
    /// Prepares sending; `None` if telemetry is off.
    ///
    /// # Errors
    /// A header is not valid, or no client can be made.
    pub fn new(settings: &'a Settings) -> Result<Option<Self>, SendError> {
        let Some(endpoint) = settings.endpoint.as_deref() else {
            return Ok(None);
        };
        let url = Url::parse(endpoint).map_err(|_| SendError::Address(endpoint.to_owned()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let bad = || SendError::Header(name.clone());
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let client = Client::builder().tls_backend_preconfigured(tls(&url)?);
        // A proxy from the environment is for other machines, never for this machine itself.
        let client = if is_loopback(&url) {
            client.no_proxy()
        } else {
            client
        };
        let client = client
            .timeout(settings.timeout)
            // Headers may contain a key: they go only where they were meant to.
            .redirect(Policy::none())
            .default_headers(headers)
            .build()
            .map_err(|source| SendError::Unreachable {
                endpoint: endpoint.to_owned(),
                source,
            })?;
        Ok(Some(Self {
            settings,
            endpoint,
            client,
        }))
    }

    /// Sends spans, a few hundred per request.
    ///
    /// # Errors
    /// The collector cannot be reached or refuses them; earlier requests were accepted.
    pub fn send(&self, spans: &[Span]) -> Result<(), SendError> {
        for some in spans.chunks(SPANS_MAX) {
            let body = request(&self.settings.resource, some).to_string();
            self.post(&body)?;
        }
        Ok(())
    }

    /// Sends log records in one request.
    ///
    /// # Errors
    /// The collector cannot be reached or refuses them.
    pub fn send_logs(&self, records: &[LogRecord]) -> Result<(), SendError> {
        let body = logs_request(&self.settings.resource, records).to_string();
        self.post(&body)
    }

    fn post(&self, body: &str) -> Result<(), SendError> {
        let mut tries = 1;
        loop {
            let wait = WAIT * 2_u32.saturating_pow(tries - 1);
            let error = match self.post_once(body) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            // The answers that the conventions call worth another try.
            let again = match &error {
                SendError::Unreachable { .. } => true,
                SendError::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
                SendError::Address(_) | SendError::Tls(_) | SendError::Header(_) => false,
            };
            if !again || tries >= TRIES_MAX {
                return Err(error);
            }
            tries += 1;
            thread::sleep(wait);
        }
    }

    fn post_once(&self, body: &str) -> Result<(), SendError> {
        let answer = self
            .client
            .post(self.endpoint)
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_owned())
            .send();
        let answer = answer.map_err(|source| SendError::Unreachable {
            endpoint: self.endpoint.to_owned(),
            source,
        })?;
        let status: StatusCode = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let said: String = answer
            .text()
            .unwrap_or_default()
            .chars()
            .filter(|letter| !letter.is_control())
            .take(200)
            .collect();
        Err(SendError::Refused {
            endpoint: self.endpoint.to_owned(),
            status: status.as_u16(),
            said,
        })
    }
}
