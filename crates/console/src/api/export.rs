//! Exports a run as one file, for a page that saves it.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use interlock_core::names::RunId;

use crate::{
    export::{Exported, export_of},
    reply::Answered,
    shared::{Settings, Shared},
};

/// Exports a run as one file, without starting a console.
///
/// # Errors
/// The run cannot be read; the error is a sentence for people.
pub fn export(settings: Settings, run: &RunId) -> Result<Exported, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the run cannot be exported: {error}"))?;
    let (shared, _pairings) = Shared::new(settings, 0);
    let shared = Arc::new(shared);
    let api = super::routes().with_state(Arc::clone(&shared));
    runtime
        .block_on(export_of(api, &shared.secrets, run))
        .map_err(|problem| problem.message)
}

pub(super) async fn save(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answered {
    // An export is costly, like the work on texts, so exports take turns.
    let _turn = shared.exports.take().await?;
    let api = super::routes().with_state(Arc::clone(&shared));
    let exported = export_of(api, &shared.secrets, &RunId::new(id)).await?;
    let mut response = Response::new(Body::from(exported.html));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    // The file is saved, and never shown under the console's own origin.
    let how = HeaderValue::from_static("attachment");
    headers.insert(header::CONTENT_DISPOSITION, how);
    Ok(response)
}
