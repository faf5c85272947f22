//! Workflows: the files, what is wrong with a text, its picture, edits of it, and how calls would fare. Nothing runs.

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
use interlock_graph::{Graph, Trace};
use interlock_simulate::{Scenario, Simulation, input::short_form};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    outline::Outline,
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
    workflows,
};

/// Lines that are played at once.
const LINES_MAX: usize = 500;
/// Operations that are carried out at once.
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

/// Writes a workflow, if it is still what `If-Match` stands for; runs that go on keep their copy.
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

/// A text that the page holds, saved or not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    #[serde(default)]
    project: Option<String>,
    /// The file of a workflow in the list, or the name of a shipped one; it says whether the text is JSON, and where
    /// files beside it are looked for.
    file: String,
    text: String,
    /// One of several workflows in the file.
    #[serde(default)]
    machine: Option<String>,
    /// What is done to it.
    #[serde(default)]
    operations: Vec<Operation>,
    /// Lines as `interlock simulate` takes them; a text is one in short, such as `Bash ls` or `READY`.
    #[serde(default)]
    lines: Vec<Value>,
}

impl Draft {
    fn source(&self) -> Source {
        Source::new(self.file.clone(), self.text.clone())
    }
}

/// Says what is wrong with a text.
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

/// Answers with the JSON Schema of a format.
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

/// Draws a text, if it is a workflow, and says where its states stand, if it can be read.
pub(super) async fn layout(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.drafts,
            move |shared| {
                let (root, library) = shared.library(draft.project.as_deref())?;
                let library = workflows::of_draft(&root, &library, &draft.file)?;
                let (source, machine) = (draft.source(), draft.machine.as_deref());
                let outline = Outline::of(&source, machine);
                Ok(match load(&source, machine, &library) {
                    Ok(loaded) => json!({
                        "scene": Graph::of(&loaded.machine, None, &[]).scene(),
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

/// Carries operations out on a text; nothing is written.
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
            let machine = draft.machine.as_deref();
            Ok(match carry_out(&source, machine, &draft.operations, &library) {
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

/// Plays lines on a text; nothing runs and nothing is recorded.
///
/// `marks` are those of the graph, first of the start and then after each answer.
pub(super) async fn simulate(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    if draft.lines.len() > LINES_MAX {
        return Err(Problem::input(format!("at most {LINES_MAX} lines at once")));
    }
    let found = shared
        .in_turn(|shared| &shared.drafts, move |shared| {
            let (root, library) = shared.library(draft.project.as_deref())?;
            let library = workflows::of_draft(&root, &library, &draft.file)?;
            let loaded = match load(&draft.source(), draft.machine.as_deref(), &library) {
                Ok(loaded) => loaded,
                Err(found) => return Ok(json!({ "ok": false, "diagnostics": found })),
            };
            let mut simulation = Simulation::new(loaded.machine.clone(), Scenario::default());
            let (mut trace, mut followed) = (Trace::default(), 0);
            let mut marks = |simulation: &Simulation| {
                for event in simulation.events().iter().skip(followed) {
                    trace.follow(event);
                }
                followed = simulation.events().len();
                Graph::at(&loaded.machine, Some(simulation.run()), &trace).marks()
            };
            let mut marked = vec![marks(&simulation)];
            let mut answers = Vec::new();
            for (index, line) in draft.lines.iter().enumerate() {
                let line = match line {
                    Value::String(short) => short_form(short),
                    line => Ok(line.clone()),
                };
                let answer = line.and_then(|line| {
                    simulation.step(&line.to_string()).map_err(|error| error.message)
                });
                match answer {
                    Ok(answer) => answers.push(answer),
                    Err(error) => {
                        let message = format!("line {}: {error}", index + 1);
                        return Ok(json!({ "ok": false, "answers": answers, "marks": marked, "message": message }));
                    }
                }
                marked.push(marks(&simulation));
            }
            Ok(json!({ "ok": true, "answers": answers, "marks": marked }))
        })
        .await?;
    json_reply(&found)
}
