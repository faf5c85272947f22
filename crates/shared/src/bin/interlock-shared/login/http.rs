//! Requests to a server and to an issuer, one at a time.

use std::{error::Error, time::Duration};

use interlock_fleet::ErrorBody;
use interlock_http::Clients;
use reqwest::{RequestBuilder, StatusCode, Url, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::runtime::Runtime;

/// How long an answer may take.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Maximum size of an answer in bytes.
const BYTES_MAX: usize = 512 * 1024;

/// Sends requests.
pub(super) struct Http {
    pub(super) runtime: Runtime,
    clients: Clients,
}

/// Returns the address of a server; what would send tokens in the clear is refused.
pub(super) fn server(address: &str) -> Result<Url, String> {
    checked(address).ok_or_else(|| {
        format!("`{address}` is no server: write `https://HOST`, or `http://127.0.0.1:PORT` for this machine")
    })
}

/// Parses an address that only `https` or this machine is behind.
pub(super) fn checked(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let is_safe =
        url.scheme() == "https" || url.scheme() == "http" && interlock_http::is_loopback(&url);
    (is_safe && url.username().is_empty() && url.password().is_none()).then_some(url)
}

impl Http {
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Ok(Self {
            runtime: runtime.enable_all().build()?,
            clients: Clients::default(),
        })
    }

    /// Reads from the server, or posts `body` to it.
    pub(super) fn answer<T: DeserializeOwned>(
        &self,
        url: &Url,
        body: Option<&impl Serialize>,
    ) -> Result<T, Box<dyn Error>> {
        let client = self.clients.to(url)?;
        let request = match body {
            Some(body) => client
                .post(url.clone())
                .header(header::CONTENT_TYPE, "application/json")
                .body(serde_json::to_vec(body)?),
            None => client.get(url.clone()),
        };
        let (status, bytes) = self.send(request, url)?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&bytes)?);
        }
        Err(match serde_json::from_slice::<ErrorBody>(&bytes) {
            Ok(ErrorBody { error }) => format!("{} ({})", error.message, error.code).into(),
            Err(_) => format!("{} answers {status}", host(url)).into(),
        })
    }

    /// Reads JSON from an issuer, or posts a form to it. Its errors are JSON, too.
    pub(super) fn of_issuer(
        &self,
        url: &Url,
        form: Option<&[(&str, &str)]>,
    ) -> Result<Value, Box<dyn Error>> {
        let client = self.clients.to(url)?;
        let request = match form {
            Some(fields) => {
                let mut encoded = Url::parse("http://form/")?;
                encoded.query_pairs_mut().extend_pairs(fields);
                client
                    .post(url.clone())
                    .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(encoded.query().unwrap_or_default().to_owned())
            }
            None => client.get(url.clone()),
        };
        let (status, bytes) = self.send(request.header(header::ACCEPT, "application/json"), url)?;
        let value = interlock_json::parse_unique(&bytes);
        Ok(value.map_err(|_| format!("{} answers {status}, and no JSON", host(url)))?)
    }

    fn send(
        &self,
        request: RequestBuilder,
        url: &Url,
    ) -> Result<(StatusCode, Vec<u8>), Box<dyn Error>> {
        let failed = |error| {
            format!(
                "{} cannot be reached: {}",
                host(url),
                interlock_http::explained(error)
            )
        };
        self.runtime.block_on(async {
            let mut response = request.timeout(TIME_MAX).send().await.map_err(failed)?;
            let mut bytes = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > BYTES_MAX {
                    return Err(format!("the answer of {} is too long", host(url)).into());
                }
            }
            Ok((response.status(), bytes))
        })
    }
}

/// Returns the scheme and the host of an address, without what may be secret.
fn host(url: &Url) -> String {
    url.origin().ascii_serialization()
}
