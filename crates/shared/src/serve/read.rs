//! Reads runs and events of a tenant.

use axum::http::StatusCode;
use interlock_core::{names::RunId, pending::pending};
use interlock_fleet::{EventLine, EventPage, Pinned, RunLine, RunPage, RunView, SnapshotView};
use interlock_store::{
    ChainHash, RunStore as _,
    record::{self, Row},
};
use interlock_view::report::report;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{batch::Live, problem::Problem, state::ServerState};
use crate::{error::SharedError, rows::Found, tenant::Tenant};

/// Maximum number of runs of one page.
const RUNS_MAX: u64 = 100;
/// Maximum number of events of one page.
const EVENTS_MAX: u64 = 500;
/// Number of bytes of events after which a page ends.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The events of a page: at most so many, and none after so many bytes.
const PAGE: &str = "SELECT seq, at_ms, body, hash FROM (SELECT seq, at_ms, body, hash, \
     sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before \
     FROM interlock.events WHERE tenant = $1 AND run = $2 AND seq >= $3 AND seq < $3 + $4) AS page \
     WHERE bytes_before < $5 ORDER BY seq";

/// Returns the runs of a tenant, the newest first.
pub(crate) fn list(
    state: &ServerState,
    tenant: &Tenant,
    before: Option<&RunId>,
) -> Result<RunPage, Problem> {
    if let Some(before) = before {
        record::check_run_id(before)?;
    }
    let database = state.database.for_tenant(tenant.clone());
    // Any text sorts before this one.
    let before = before.map_or("~", RunId::as_str);
    let rows = database.select(
        "SELECT run.run, run.workflow, run.name, start.subject, run.seq, run.created_ms, run.last_ms \
         FROM interlock.runs AS run LEFT JOIN interlock.starts AS start \
         ON start.tenant = run.tenant AND start.run = run.run \
         WHERE run.tenant = $1 AND run.run COLLATE \"C\" < $2 COLLATE \"C\" \
         ORDER BY run.run COLLATE \"C\" DESC LIMIT $3",
        vec![tenant.as_str().into(), before.into(), RUNS_MAX.into()],
    )?;
    let line = |row| {
        let found = Found::new(&database, row);
        Ok(RunLine {
            run: found.get(0)?,
            workflow: found.get(1)?,
            name: found.get(2)?,
            started_by: found.get(3)?,
            seq: found.number(4)?,
            created_ms: found.number(5)?,
            last_ms: found.number(6)?,
        })
    };
    let runs: Vec<RunLine> = rows
        .into_iter()
        .map(line)
        .collect::<Result<_, SharedError>>()?;
    let is_full = u64::try_from(runs.len()).is_ok_and(|count| count == RUNS_MAX);
    let next = runs.last().filter(|_| is_full).map(|run| run.run.clone());
    Ok(RunPage { runs, next })
}

/// Returns a run with its report and what waits for a person, as JSON with marks.
pub(crate) fn view(state: &ServerState, tenant: &Tenant, run: &RunId) -> Result<Vec<u8>, Problem> {
    let log = state.open(tenant, run)?;
    let name = log.name()?;
    let database = log.database.clone();
    let epoch = database.epoch(run)?;
    let mut live = Live::load(log)?;
    let approvals = live.approvals()?;
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
        changed,
    };
    let json = serde_json::to_vec(&view).map_err(|_| Problem::internal())?;
    Ok(state.marks().encode(&json).into_owned())
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

/// Returns the events from number `from` on; none if there are no more.
pub(crate) fn events(
    state: &ServerState,
    tenant: &Tenant,
    run: &RunId,
    from: u64,
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
            event,
        });
    }
    let next = events.last().map_or(from, |event| event.seq + 1);
    Ok(EventPage { events, next, seq })
}

fn value(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|_| Problem::internal())
}
