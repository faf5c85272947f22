//! Shows what a person's trust depends on: paired pages, changes of protected things, the confinement by the kernel,
//! and whether the local clients are guarded.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
};
use interlock_clients::doctor::Report;
use interlock_sandbox::{Level, Unconfined, probe};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{body, log::line};
use crate::{
    gate::bearer,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
};

/// Maximum number of runs whose logs are searched for alarms, the newest first.
const RUNS_MAX: usize = 200;
/// Maximum number of alarms that are listed, the newest first.
const EVENTS_MAX: usize = 500;

/// An empty body.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Lists the paired pages.
pub(super) async fn pairings(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Answered {
    let own = bearer(&headers).unwrap_or_default();
    let all: Vec<Value> = shared
        .pairings
        .inside(own)
        .into_iter()
        .map(|page| {
            json!({
                "id": page.id,
                "number": page.number,
                "since_ms": ms(page.since),
                "used_ms": ms(page.used),
                "own": page.own,
            })
        })
        .collect();
    json_reply(&json!({ "pairings": all }))
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Revokes a page's access.
pub(super) async fn end_pairing(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    sent: Body,
) -> Answered {
    body::<Nothing>(sent).await?;
    match shared.pairings.end(&id) {
        true => json_reply(&json!({ "message": "that page is not in any more" })),
        false => Err(Problem::unknown("no page with this id is in")),
    }
}

/// Lists the events about protected things, the newest first.
pub(super) async fn changes(State(shared): State<Arc<Shared>>) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let rows = shared.board.rows(&shared.home)?;
            let mut all = Vec::new();
            let mut unread = 0;
            for row in rows
                .iter()
                .filter(|row| row.damaged.is_none())
                .take(RUNS_MAX)
            {
                let Ok(found) = shared.alarms.of(&shared.home, &row.id, row.events) else {
                    unread += 1;
                    continue;
                };
                all.extend(found.iter().map(|recorded| {
                    let mut alarm = line(recorded);
                    if let Value::Object(fields) = &mut alarm {
                        fields.insert("run".to_owned(), json!(row.id));
                        fields.insert("run_name".to_owned(), json!(row.name));
                        fields.insert("workflow".to_owned(), json!(row.workflow));
                        // A run that is paused because of a change waits for a person.
                        fields.insert("waits".to_owned(), json!(row.status == "paused"));
                    }
                    alarm
                }));
            }
            let at = |alarm: &Value| alarm.get("at_ms").and_then(Value::as_u64);
            all.sort_by_key(|alarm| std::cmp::Reverse(at(alarm)));
            let total = all.len();
            all.truncate(EVENTS_MAX);
            Ok(json!({
                "total": total,
                "events": all,
                "runs": rows.len().min(RUNS_MAX),
                "all_runs": rows.len(),
                "unread": unread,
            }))
        })
        .await?;
    json_reply(&shared.masked(found))
}

/// Returns how far the kernel confines shell lines on this machine, determined by trying.
pub(super) async fn machine(State(shared): State<Arc<Shared>>) -> Answered {
    // The kernel stays the same while the console runs.
    let look = |shared: &Shared| Ok(shared.reached.get_or_init(probe).clone());
    let reached = shared.blocking(look).await?;
    let one = |what: &str, level: Level, unconfined: &[Unconfined]| {
        let names: Vec<&str> = unconfined.iter().map(|thing| thing.as_str()).collect();
        json!({ "what": what, "level": level.as_str(), "unconfined": names })
    };
    let levels: Vec<&str> = Level::ALL.iter().map(|level| level.as_str()).collect();
    json_reply(&json!({
        "levels": levels,
        "lines": [
            one("lines that may not write", reached.no_write, &reached.no_write_unconfined),
            one("lines that may write", reached.writing, &reached.writing_unconfined),
        ],
    }))
}

/// Examines the local clients, as `interlock doctor` does; it starts them, their hooks and their servers.
pub(super) async fn doctor(State(shared): State<Arc<Shared>>, sent: Body) -> Answered {
    body::<Nothing>(sent).await?;
    let Report { clients, checks } = shared
        .in_turn(|shared| &shared.examining, |shared| Ok((shared.doctor)()))
        .await?;
    json_reply(&json!({
        "project": shared.workplace.project,
        "clients": clients,
        "checks": checks,
    }))
}
