//! Where a run stood after any of its events: states, transitions, evidence, context, limits.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_clients::review::headline;
use interlock_core::{
    holds::{Scope, unmet},
    machine::{Machine, Transition},
    names::{EventName, FramePath, RunId, StateName},
    pending::pending,
    place::machine_of,
    run::Run,
};
use interlock_graph::Graph;
use interlock_store::EventLog as _;
use interlock_view::report::{Targets, report, standing};
use serde_json::{Value, json};

use super::branches::{branches, first};
use crate::{
    protected,
    query::Query,
    reply::{Answered, json_reply},
    shared::Shared,
};

/// Answers with how a run stood after `at` events; `with=marks`: and with the marks of its graph.
pub(super) async fn state(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let at: Option<u64> = query.value("at")?;
    // One request for all that a moment shows: each one costs a look at the processes that ask.
    let is_marked = query.text("with") == Some("marks");
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let events = log.count()?;
            let at = at.unwrap_or(events).min(events);
            let before = shared.histories.at(&log, at.saturating_sub(1))?;
            let moment = shared.histories.at(&log, at)?;
            let machine = log.machine_of(&moment.run)?;
            let mut found = describe(&machine, &moment.run, &before.run);
            if let Value::Object(fields) = &mut found {
                let context = report(&machine, &before.run, None).context;
                fields.insert("before".to_owned(), json!(context));
                fields.insert("at".to_owned(), json!(at));
                fields.insert("events".to_owned(), json!(events));
                fields.insert("at_ms".to_owned(), json!(moment.at_ms));
                if is_marked {
                    let graph = Graph::at(&machine, Some(&moment.run), &moment.trace);
                    fields.insert("marks".to_owned(), graph.marks());
                }
            }
            Ok(found)
        })
        .await?;
    json_reply(&shared.masked(found))
}

/// Says where a run stands, seen from the first line of execution that is open; `before`: one event earlier.
fn describe(machine: &Machine, run: &Run, before: &Run) -> Value {
    let seen = report(machine, run, None);
    let mut waiting: Vec<Value> = pending(machine, run)
        .iter()
        .map(|one| json!({ "title": headline(machine, run, one), "kind": "approval" }))
        .collect();
    waiting.extend(standing(machine, run).iter().map(|one| {
        let title = one.title.as_ref().unwrap_or(&one.path);
        json!({ "title": title, "kind": one.kind })
    }));
    if protected::waits(run) {
        waiting.push(json!({ "title": "protected files were changed", "kind": "protected" }));
    }
    let mut found = first(machine, run);
    for (name, value) in [
        ("status", json!(seen.status)),
        ("state", json!(seen.state.0)),
        ("waiting", json!(waiting)),
        ("branches", branches(machine, run, before)),
        ("answers", json!(answers(run))),
    ] {
        found.insert(name.to_owned(), value);
    }
    Value::Object(found)
}

/// Lists how the last requests to a person were settled, the newest first.
fn answers(run: &Run) -> Vec<Value> {
    let settled = run.settled.iter().rev();
    settled
        .map(|one| {
            json!({
                "id": one.id,
                "about": one.about,
                "how": one.how,
                "by": one.by,
                "at_ms": one.at_ms,
                "note": one.note,
            })
        })
        .collect()
}

/// One event that leads on from where a line stands.
pub(super) struct Exit {
    pub(super) event: EventName,
    pub(super) leads: Vec<StateName>,
    /// Whether its guards hold.
    pub(super) open: bool,
    /// Whether a person has to agree.
    pub(super) approval: bool,
    /// Which guards do not hold.
    pub(super) why: Vec<String>,
}

/// Lists what leads on from where the line at `path` stands.
pub(super) fn exits(machine: &Machine, run: &Run, path: &FramePath) -> Vec<Exit> {
    let seen = report(machine, run, Some(path)).events;
    seen.into_iter()
        .map(|event| {
            let leads = match event.targets {
                Targets::Plain(state) => vec![state],
                Targets::OneOf(states) => states,
            };
            let (approval, why) = obstacles(machine, run, path, &event.event);
            Exit {
                event: event.event,
                leads,
                open: event.ready,
                approval,
                why,
            }
        })
        .collect()
}

/// Says whether a person must approve `event`, and which guards do not hold.
fn obstacles(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    event: &EventName,
) -> (bool, Vec<String>) {
    let found = run
        .frame(path)
        .and_then(|frame| Some((frame, machine_of(machine, run, path)?)));
    let Some((frame, own)) = found else {
        return (false, Vec::new());
    };
    let state = own.states.get(&frame.at);
    let rule = state.and_then(|state| state.on.get(event));
    let transitions: &[Transition] = rule.map_or(&[], |rule| &rule.transitions);
    let scope = Scope {
        machine: own,
        run,
        frame,
    };
    let mut why = Vec::new();
    for transition in transitions {
        let unmet = unmet(scope, &transition.guards);
        if unmet.is_empty() {
            return (transition.approval.is_some(), Vec::new());
        }
        why.extend(
            unmet
                .into_iter()
                .map(|one| format!("{}: {}", one.guard, one.reason)),
        );
    }
    let approval = transitions.iter().any(|one| one.approval.is_some());
    (approval, why)
}
