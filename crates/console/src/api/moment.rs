//! The state of a run after any of its events: states, transitions, evidence, context, limits.

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

/// Returns the run's state after `at` events; `with=marks` adds the marks of its graph.
pub(super) async fn state(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let at: Option<u64> = query.value("at")?;
    // One request returns everything, because each request costs a check of the requesting process.
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

/// Describes a run's state, from its first open region; `before` is the run one event earlier.
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

/// An event that leads to another state.
pub(super) struct Exit {
    pub(super) event: EventName,
    pub(super) leads: Vec<StateName>,
    /// Whether its guards hold.
    pub(super) open: bool,
    /// Whether a person must approve it.
    pub(super) approval: bool,
    /// The guards that do not hold, each with its reason.
    pub(super) why: Vec<String>,
}

/// Lists the events that lead on from the region at `path`.
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

/// Returns whether a person must approve `event`, and which guards do not hold.
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
