//! Lists the runs of a tenant with where each stands, and what waits for a person in it.
//!
//! A server that appends events records with them what a list says of the run. Where something else has appended, a
//! trigger has removed it: the next list reads the run, and records it.

use interlock_core::{machine::Machine, names::RunId, pending::pending, run::Run};
use interlock_fleet::{RunLine, RunPage};
use interlock_store::record;
use interlock_view::report::{standing, state_paths, status};
use serde::{Deserialize, Serialize};

use super::{batch::Live, problem::Problem, state::ServerState};
use crate::{
    append::integer,
    database::{Database, End, Value},
    error::SharedError,
    rows::Found,
    tenant::Tenant,
};

/// Maximum number of runs of one page.
const RUNS_MAX: u64 = 100;
/// The status of a run whose log cannot be read.
const DAMAGED: &str = "damaged";

/// The runs before `$2`; with `$4`, those in which something waits, or may wait.
const LIST: &str = "SELECT run.run, run.workflow, run.name, start.subject, run.seq, run.created_ms, \
     run.last_ms, run.standing, run.waiting FROM interlock.runs AS run \
     LEFT JOIN interlock.starts AS start ON start.tenant = run.tenant AND start.run = run.run \
     WHERE run.tenant = $1 AND run.run COLLATE \"C\" < $2 COLLATE \"C\" \
     AND ($4 = 0 OR run.waiting IS NULL OR run.waiting > 0) \
     ORDER BY run.run COLLATE \"C\" DESC LIMIT $3";

/// What a list says of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    status: String,
    state: Vec<String>,
    /// The number of requests that wait for a person, with the changes of protected things as one.
    #[serde(skip)]
    waiting: u64,
}

impl Listed {
    pub(crate) fn of(machine: &Machine, run: &Run) -> Self {
        let waiting = pending(machine, run).len()
            + standing(machine, run).len()
            + usize::from(!run.changed.is_empty());
        Self {
            status: status(machine, run).as_str().to_owned(),
            state: state_paths(machine, run).0,
            waiting: u64::try_from(waiting).unwrap_or(u64::MAX),
        }
    }

    /// Returns it as it is stored.
    pub(crate) fn stored(&self) -> Option<(String, i64)> {
        let text = serde_json::to_string(self).ok()?;
        Some((text, integer(self.waiting)))
    }

    /// Parses what is stored; `None` if nothing is.
    fn parse(stored: Option<&str>, waiting: Option<i64>) -> Option<Self> {
        let found: Self = serde_json::from_str(stored?).ok()?;
        let waiting = u64::try_from(waiting?).ok()?;
        Some(Self { waiting, ..found })
    }
}

/// Returns the runs of a tenant, the newest first; with `waiting`, only those in which something waits for a person.
pub(crate) fn list(
    state: &ServerState,
    tenant: &Tenant,
    before: Option<&RunId>,
    waiting: bool,
) -> Result<RunPage, Problem> {
    if let Some(before) = before {
        record::check_run_id(before)?;
    }
    let database = state.database.for_tenant(tenant.clone());
    // Any text sorts before this one.
    let before = before.map_or("~", RunId::as_str);
    let values = vec![
        tenant.as_str().into(),
        before.into(),
        RUNS_MAX.into(),
        u64::from(waiting).into(),
    ];
    let mut runs = Vec::new();
    for row in database.select(LIST, values)? {
        let found = Found::new(&database, row);
        let (run, seq): (String, u64) = (found.get(0)?, found.number(4)?);
        let stored: Option<String> = found.get(7)?;
        let listed = match Listed::parse(stored.as_deref(), found.get(8)?) {
            Some(listed) => listed,
            None => looked_up(state, &database, &RunId::new(&run)),
        };
        runs.push(RunLine {
            run,
            workflow: found.get(1)?,
            name: found.get(2)?,
            started_by: found.get(3)?,
            seq,
            created_ms: found.number(5)?,
            last_ms: found.number(6)?,
            status: listed.status,
            state: listed.state,
            waiting: listed.waiting,
        });
    }
    let is_full = u64::try_from(runs.len()).is_ok_and(|count| count == RUNS_MAX);
    let next = runs.last().filter(|_| is_full).map(|run| run.run.clone());
    runs.retain(|run| !waiting || run.waiting > 0);
    Ok(RunPage { runs, next })
}

/// Reads a run, and records what a list says of it unless events were appended meanwhile.
fn looked_up(state: &ServerState, database: &Database, run: &RunId) -> Listed {
    let live = state.open(database.tenant(), run).and_then(Live::load);
    let Ok(live) = live else {
        return Listed {
            status: DAMAGED.to_owned(),
            ..Listed::default()
        };
    };
    let (machine, folded, _) = live.parts();
    let listed = Listed::of(machine, folded);
    if let Some((standing, waiting)) = listed.stored() {
        // A database that cannot be written can still be read.
        let _ = keep(database, (run, folded.seq), (standing, waiting));
    }
    listed
}

fn keep(
    database: &Database,
    (run, seq): (&RunId, u64),
    (standing, waiting): (String, i64),
) -> Result<(), SharedError> {
    let tenant = database.tenant().clone();
    let run = run.clone();
    database.write(move |leased| async move {
        let values = [
            tenant.as_str().into(),
            run.as_str().into(),
            seq.into(),
            standing.as_str().into(),
            Value::Integer(waiting),
        ];
        let statement = "UPDATE interlock.runs SET standing = $4, waiting = $5, listed_seq = $3 \
             WHERE tenant = $1 AND run = $2 AND seq = $3 AND waiting IS NULL";
        leased.query(statement, &values).await?;
        Ok(End::Commit(()))
    })
}
