//! A run as one file, for a page that saves it.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::Response,
};
use interlock_core::names::RunId;

use crate::{export::export_of, reply::Answered, shared::Shared};

pub(super) async fn export(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answered {
    // It is costly, like the work on texts.
    let _turn = shared.exports.take().await?;
    let exported = export_of(&shared, &RunId::new(id)).await?;
    let mut response = Response::new(Body::from(exported.html));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    // It is saved, and never shown at the console's own address.
    let how = HeaderValue::from_static("attachment");
    headers.insert(header::CONTENT_DISPOSITION, how);
    Ok(response)
}
