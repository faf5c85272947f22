//! HTTP clients: the certificates they trust, and when they use a proxy.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Timeout for connecting to a server.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// TLS cannot be set up, because the system's certificates cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

impl TlsError {
    fn of(error: &dyn std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Returns a builder of clients for `url`: it verifies `https` by the system's certificates, follows no redirect, and
/// uses no proxy for loopback addresses.
///
/// # Errors
/// The system's certificates cannot be used.
pub fn client(url: &Url) -> Result<ClientBuilder, TlsError> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls(url)?)
        .connect_timeout(CONNECT_TIME)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none());
    Ok(if is_loopback(url) {
        client.no_proxy()
    } else {
        client
    })
}

/// Returns the TLS configuration for a connection to `url`.
///
/// # Errors
/// The system's certificates cannot be used.
pub fn tls(url: &Url) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::of(&error))?;
    let tls = if url.scheme() == "https" {
        tls.with_platform_verifier()
            .map_err(|error| TlsError::of(&error))?
    } else {
        // Loading the certificates takes time, and a connection without TLS does not use them.
        tls.with_root_certificates(RootCertStore::empty())
    };
    Ok(tls.with_no_client_auth())
}

/// Returns whether a URL's host is this machine itself.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
}

/// Clients that are reused, so that their connections are too; each is built when it is first needed.
#[derive(Debug, Default)]
pub struct Clients {
    plain: Pair,
    encrypted: Pair,
}

/// A client for this machine, without a proxy, and one for other hosts.
#[derive(Debug, Default)]
struct Pair {
    here: OnceLock<Result<Client, TlsError>>,
    elsewhere: OnceLock<Result<Client, TlsError>>,
}

impl Clients {
    /// Returns the client for `url`.
    ///
    /// # Errors
    /// The system's certificates cannot be used.
    pub fn to(&self, url: &Url) -> Result<&Client, TlsError> {
        let pair = if url.scheme() == "https" {
            &self.encrypted
        } else {
            &self.plain
        };
        let kept = if is_loopback(url) {
            &pair.here
        } else {
            &pair.elsewhere
        };
        let make = || client(url)?.build().map_err(|error| TlsError::of(&error));
        kept.get_or_init(make).as_ref().map_err(TlsError::clone)
    }
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
