//! The cost of model calls, in one run and in all.
//!
//! If Interlock itself called no model, nothing is recorded; the answer then says so instead of reporting 0.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_core::{attempt::Usage, names::RunId};
use interlock_store::EventLog as _;
use serde_json::{Value, json};

use super::runs::Filter;
use crate::{
    board::RunRow,
    query::Query,
    reply::{Answered, json_reply},
    shared::Shared,
    spent::{Costs, sum},
};

/// Number of runs on one page.
const PAGE: usize = 100;
const PAGE_MAX: usize = 500;

/// Lists the costs of the runs on a page, with their sum.
pub(super) async fn list(State(shared): State<Arc<Shared>>, uri: Uri) -> Answered {
    let query = Query::of(uri.query());
    let offset: usize = query.value("offset")?.unwrap_or(0);
    let limit = query.value("limit")?.unwrap_or(PAGE).min(PAGE_MAX);
    let found = shared
        .blocking(move |shared| {
            let rows = shared.board.rows(&shared.home)?;
            let filter = Filter::of(&query)?;
            let fitting: Vec<&RunRow> = rows.iter().filter(|row| filter.fits(row)).collect();
            let mut total = Usage::default();
            let mut recorded = 0;
            let mut runs = Vec::new();
            for row in fitting.iter().skip(offset).take(limit) {
                // A run that cannot be read is listed without its costs, and does not hide the others.
                let spent = shared.home.open_run(&row.id).ok();
                let spent = spent.and_then(|log| shared.costs.of(&log, &shared.histories).ok());
                let usage = spent.as_deref().and_then(|spent| sum(spent));
                if let Some(usage) = usage {
                    recorded += 1;
                    total = total.plus(usage);
                }
                let mut models: Vec<&str> = spent
                    .iter()
                    .flat_map(|spent| spent.iter())
                    .map(|spent| spent.model.as_str())
                    .collect();
                models.sort_unstable();
                models.dedup();
                let turns: u64 = spent
                    .iter()
                    .flat_map(|spent| spent.iter())
                    .map(|spent| u64::from(spent.turns))
                    .sum();
                let mut one = json!(row);
                if let Value::Object(fields) = &mut one {
                    fields.insert("usage".to_owned(), json!(usage));
                    fields.insert("turns".to_owned(), json!(turns));
                    fields.insert("models".to_owned(), json!(models));
                }
                runs.push(one);
            }
            Ok(json!({
                "total": fitting.len(),
                "offset": offset,
                "runs": runs,
                "recorded": recorded,
                "sum": (recorded > 0).then_some(total),
            }))
        })
        .await?;
    json_reply(&found)
}

/// Returns the costs of one run, by state, attempt and model.
pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let at: Option<u64> = Query::of(uri.query()).value("at")?;
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let spent = match at {
                Some(at) if at < log.count()? => {
                    Arc::new(Costs::until(&log, &shared.histories, at)?)
                }
                _ => shared.costs.of(&log, &shared.histories)?,
            };
            Ok(json!({ "usage": sum(&spent), "rows": *spent }))
        })
        .await?;
    json_reply(&found)
}
