//! Requests to Restate: to its ingress, and to its address for administration.

use std::time::Duration;

use interlock_http::explained;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::{error::WorkerError, settings::address};

/// Name of the object whose keys are runs.
pub(crate) const OBJECT: &str = "Run";
/// How long a request may take.
const REQUEST_TIME: Duration = Duration::from_secs(10);
const JSON: &str = "application/json";
/// Maximum number of characters of an answer that an error repeats.
const SAID_CHARS_MAX: usize = 300;

/// Restate's ingress.
#[derive(Debug, Clone)]
pub(crate) struct Restate {
    ingress: Url,
    client: Client,
}

impl Restate {
    pub(crate) fn new(ingress: Url) -> Result<Self, WorkerError> {
        let client = client(&ingress)?;
        Ok(Self { ingress, client })
    }

    /// Wakes a run; a request with the same key is accepted once.
    pub(crate) async fn wake(
        &self,
        object_key: &str,
        reason: &str,
        key: &str,
    ) -> Result<(), WorkerError> {
        let url = path(&self.ingress, &[OBJECT, object_key, "wake", "send"]);
        let request = self.client.post(url).header("idempotency-key", key);
        let answer = with_json(request, &json!(reason)).send().await;
        self.accepted(answer, &[]).await
    }

    /// Tells an awakeable what follows, as JSON.
    pub(crate) async fn resolve(&self, awakeable: &str, next: &str) -> Result<(), WorkerError> {
        let url = path(
            &self.ingress,
            &["restate", "awakeables", awakeable, "resolve"],
        );
        let request = self.client.post(url).header(CONTENT_TYPE, JSON);
        let answer = request.body(next.to_owned()).send().await;
        // One that has ended, or of a Restate that has lost its data: nobody waits for it.
        self.accepted(
            answer,
            &[
                StatusCode::NOT_FOUND,
                StatusCode::CONFLICT,
                StatusCode::GONE,
            ],
        )
        .await
    }

    async fn accepted(
        &self,
        answer: Result<Response, reqwest::Error>,
        also: &[StatusCode],
    ) -> Result<(), WorkerError> {
        accepted(&self.ingress, answer, also).await.map(drop)
    }
}

/// Registers the workers that are reached at `advertise`, unless they are already.
///
/// # Errors
/// An address is not one, or `admin` is another machine's; Restate does not answer, or cannot reach the workers.
pub async fn register(admin: &str, advertise: &str) -> Result<(), WorkerError> {
    let admin = address(admin, "Restate's administration")?;
    if !interlock_http::is_loopback(&admin) {
        return Err(WorkerError::AdminElsewhere(admin.to_string()));
    }
    let uri = address(advertise, "the workers")?;
    let body = json!({ "uri": uri.as_str(), "force": false });
    let request = client(&admin)?.post(path(&admin, &["deployments"]));
    let answer = with_json(request, &body).send().await;
    let status = accepted(&admin, answer, &[StatusCode::CONFLICT]).await?;
    if status != StatusCode::CONFLICT {
        return Ok(());
    }
    // Another version of the workers was registered under this address.
    let body = json!({ "uri": uri.as_str(), "force": true });
    let request = client(&admin)?.post(path(&admin, &["deployments"]));
    let answer = with_json(request, &body).send().await;
    accepted(&admin, answer, &[]).await.map(drop)
}

fn with_json(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request.header(CONTENT_TYPE, JSON).body(body.to_string())
}

fn client(of: &Url) -> Result<Client, WorkerError> {
    let failed = |what: String| WorkerError::Restate {
        place: place(of),
        what: format!("cannot be reached: {what}"),
    };
    let builder = interlock_http::client(of).map_err(|error| failed(error.to_string()))?;
    let client = builder.timeout(REQUEST_TIME).build();
    client.map_err(|error| failed(explained(error)))
}

/// Returns an address below `base`; each part is one segment, whatever it contains.
fn path(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    // An address with a host has segments.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear().extend(parts);
    }
    url
}

/// Returns the address of a server, for messages.
fn place(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

async fn accepted(
    base: &Url,
    answer: Result<Response, reqwest::Error>,
    also: &[StatusCode],
) -> Result<StatusCode, WorkerError> {
    let failed = |what: String| WorkerError::Restate {
        place: place(base),
        what,
    };
    let answer =
        answer.map_err(|error| failed(format!("cannot be reached: {}", explained(error))))?;
    let status = answer.status();
    if status.is_success() || also.contains(&status) {
        return Ok(status);
    }
    let said = answer.text().await.unwrap_or_default();
    let said: String = said.chars().take(SAID_CHARS_MAX).collect();
    let advice = if status == StatusCode::NOT_FOUND {
        "; register the workers with `--restate-admin`"
    } else {
        ""
    };
    Err(failed(format!("answered {status}: {said}{advice}")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use reqwest::Url;

    use super::path;

    #[test]
    fn the_key_of_an_object_is_one_segment() {
        let base = Url::parse("http://127.0.0.1:8080").unwrap();
        let url = path(&base, &["Run", "acme/01k9?x#y", "wake", "send"]);
        assert_eq!(
            url.as_str(),
            "http://127.0.0.1:8080/Run/acme%2F01k9%3Fx%23y/wake/send"
        );
    }
}
