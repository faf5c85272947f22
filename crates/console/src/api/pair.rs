//! Pairs a page with the console.

use std::sync::Arc;

use axum::{Extension, body::Body, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::body;
use crate::{
    gate::Asks,
    pairing::{Finished, WAIT_MAX},
    reply::{Answered, json_reply},
    shared::Shared,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    /// The hex SHA-256 of the page's secret.
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    pairing: String,
    secret: String,
}

pub(super) async fn begin(State(shared): State<Arc<Shared>>, sent: Body) -> Answered {
    let Begin { key } = body(sent).await?;
    let (pairing, number) = shared.pairings.begin(&key)?;
    let expires_ms = u64::try_from(WAIT_MAX.as_millis()).unwrap_or(u64::MAX);
    json_reply(&json!({ "pairing": pairing, "number": number, "expires_ms": expires_ms }))
}

pub(super) async fn finish(
    State(shared): State<Arc<Shared>>,
    Extension(asks): Extension<Asks>,
    sent: Body,
) -> Answered {
    let Finish { pairing, secret } = body(sent).await?;
    match shared.pairings.finish(&pairing, &secret, &asks.0)? {
        Finished::Bearer(bearer) => json_reply(&json!({
            "bearer": bearer,
            "person": shared.person,
            "version": env!("CARGO_PKG_VERSION"),
        })),
        Finished::Waits => {
            let mut response = json_reply(&json!({ "waits": true }))?;
            *response.status_mut() = StatusCode::ACCEPTED;
            Ok(response)
        }
    }
}
