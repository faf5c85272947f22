//! Compares two runs side by side, one window of rows at a time.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, http::Uri};
use interlock_core::names::RunId;
use interlock_simulate::compare::Row;
use interlock_store::{EventLog as _, RunLog};
use serde_json::{Value, json};

use super::log::line;
use crate::{
    alignments::Side,
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::{Shared, fits_a_log},
};

/// Maximum number of rows in one window.
const WINDOW_MAX: usize = 500;
const WINDOW: usize = 200;
/// Maximum number of differences whose rows are listed.
const LISTED_MAX: usize = 5_000;

/// Returns a window of the rows; the first one includes the places of the differences.
///
/// `left_events` and `right_events` limit the events of each run, so that windows stay consistent while the runs go on.
pub(super) async fn compare(State(shared): State<Arc<Shared>>, uri: Uri) -> Answered {
    let query = Query::of(uri.query());
    let from: Option<u64> = query.value("from")?;
    fits_a_log(from.unwrap_or(0))?;
    let limit = query.value("limit")?.unwrap_or(WINDOW).clamp(1, WINDOW_MAX);
    let found = shared
        .in_turn(
            |shared| &shared.judging,
            move |shared| {
                let left = Compared::of(shared, &query, "left")?;
                let right = Compared::of(shared, &query, "right")?;
                let aligned = shared
                    .alignments
                    .of((&left.side, &left.log), (&right.side, &right.log))?;
                let rows: Vec<Row> = aligned.rows_from(from.unwrap_or(0)).take(limit).collect();
                let lefts = left.lines(rows.iter().filter_map(|row| row.left))?;
                let rights = right.lines(rows.iter().filter_map(|row| row.right))?;
                let window: Vec<Value> = rows
                    .iter()
                    .map(|row| {
                        let of = |lines: &BTreeMap<u64, Value>, seq: Option<u64>| {
                            seq.and_then(|seq| lines.get(&seq).cloned())
                        };
                        json!({
                            "same": row.same,
                            "at": row.reached,
                            "left": of(&lefts, row.left),
                            "right": of(&rights, row.right),
                        })
                    })
                    .collect();
                let mut found = json!({
                    "rows": aligned.rows(),
                    "from": from.unwrap_or(0),
                    "window": window,
                });
                if let (None, Value::Object(fields)) = (from, &mut found) {
                    let places: Vec<u64> = aligned
                        .differences()
                        .map(|(row, _)| row)
                        .take(LISTED_MAX)
                        .collect();
                    let same = left.log.machine()?.hash == right.log.machine()?.hash;
                    fields.insert("differing".to_owned(), json!(aligned.differences().count()));
                    fields.insert("differences".to_owned(), json!(places));
                    fields.insert("same_workflow".to_owned(), json!(same));
                    fields.insert("left".to_owned(), left.row);
                    fields.insert("right".to_owned(), right.row);
                }
                shared.mask(&mut found);
                Ok(found)
            },
        )
        .await?;
    json_reply(&found)
}

/// One of the two runs.
struct Compared {
    side: Side,
    log: RunLog,
    /// Its row in the list of runs, with the number of events that are compared.
    row: Value,
}

impl Compared {
    fn of(shared: &Shared, query: &Query, name: &str) -> Result<Self, Problem> {
        let id = query
            .text(name)
            .ok_or_else(|| Problem::input(format!("`{name}` has to name a run")))?;
        let id = RunId::new(id);
        let log = shared.home.open_run(&id)?;
        let count = log.count()?;
        let wanted: Option<u64> = query.value(&format!("{name}_events"))?;
        let events = wanted.unwrap_or(count).min(count);
        let row = shared.row(&id)?;
        let side = Side {
            run: id,
            events,
            project: row.project.clone(),
        };
        let mut row = json!(row);
        if let Value::Object(fields) = &mut row {
            fields.insert("events".to_owned(), json!(events));
        }
        Ok(Self { side, log, row })
    }

    /// Describes the events with these ascending, close sequence numbers.
    fn lines(&self, seqs: impl Iterator<Item = u64>) -> Result<BTreeMap<u64, Value>, Problem> {
        let (mut first, mut last) = (None, 0);
        for seq in seqs {
            first.get_or_insert(seq);
            last = seq;
        }
        let Some(first) = first else {
            return Ok(BTreeMap::new());
        };
        let mut lines = BTreeMap::new();
        for recorded in self.log.events(first) {
            let recorded = recorded?;
            if recorded.seq > last {
                break;
            }
            lines.insert(recorded.seq, line(&recorded));
        }
        Ok(lines)
    }
}
