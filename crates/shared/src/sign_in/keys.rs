//! The keys that issuers publish, fetched when a token needs them and kept for some minutes.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use interlock_http::Clients;
use reqwest::Url;
use serde_json::Value;
use tokio::{sync::Mutex, time::timeout};

use super::{
    config::SignIn,
    jwt::{self, Key},
};

/// How long keys count without another look.
const AGE_MAX: Duration = Duration::from_secs(600);
/// The shortest time between two requests to an issuer, whatever tokens name.
const REST: Duration = Duration::from_secs(5);
/// How long an issuer may take to answer both requests.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Maximum size of an answer in bytes.
const BYTES_MAX: usize = 512 * 1024;

/// An issuer did not publish its keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct IssuerAway(pub(crate) String);

/// The keys of the configured issuers.
pub(crate) struct Keys {
    clients: Clients,
    kept: BTreeMap<String, Mutex<Option<Kept>>>,
}

/// What an issuer has answered last.
struct Kept {
    at: Instant,
    keys: Result<Arc<Vec<Key>>, IssuerAway>,
}

impl Keys {
    /// Makes a store for the issuers of a configuration; nothing is fetched yet.
    pub(crate) fn new(of: &SignIn) -> Self {
        let issuers = of.entries.iter().map(|entry| entry.issuer.clone());
        Self {
            clients: Clients::default(),
            kept: issuers.map(|issuer| (issuer, Mutex::default())).collect(),
        }
    }

    /// Returns the keys of a configured issuer, fetched again if none has the id.
    pub(crate) async fn of(
        &self,
        issuer: &str,
        key_id: Option<&str>,
    ) -> Result<Arc<Vec<Key>>, IssuerAway> {
        let Some(kept) = self.kept.get(issuer) else {
            return Err(IssuerAway("it is not configured".to_owned()));
        };
        // Held while it is asked, so that many tokens are one request.
        let mut kept = kept.lock().await;
        if let Some(known) = &*kept {
            let age = known.at.elapsed();
            let has = |keys: &Arc<Vec<Key>>| {
                key_id.is_none_or(|id| keys.iter().any(|key| key.is_named(id)))
            };
            let is_good = known.keys.as_ref().is_ok_and(has) && age < AGE_MAX;
            if is_good || age < REST {
                return known.keys.clone();
            }
        }
        let fetched = timeout(TIME_MAX, self.fetch(issuer)).await;
        let keys = fetched.unwrap_or_else(|_| Err(IssuerAway("it took too long".to_owned())));
        *kept = Some(Kept {
            at: Instant::now(),
            keys: keys.clone(),
        });
        keys
    }

    async fn fetch(&self, issuer: &str) -> Result<Arc<Vec<Key>>, IssuerAway> {
        let away = |what: &str| IssuerAway(what.to_owned());
        let about = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let about = self.read(&about, issuer).await?;
        if about.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(away(
                "it calls itself otherwise than the configuration does",
            ));
        }
        let keys = about.get("jwks_uri").and_then(Value::as_str);
        let keys = keys.ok_or_else(|| away("it names no keys (`jwks_uri`)"))?;
        let keys = self.read(keys, issuer).await?;
        let keys = jwt::keys(&keys).ok_or_else(|| away("what it names as its keys is no set"))?;
        Ok(Arc::new(keys))
    }

    /// Reads JSON from an address of an issuer.
    async fn read(&self, address: &str, issuer: &str) -> Result<Value, IssuerAway> {
        let url = Url::parse(address).map_err(|_| IssuerAway("it names no address".to_owned()))?;
        let is_plain = url.scheme() == "http"
            && interlock_http::is_loopback(&url)
            && issuer.starts_with("http://");
        if url.scheme() != "https" && !is_plain {
            return Err(IssuerAway("its keys are not at `https`".to_owned()));
        }
        let client = self.clients.to(&url);
        let client = client.map_err(|error| IssuerAway(error.to_string()))?;
        let failed = |error| IssuerAway(interlock_http::explained(error));
        let mut response = client.get(url).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(IssuerAway(format!("it answers {}", response.status())));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > BYTES_MAX {
                return Err(IssuerAway("its answer is too long".to_owned()));
            }
        }
        let value = interlock_json::parse_unique(&bytes);
        value.map_err(|_| IssuerAway("its answer is no JSON".to_owned()))
    }
}
