//! Reads runs and events of a tenant.

use axum::http::StatusCode;
use interlock_core::{event::Event, names::RunId, pending::pending, visible::visible_lines};
use interlock_fleet::{
    BundleRef, EventLine, EventPage, PausedView, Pinned, RunView, SnapshotView, Started, Told,
};
use interlock_store::{
    ChainHash, RunStore as _,
    record::{self, Marks, Row},
};
use interlock_view::{
    narrator::{Severity, describe},
    report::report,
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{asked, batch::Live, problem::Problem, standing, state::ServerState};
use crate::{database::Database, error::SharedError, people, rows::Found, tenant::Tenant};

/// Maximum number of events of one page.
const EVENTS_MAX: u64 = 500;
/// Maximum number of characters of what an event says.
const DETAIL_CHARS_MAX: usize = 600;
/// Number of bytes of events after which a page ends.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The events of a page: at most so many, and none after so many bytes.
const PAGE: &str = "SELECT seq, at_ms, body, hash FROM (SELECT seq, at_ms, body, hash, \
     sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before \
     FROM interlock.events WHERE tenant = $1 AND run = $2 AND seq >= $3 AND seq < $3 + $4) AS page \
     WHERE bytes_before < $5 ORDER BY seq";

/// Returns a run with its report and what waits for a person, as JSON with marks.
pub(crate) fn view(state: &ServerState, tenant: &Tenant, run: &RunId) -> Result<Vec<u8>, Problem> {
    let log = state.open(tenant, run)?;
    let name = log.name()?;
    let database = log.database.clone();
    let epoch = database.epoch(run)?;
    let mut live = Live::load(log)?;
    let approvals = live.approvals()?;
    let bundle = bundle_of(state, &database, run)?;
    let policy = policy_of(&database)?;
    let (machine, folded, hash) = live.parts();
    let mut requests = Vec::new();
    for one in pending(machine, folded) {
        requests.push(value(&one)?);
    }
    let mut changed = Vec::new();
    for change in &folded.changed {
        changed.push(value(change)?);
    }
    let view = RunView {
        run: run.as_str().to_owned(),
        workflow: machine.id.to_string(),
        name,
        started_by: live.started_by().map(str::to_owned),
        seq: folded.seq,
        hash: hash.to_string(),
        epoch,
        report: value(&report(machine, folded, None))?,
        requests,
        approvals,
        standing: standing::view(machine, folded),
        paused: folded.paused.as_ref().map(|pause| PausedView {
            by: pause.by.clone(),
            reason: pause.reason.clone(),
        }),
        changed,
        asked: asked::asked(live.log(), machine, folded),
        evidence: asked::evidence(machine, folded),
        bundle,
        policy,
    };
    let json = serde_json::to_vec(&view).map_err(|_| Problem::internal())?;
    Ok(state.marks().encode(&json).into_owned())
}

/// Returns the bundle that a run was started from, as the reply to its start says.
fn bundle_of(
    state: &ServerState,
    database: &Database,
    run: &RunId,
) -> Result<Option<BundleRef>, Problem> {
    let rows = database.select(
        "SELECT reply FROM interlock.starts WHERE tenant = $1 AND run = $2",
        vec![database.tenant().as_str().into(), run.as_str().into()],
    )?;
    let Some(row) = rows.into_iter().next() else {
        return Ok(None);
    };
    let reply: Vec<u8> = Found::new(database, row).get(0)?;
    let reply = state.marks().decode(&reply).ok().map(Into::into);
    let started: Option<Started> =
        reply.and_then(|reply: Vec<u8>| serde_json::from_slice(&reply).ok());
    Ok(started.and_then(|started| started.bundle))
}

/// Returns the revision of the policy that holds.
fn policy_of(database: &Database) -> Result<Option<u64>, Problem> {
    let rows = database.select(people::NEWEST, vec![database.tenant().as_str().into()])?;
    let revision = |row| Found::new(database, row).number(0);
    Ok(rows.into_iter().next().map(revision).transpose()?)
}

/// Returns a run as a machine needs it to judge calls, as JSON with marks.
pub(crate) fn snapshot(
    state: &ServerState,
    tenant: &Tenant,
    run: &RunId,
) -> Result<Vec<u8>, Problem> {
    let log = state.open(tenant, run)?;
    let pin = log.checked_pin()?;
    let source = log.source()?;
    let live = Live::load(log)?;
    let (_, folded, hash) = live.parts();
    let folded_json = serde_json::to_string(folded).map_err(|_| Problem::internal())?;
    let snapshot = SnapshotView {
        seq: folded.seq,
        hash: hash.to_string(),
        pin: Pinned {
            digest: pin.digest().to_string(),
            name: pin.name,
            source_name: source.name,
            source_text: source.text,
            machine: String::from_utf8(pin.machine).map_err(|_| Problem::internal())?,
        },
        run: RawValue::from_string(folded_json).map_err(|_| Problem::internal())?,
    };
    let json = serde_json::to_vec(&snapshot).map_err(|_| Problem::internal())?;
    Ok(state.marks().encode(&json).into_owned())
}

/// Returns the events from number `from` on, with what each says if `told`; none if there are no more.
pub(crate) fn events(
    state: &ServerState,
    tenant: &Tenant,
    run: &RunId,
    (from, told): (u64, bool),
) -> Result<EventPage, Problem> {
    record::check_run_id(run)?;
    let database = state.database.for_tenant(tenant.clone());
    let found = database.of_run(
        run,
        PAGE,
        [from.into(), EVENTS_MAX.into(), BYTES_MAX.into()],
    )?;
    let row = |found: &Found<'_>| {
        Ok(Row {
            seq: found.number(0)?,
            at_ms: found.number(1)?,
            body: found.get(2)?,
            hash: found.get(3)?,
        })
    };
    let rows: Vec<Row> = found.iter().map(row).collect::<Result<_, SharedError>>()?;
    // A run without such events is another answer than no run. Counted later, so that no event seems to be missing.
    let seq = database.count(run)?;
    let marks = state.marks();
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        let damaged = || {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "damaged",
                format!(
                    "event {} of the run is damaged: `interlock shared verify` says more",
                    row.seq
                ),
            )
        };
        let text = String::from_utf8(row.body).map_err(|_| damaged())?;
        let event = RawValue::from_string(text).map_err(|_| damaged())?;
        let hash = ChainHash::from_bytes(&row.hash).ok_or_else(damaged)?;
        events.push(EventLine {
            seq: row.seq,
            at_ms: row.at_ms,
            hash: hash.to_string(),
            told: told.then(|| narrated(row.seq, &event, &marks)),
            event,
        });
    }
    let next = events.last().map_or(from, |event| event.seq + 1);
    Ok(EventPage { events, next, seq })
}

/// Puts an event into words, with marks for places. One of a newer version has none but its hash.
fn narrated(seq: u64, event: &RawValue, marks: &Marks) -> Told {
    let bytes = marks.decode(event.get().as_bytes());
    let event: Option<Event> = bytes
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(event) = event else {
        return Told {
            title: "unknown".to_owned(),
            detail: "this server cannot read the event".to_owned(),
            level: "alarming".to_owned(),
        };
    };
    let said = describe(seq, &event);
    let mut detail = visible_lines(&marks.encode_text(&said.detail));
    if let Some((cut, _)) = detail.char_indices().nth(DETAIL_CHARS_MAX) {
        detail.truncate(cut);
        detail.push('…');
    }
    let level = match said.severity {
        Severity::Routine => "routine",
        Severity::Notable => "notable",
        Severity::Alarming => "alarming",
    };
    Told {
        title: said.title.to_owned(),
        detail,
        level: level.to_owned(),
    }
}

fn value(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|_| Problem::internal())
}
