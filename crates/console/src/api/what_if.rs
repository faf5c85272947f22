//! Judges the log of a run under another workflow: nothing runs, and nothing is written.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
};
use interlock_core::names::RunId;
use interlock_formats::{Source, load};
use interlock_simulate::what_if::{CannotJudge, Window, what_if as judge};
use interlock_store::EventLog as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::scenario;
use crate::{
    bounded::Bounded,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
    workflows,
};

/// Maximum number of differences in one window.
const WINDOW_MAX: usize = 1_000;
const WINDOW: usize = 200;

/// The workflow to judge by, and the window of differences to return.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIfRequest {
    /// The project whose workflows are used; `None` for that of the run.
    #[serde(default)]
    project: Option<String>,
    /// A listed workflow, as its file is now.
    #[serde(default)]
    workflow: Option<String>,
    /// Alternatively, the file name of a draft, with its `text`.
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// One of several workflows in the file.
    #[serde(default)]
    machine: Option<String>,
    /// The first event whose differences are listed.
    #[serde(default)]
    from: u64,
    #[serde(default)]
    limit: Option<usize>,
}

impl From<CannotJudge> for Problem {
    fn from(error: CannotJudge) -> Self {
        let code = match error {
            CannotJudge::StepsRun(_) | CannotJudge::StepsWorkflow(_) => "steps",
            CannotJudge::Empty => "empty",
        };
        Self::new(
            axum::http::StatusCode::UNPROCESSABLE_ENTITY,
            code,
            error.to_string(),
        )
    }
}

/// Returns the differences under the other workflow.
pub(super) async fn what_if(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    body: Body,
) -> Answered {
    let asked: WhatIfRequest = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.judging,
            move |shared| answer(shared, &RunId::new(id), asked),
        )
        .await?;
    json_reply(&found)
}

fn answer(shared: &Shared, id: &RunId, asked: WhatIfRequest) -> Result<Value, Problem> {
    let log = shared.home.open_run(id)?;
    let scenario = scenario(shared, id)?;
    let project = match asked.project {
        Some(project) => Some(project),
        // A project that no longer exists has no workflows; those of the console's own project are used instead.
        None => std::path::Path::new(&scenario.project_root)
            .is_dir()
            .then(|| scenario.project_root.clone()),
    };
    let (root, library) = shared.library(project.as_deref())?;
    let (source, bounded) = match (asked.workflow, asked.file, asked.text) {
        (Some(name), None, None) => {
            let source = workflows::file(&root, &library, &name)?.source()?;
            (source, Bounded::new(&root, &library))
        }
        (None, Some(file), Some(text)) => {
            let bounded = workflows::of_draft(&root, &library, &file)?;
            (Source::new(file, text), bounded)
        }
        _ => {
            return Err(Problem::input(
                "either `workflow` names a workflow, or `file` and `text` are that of one",
            ));
        }
    };
    let loaded = match load(&source, asked.machine.as_deref(), &bounded) {
        Ok(loaded) => loaded,
        Err(found) => return Ok(json!({ "ok": false, "diagnostics": found })),
    };
    let pinned = log.machine()?;
    let limit = asked.limit.unwrap_or(WINDOW).clamp(1, WINDOW_MAX);
    let window = Window {
        from: asked.from,
        limit,
    };
    let events = log.events(0).map(|recorded| Ok(recorded?.event));
    let found = judge::<Problem>(events, &pinned, &loaded.machine, &scenario, window)?;
    let mut found = json!(found);
    if let Value::Object(fields) = &mut found {
        fields.insert("ok".to_owned(), json!(true));
        fields.insert("events".to_owned(), json!(log.count()?));
        fields.insert(
            "pinned".to_owned(),
            json!({ "id": pinned.id, "hash": pinned.hash }),
        );
        let other = &loaded.machine;
        fields.insert(
            "other".to_owned(),
            json!({ "id": other.id, "hash": other.hash, "file": source.name }),
        );
    }
    shared.mask(&mut found);
    Ok(found)
}
