//! The routes below `/api/v1`. No route forces a state, replaces a machine or starts an agent.

mod answers;
mod blobs;
mod branches;
mod call;
mod call_texts;
mod compare;
mod cost;
mod export;
mod facts;
mod log;
mod moment;
mod pair;
mod passkeys;
mod picture;
mod runs;
mod stream;
mod transcript;
mod trials;
mod trust;
mod what_if;
mod workflows;

pub use export::export;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::Uri,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use http_body_util::{BodyExt as _, Limited};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{gate, page, reply::Problem, shared::Shared};

/// Maximum size of a request body in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Maximum size in bytes of a body that contains a workflow: the largest file that opens, and its JSON escapes.
const LONG_BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Timeout for receiving a body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Returns the router, with access control.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .nest("/api/v1", routes())
        .fallback(page::file)
        .layer(from_fn_with_state(Arc::clone(&shared), gate::admit))
        .with_state(shared)
}

/// Returns the routes of the API.
fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/pair", post(pair::begin))
        .route("/pair/finish", post(pair::finish))
        .route("/projects", get(runs::projects))
        .route("/runs", get(runs::list))
        .route("/inbox", get(runs::inbox))
        .route("/cost", get(cost::list))
        .route("/pairings", get(trust::pairings))
        .route("/pairings/{id}/end", post(trust::end_pairing))
        .route("/passkeys", get(passkeys::list))
        .route("/passkeys/begin", post(passkeys::begin))
        .route("/passkeys/finish", post(passkeys::finish))
        .route("/protected", get(trust::changes))
        .route("/machine", get(trust::machine))
        .route("/doctor", post(trust::doctor))
        .route("/stream", get(stream::follow))
        .route("/runs/{id}", get(runs::one))
        .route("/runs/{id}/changes", get(runs::changes))
        .route("/runs/{id}/events", get(log::events))
        .route("/runs/{id}/events/{seq}", get(log::event))
        .route("/runs/{id}/calls/{seq}/why", get(facts::why))
        .route("/runs/{id}/blobs/{digest}", get(blobs::blob))
        .route("/runs/{id}/cost", get(cost::one))
        .route("/runs/{id}/transcript", get(transcript::transcript))
        .route("/runs/{id}/timeline", get(log::timeline))
        .route("/runs/{id}/verify", get(log::verify))
        .route("/runs/{id}/state", get(moment::state))
        .route("/runs/{id}/graph", get(picture::graph))
        .route("/runs/{id}/answers", post(answers::answer))
        .route("/runs/{id}/challenge", post(passkeys::challenge))
        .route("/runs/{id}/export", get(export::save))
        .route("/runs/{id}/what-if", post(what_if::what_if))
        .route("/compare", get(compare::compare))
        .route("/runs/{id}/pause", post(answers::pause))
        .route("/runs/{id}/resume", post(answers::resume))
        .route("/runs/{id}/cancel", post(answers::cancel))
        .route("/workflows", get(workflows::list))
        .route(
            "/workflows/files/{name}",
            get(workflows::one).put(workflows::write),
        )
        .route("/workflows/schema", get(workflows::schema))
        .route("/workflows/check", post(workflows::check))
        .route("/workflows/layout", post(workflows::layout))
        .route("/workflows/edit", post(workflows::edit))
        .route("/workflows/simulate", post(trials::simulate))
        .route("/workflows/cases", post(trials::cases))
        .route("/workflows/prove", post(trials::prove))
        .fallback(unknown)
}

async fn unknown(uri: Uri) -> Problem {
    Problem::unknown(format!("there is no `{}`", uri.path()))
}

/// Reads and parses a JSON body.
async fn body<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    read_body(body, BODY_BYTES_MAX).await
}

/// Reads and parses a JSON body that may contain a workflow.
async fn long_body<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    read_body(body, LONG_BODY_BYTES_MAX).await
}

async fn read_body<T: DeserializeOwned>(body: Body, bytes_max: usize) -> Result<T, Problem> {
    let read = Limited::new(body, bytes_max).collect();
    let read = timeout(BODY_TIME, read).await.ok().and_then(Result::ok);
    let bytes = read.ok_or_else(|| {
        Problem::input(format!(
            "the body is cut off, or longer than {bytes_max} bytes"
        ))
    })?;
    let bytes = bytes.to_bytes();
    let found = serde_json::from_slice(&bytes);
    // Another reader may take the other value of a duplicate key.
    let found = found.and_then(|found| interlock_json::parse_unique(&bytes).map(|_| found));
    found.map_err(|error| Problem::input(format!("the body is not what is wanted: {error}")))
}
