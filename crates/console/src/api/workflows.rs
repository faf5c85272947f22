//! Workflow files: lists, reads and writes them; checks, draws and edits texts. Nothing runs.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, Uri, header},
};
use interlock_edit::{Operation, Refusal, edit as carry_out};
use interlock_formats::{
    Source, check as check_text, codemie_schema, flowstate_schema, load, pipeline_schema,
    schema as native_schema,
};
use interlock_graph::Graph;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    outline::Outline,
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
    shown::Shown,
    workflows,
};

/// Maximum number of operations in one edit.
const OPERATIONS_MAX: usize = 100;

pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Answered {
    let query = Query::of(uri.query());
    let found = shared
        .in_turn(|shared| &shared.lists, move |shared| {
            let (root, library) = shared.library(query.text("project"))?;
            Ok(json!({ "project": root, "workflows": workflows::list(&shared.checked, &root, &library) }))
        })
        .await?;
    json_reply(&found)
}

pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let found = shared
        .blocking(move |shared| {
            let (root, library) = shared.library(query.text("project"))?;
            workflows::file(&root, &library, &name)
        })
        .await?;
    json_reply(&found)
}

/// A new text of a workflow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: String,
}

/// Writes a workflow, if its text still matches `If-Match`; open runs keep their copy.
pub(super) async fn write(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let query = Query::of(uri.query());
    let known = headers
        .get(header::IF_MATCH)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .ok_or_else(|| {
            let message = "`If-Match` has to say which text is written over";
            Problem::new(StatusCode::PRECONDITION_REQUIRED, "if_match", message)
        })?;
    let Written { text } = super::long_body(body).await?;
    let etag = shared
        .blocking(move |shared| {
            let (root, library) = shared.library(query.text("project"))?;
            workflows::write(&root, &library, &name, &known, &text)
        })
        .await?;
    json_reply(&json!({ "etag": etag }))
}

/// A workflow text in the page, saved or not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draft {
    #[serde(default)]
    pub(super) project: Option<String>,
    /// The file of a listed workflow, or the name of a shipped one; it determines whether the text is JSON, and where
    /// relative files are looked up.
    pub(super) file: String,
    text: String,
    /// One of several workflows in the file.
    #[serde(default)]
    pub(super) machine: Option<String>,
    /// One of the machines below its `machines`, for edits and for the form.
    #[serde(default)]
    inner: Option<String>,
    /// The nodes of its graph that are opened or folded.
    #[serde(default)]
    view: Shown,
    /// The operations to apply.
    #[serde(default)]
    operations: Vec<Operation>,
    /// Lines as for `interlock simulate`; a string is a line in short form, such as `Bash ls` or `READY`.
    ///
    /// A line may have an `expect`, as the steps of test files do.
    #[serde(default)]
    pub(super) lines: Vec<Value>,
    /// The beginning of the simulated run.
    #[serde(default)]
    pub(super) begun: Begun,
}

/// The beginning of a simulated run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    /// Data that patches the context.
    #[serde(default)]
    pub(super) data: Map<String, Value>,
    /// The first message of a conversation.
    #[serde(default)]
    pub(super) conversation: String,
    /// The level of confinement for shell lines.
    #[serde(default)]
    pub(super) level: Option<String>,
}

impl Draft {
    pub(super) fn source(&self) -> Source {
        Source::new(self.file.clone(), self.text.clone())
    }

    /// Returns the name of the machine to edit: one of several workflows, one below `machines`, or both.
    fn edited(&self) -> Option<String> {
        match (&self.machine, &self.inner) {
            (Some(machine), Some(inner)) => Some(format!("{machine}/{inner}")),
            (machine, inner) => machine.clone().or_else(|| inner.clone()),
        }
    }
}

/// Returns the diagnostics of a text.
pub(super) async fn check(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.drafts,
            move |shared| {
                let (root, library) = shared.library(draft.project.as_deref())?;
                let library = workflows::of_draft(&root, &library, &draft.file)?;
                Ok(json!({ "diagnostics": check_text(&draft.source(), &library) }))
            },
        )
        .await?;
    json_reply(&found)
}

/// Returns the JSON Schema of a format.
pub(super) async fn schema(uri: Uri) -> Answered {
    let query = Query::of(uri.query());
    let found = match query.text("format") {
        None | Some("native") => native_schema(),
        Some("pipeline") => pipeline_schema(),
        Some("flowstate") => flowstate_schema(),
        Some("codemie") => codemie_schema(),
        Some(other) => return Err(Problem::unknown(format!("there is no format `{other}`"))),
    };
    json_reply(&found)
}

/// Draws a text if it is a workflow, and returns the places of its states if it can be parsed.
pub(super) async fn layout(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.drafts,
            move |shared| {
                let (root, library) = shared.library(draft.project.as_deref())?;
                let library = workflows::of_draft(&root, &library, &draft.file)?;
                let (source, machine) = (draft.source(), draft.machine.as_deref());
                let outline = Outline::of(&source, machine, draft.inner.as_deref());
                let view = draft.view.view()?;
                Ok(match load(&source, machine, &library) {
                    Ok(loaded) => json!({
                        "scene": Graph::of(&loaded.machine, None, &[]).viewed(&view).scene(),
                        "outline": outline, "diagnostics": loaded.warnings,
                    }),
                    Err(found) => {
                        json!({ "scene": null, "outline": outline, "diagnostics": found })
                    }
                })
            },
        )
        .await?;
    json_reply(&found)
}

/// Applies operations to a text; nothing is written to disk.
pub(super) async fn edit(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    if draft.operations.len() > OPERATIONS_MAX {
        return Err(Problem::input(format!(
            "at most {OPERATIONS_MAX} operations at once"
        )));
    }
    let found = shared
        .in_turn(|shared| &shared.drafts, move |shared| {
            let (root, library) = shared.library(draft.project.as_deref())?;
            let library = workflows::of_draft(&root, &library, &draft.file)?;
            let source = draft.source();
            if workflows::is_hidden(&source.text) {
                return Err(workflows::hidden());
            }
            let machine = draft.edited();
            Ok(match carry_out(&source, machine.as_deref(), &draft.operations, &library) {
                Ok(edited) if workflows::is_hidden(&edited.text) => return Err(workflows::hidden()),
                Ok(edited) => {
                    let edited = Source::new(source.name, edited.text);
                    json!({ "ok": true, "text": edited.text, "diagnostics": check_text(&edited, &library) })
                }
                Err(refusal) => refused(&source, &refusal),
            })
        })
        .await?;
    json_reply(&found)
}

fn refused(source: &Source, refusal: &Refusal) -> Value {
    let place = refusal.diagnostic(&source.name);
    json!({
        "ok": false, "code": refusal.why.code(), "message": refusal.message, "help": refusal.help,
        "operation": refusal.operation, "diagnostics": place.as_slice(),
    })
}
