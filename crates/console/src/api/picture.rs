//! The graph of a run: the scene, and the marks of any moment.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_core::names::RunId;
use interlock_graph::Graph;
use interlock_store::EventLog as _;
use serde_json::json;

use crate::{
    query::Query,
    reply::{Answered, json_reply},
    shared::Shared,
    shown::Shown,
};

/// Returns the scene, which stays the same while the run goes on except for what `view` opens and folds, or the marks
/// of a moment.
pub(super) async fn graph(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let at: Option<u64> = query.value("at")?;
    let view = Shown::of(query.text("view"))?.view()?;
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let Some(at) = at else {
                let machine = log.machine()?;
                return Ok(
                    json!({ "scene": Graph::of(&machine, None, &[]).viewed(&view).scene() }),
                );
            };
            let at = at.min(log.count()?);
            let moment = shared.histories.at(&log, at)?;
            let machine = log.machine_of(&moment.run)?;
            let graph = Graph::at(&machine, Some(&moment.run), &moment.trace);
            Ok(json!({ "marks": graph.marks() }))
        })
        .await?;
    json_reply(&found)
}
