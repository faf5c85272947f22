//! The list of runs, their pending requests, and single runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_clients::review::since_start;
use interlock_core::names::RunId;
use serde_json::{Value, json};

use super::answers::can_cancel;
use crate::{
    board::RunRow,
    protected,
    query::Query,
    reply::{Answered, Problem, json_reply},
    requests::requests,
    shared::{Opened, Shared, now_ms},
};

/// Maximum number of runs on one page of the list.
const PAGE_MAX: usize = 500;
const PAGE: usize = 100;
/// Maximum number of states offered as a filter, and of those that are read to find them.
const STATES_MAX: usize = 300;
const STATES_READ_MAX: usize = 100_000;

pub(super) async fn projects(State(shared): State<Arc<Shared>>) -> Answered {
    let rows = shared
        .blocking(move |shared| Ok(shared.board.rows(&shared.home)?))
        .await?;
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.project.is_empty()) {
        let (runs, open) = found.entry(&row.project).or_default();
        *runs += 1;
        *open += usize::from(!row.is_over);
    }
    let projects: Vec<Value> = found
        .into_iter()
        .map(|(root, (runs, open))| json!({ "root": root, "runs": runs, "open": open }))
        .collect();
    json_reply(&json!({ "projects": projects }))
}

pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Answered {
    let query = Query::of(uri.query());
    let offset = query.value("offset")?.unwrap_or(0);
    let limit = query.value("limit")?.unwrap_or(PAGE).min(PAGE_MAX);
    let rows = shared
        .blocking(move |shared| Ok(shared.board.rows(&shared.home)?))
        .await?;
    let workflows: BTreeSet<&str> = rows.iter().map(|row| row.workflow.as_str()).collect();
    let filter = Filter::of(&query)?;
    let fitting: Vec<&RunRow> = rows.iter().filter(|row| filter.fits(row)).collect();
    let shown: Vec<&&RunRow> = fitting.iter().skip(offset).take(limit).collect();
    json_reply(&json!({
        "total": fitting.len(),
        "offset": offset,
        "runs": shown,
        "workflows": workflows.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(),
        "states": filter.states(&rows),
    }))
}

/// Selects runs.
pub(super) struct Filter<'q> {
    query: &'q Query,
    /// The text to find, in lower case.
    text: Option<String>,
    /// The earliest time of the last event, in milliseconds since 1970.
    since: Option<u64>,
}

impl<'q> Filter<'q> {
    pub(super) fn of(query: &'q Query) -> Result<Self, Problem> {
        Ok(Self {
            query,
            text: query.text("text").map(str::to_lowercase),
            since: query.value("since")?,
        })
    }

    pub(super) fn fits(&self, row: &RunRow) -> bool {
        let state = self.query.text("state");
        self.fits_but_state(row)
            && state.is_none_or(|wanted| {
                row.state
                    .iter()
                    .any(|path| names_of(path).any(|name| name == wanted))
            })
    }

    fn fits_but_state(&self, row: &RunRow) -> bool {
        let is =
            |name: &str, value: &str| self.query.text(name).is_none_or(|wanted| wanted == value);
        let status = self.query.text("status").is_none_or(|wanted| match wanted {
            "open" => !row.is_over,
            wanted => wanted == row.status,
        });
        let text = self.text.as_ref().is_none_or(|wanted| {
            let name = row.name.as_deref().unwrap_or_default();
            let words = [row.id.as_str(), name, &row.workflow, &row.project];
            let mut words = words
                .into_iter()
                .chain(row.state.iter().map(String::as_str));
            words.any(|word| word.to_lowercase().contains(wanted))
        });
        let recent = self.since.is_none_or(|since| row.last_ms >= since);
        status && text && recent && is("project", &row.project) && is("workflow", &row.workflow)
    }

    /// Lists the states of the runs that match all other criteria of the filter.
    fn states<'r>(&self, rows: &'r [RunRow]) -> BTreeSet<&'r str> {
        let wanted = rows.iter().filter(|row| self.fits_but_state(row));
        let paths = wanted.flat_map(|row| &row.state);
        paths
            .flat_map(|path| names_of(path))
            .take(STATES_READ_MAX)
            .collect::<BTreeSet<&str>>()
            .into_iter()
            .take(STATES_MAX)
            .collect()
    }
}

/// Returns the names in a state's path: of the state itself and of those that contain it.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

pub(super) async fn inbox(State(shared): State<Arc<Shared>>) -> Answered {
    let mut requests = shared
        .blocking(move |shared| {
            let rows = shared.board.rows(&shared.home)?;
            let mut all = Vec::new();
            for row in rows.iter().filter(|row| row.waiting > 0) {
                // A run that cannot be read is listed as damaged, and does not hide the others.
                if let Ok(opened) = shared.open(&row.id) {
                    all.extend(requests_of(&opened, row));
                }
            }
            Ok(all)
        })
        .await?;
    // The oldest request comes first.
    requests.sort_by_key(|request| request.get("asked_ms").and_then(Value::as_u64));
    json_reply(&shared.masked(json!({ "requests": requests })))
}

fn requests_of(opened: &Opened, row: &RunRow) -> Vec<Value> {
    let Opened { log, machine, run } = opened;
    requests((machine, run), log, row, now_ms())
}

pub(super) async fn one(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let id = RunId::new(id);
            let opened = shared.open(&id)?;
            let row = shared.row(&id)?;
            let requests = requests_of(&opened, &row);
            let Opened { machine, run, .. } = &opened;
            let session = shared.home.session_of(&id)?.map(|binding| {
                let session = binding.session;
                json!({ "client": session.client, "session": session.session })
            });
            let open = !run.is_over();
            let paused = run.paused.is_some();
            let mut found = json!(row);
            if let Value::Object(fields) = &mut found {
                fields.insert("durable".to_owned(), json!(run.is_durable()));
                fields.insert("session".to_owned(), json!(session));
                let can = json!({
                    "pause": open && !paused,
                    "resume": open && paused && !protected::waits(run),
                    "cancel": can_cancel(&opened),
                });
                fields.insert("can".to_owned(), can);
                fields.insert("title".to_owned(), json!(machine.id));
                fields.insert("requests".to_owned(), json!(requests));
            }
            Ok(found)
        })
        .await?;
    json_reply(&shared.masked(found))
}

pub(super) async fn changes(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answered {
    let changes = shared
        .blocking(move |shared| {
            let opened = shared.open(&RunId::new(id))?;
            Ok(since_start(&shared.home, &opened.log)?)
        })
        .await?;
    let found = json!({ "head": changes.head, "diff": changes.diff, "notes": changes.notes });
    json_reply(&shared.masked(found))
}
