//! What issuers publish: their keys, fetched when a token needs them, and their own descriptions. Both are kept for some
//! minutes.

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
    kept: BTreeMap<String, Mutex<Option<Kept<Vec<Key>>>>>,
    about: BTreeMap<String, Mutex<Option<Kept<Value>>>>,
}

/// What an issuer has answered last.
struct Kept<T> {
    at: Instant,
    found: Result<Arc<T>, IssuerAway>,
}

impl<T> Kept<T> {
    fn now(found: Result<Arc<T>, IssuerAway>) -> Self {
        Self {
            at: Instant::now(),
            found,
        }
    }
}

impl Keys {
    /// Makes a store for the issuers of a configuration; nothing is fetched yet.
    pub(crate) fn new(of: &SignIn) -> Self {
        let issuers = || of.entries.iter().map(|entry| entry.issuer.clone());
        Self {
            clients: Clients::default(),
            kept: issuers().map(|one| (one, Mutex::default())).collect(),
            about: issuers().map(|one| (one, Mutex::default())).collect(),
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
            let is_good = known.found.as_ref().is_ok_and(has) && age < AGE_MAX;
            if is_good || age < REST {
                return known.found.clone();
            }
        }
        let fetched = timeout(TIME_MAX, self.fetch(issuer)).await;
        let keys = fetched.unwrap_or_else(|_| Err(IssuerAway("it took too long".to_owned())));
        *kept = Some(Kept::now(keys.clone()));
        keys
    }

    /// Returns an address that a configured issuer names, such as its `token_endpoint`.
    pub(super) async fn endpoint(&self, issuer: &str, name: &str) -> Result<Url, IssuerAway> {
        let Some(kept) = self.about.get(issuer) else {
            return Err(IssuerAway("it is not configured".to_owned()));
        };
        let mut kept = kept.lock().await;
        let age = |known: &Kept<Value>| {
            let max = if known.found.is_ok() { AGE_MAX } else { REST };
            known.at.elapsed() < max
        };
        let known = kept.as_ref().filter(|known| age(known));
        let about = match known {
            Some(known) => known.found.clone(),
            None => {
                let fetched = timeout(TIME_MAX, self.describe(issuer)).await;
                let late = |_| Err(IssuerAway("it took too long".to_owned()));
                let found = fetched.unwrap_or_else(late).map(Arc::new);
                *kept = Some(Kept::now(found.clone()));
                found
            }
        }?;
        let address = about.get(name).and_then(Value::as_str);
        let address = address.ok_or_else(|| IssuerAway(format!("it names no `{name}`")))?;
        checked(address, issuer)
    }

    /// Posts a form to an address of an issuer; its errors are JSON, too.
    pub(super) async fn post(
        &self,
        url: Url,
        fields: &[(&str, &str)],
    ) -> Result<Value, IssuerAway> {
        let mut form = url.clone();
        form.query_pairs_mut().clear().extend_pairs(fields);
        let client = self.clients.to(&url);
        let client = client.map_err(|error| IssuerAway(error.to_string()))?;
        let request = client
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(form.query().unwrap_or_default().to_owned());
        let answered = timeout(TIME_MAX, async {
            let failed = |error| IssuerAway(interlock_http::explained(error));
            json(request.send().await.map_err(failed)?).await
        });
        let late = |_| Err(IssuerAway("it took too long".to_owned()));
        answered.await.unwrap_or_else(late)
    }

    /// Reads the description that an issuer publishes of itself.
    async fn describe(&self, issuer: &str) -> Result<Value, IssuerAway> {
        let about = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let about = self.read(&about, issuer).await?;
        if about.get("issuer").and_then(Value::as_str) != Some(issuer) {
            let what = "it calls itself otherwise than the configuration does";
            return Err(IssuerAway(what.to_owned()));
        }
        Ok(about)
    }

    async fn fetch(&self, issuer: &str) -> Result<Arc<Vec<Key>>, IssuerAway> {
        let away = |what: &str| IssuerAway(what.to_owned());
        let about = self.describe(issuer).await?;
        let keys = about.get("jwks_uri").and_then(Value::as_str);
        let keys = keys.ok_or_else(|| away("it names no keys (`jwks_uri`)"))?;
        let keys = self.read(keys, issuer).await?;
        let keys = jwt::keys(&keys).ok_or_else(|| away("what it names as its keys is no set"))?;
        Ok(Arc::new(keys))
    }

    /// Reads JSON from an address of an issuer.
    async fn read(&self, address: &str, issuer: &str) -> Result<Value, IssuerAway> {
        let url = checked(address, issuer)?;
        let client = self.clients.to(&url);
        let client = client.map_err(|error| IssuerAway(error.to_string()))?;
        let failed = |error| IssuerAway(interlock_http::explained(error));
        let response = client.get(url).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(IssuerAway(format!("it answers {}", response.status())));
        }
        json(response).await
    }
}

/// Parses an address that an issuer names, which has to be encrypted unless the issuer is on this machine.
fn checked(address: &str, issuer: &str) -> Result<Url, IssuerAway> {
    let url = Url::parse(address).map_err(|_| IssuerAway("it names no address".to_owned()))?;
    let is_plain = url.scheme() == "http"
        && interlock_http::is_loopback(&url)
        && issuer.starts_with("http://");
    if url.scheme() != "https" && !is_plain {
        return Err(IssuerAway("what it names is not at `https`".to_owned()));
    }
    Ok(url)
}

/// Reads a body of JSON.
async fn json(mut response: reqwest::Response) -> Result<Value, IssuerAway> {
    let failed = |error| IssuerAway(interlock_http::explained(error));
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
