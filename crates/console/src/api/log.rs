//! The log of a run: windows of it, single events, the timeline, and verification.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Recorded, VerifyError};
use interlock_view::narrator::{Severity, describe};
use serde_json::{Value, json};

use super::{blobs, call::why};
use crate::{
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::{Shared, fits_a_log},
    signed::signed_answers,
};

/// Maximum number of lines in one window of the log.
const WINDOW_MAX: usize = 1_000;
const WINDOW: usize = 200;
/// Maximum number of marks on a timeline; of more, an even selection is shown.
const MARKS_MAX: usize = 2_000;
/// Minimum length of a gap on a timeline, and the maximum number of gaps; the longest are shown.
const GAP_MS: u64 = 60_000;
const GAPS_MAX: usize = 200;
/// Maximum number of characters of a detail.
const DETAIL_CHARS_MAX: usize = 600;

/// Describes an event in one line.
pub(super) fn line(recorded: &Recorded) -> Value {
    let told = describe(recorded.seq, &recorded.event);
    let mut detail = told.detail;
    if let Some((cut, _)) = detail.char_indices().nth(DETAIL_CHARS_MAX) {
        detail.truncate(cut);
        detail.push('…');
    }
    json!({
        "seq": recorded.seq,
        "at_ms": recorded.at_ms,
        "title": told.title,
        "detail": detail,
        "level": word(told.severity),
    })
}

const fn word(level: Severity) -> &'static str {
    match level {
        Severity::Routine => "routine",
        Severity::Notable => "notable",
        Severity::Alarming => "alarming",
    }
}

/// Selects events of a log.
struct Filter {
    kinds: Option<Vec<String>>,
    level: Severity,
    text: Option<String>,
}

impl Filter {
    fn of(query: &Query) -> Result<Self, Problem> {
        let kinds = query.text("kind");
        Ok(Self {
            kinds: kinds.map(|kinds| kinds.split(',').map(str::to_owned).collect()),
            level: match query.text("level") {
                None | Some("routine") => Severity::Routine,
                Some("notable") => Severity::Notable,
                Some("alarming") => Severity::Alarming,
                Some(other) => {
                    return Err(Problem::input(format!("`level` cannot be `{other}`")));
                }
            },
            text: query.text("text").map(str::to_lowercase),
        })
    }

    /// Returns whether it excludes anything.
    fn is_narrow(&self) -> bool {
        self.kinds.is_some() || self.level > Severity::Routine || self.text.is_some()
    }

    fn wants(&self, recorded: &Recorded) -> bool {
        let told = describe(recorded.seq, &recorded.event);
        let kind = self.kinds.as_ref();
        kind.is_none_or(|kinds| kinds.iter().any(|kind| kind == told.title))
            && told.severity >= self.level
            && self.text.as_ref().is_none_or(|text| {
                let is_in = |words: &str| words.to_lowercase().contains(text);
                is_in(told.title) || is_in(&told.detail)
            })
    }
}

pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let from: u64 = query.value("from")?.unwrap_or(0);
    fits_a_log(from)?;
    let limit = query.value("limit")?.unwrap_or(WINDOW).clamp(1, WINDOW_MAX);
    let filter = Filter::of(&query)?;
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let total = log.count()?;
            let (mut lines, mut next) = (Vec::new(), None);
            // The total number of matches is counted once, with the first window.
            let counts = filter.is_narrow() && from == 0;
            let mut matches = 0_u64;
            for recorded in log.events(from) {
                let recorded = recorded?;
                if !filter.wants(&recorded) {
                    continue;
                }
                matches += 1;
                if lines.len() < limit {
                    lines.push(line(&recorded));
                    continue;
                }
                next.get_or_insert(recorded.seq);
                if !counts {
                    break;
                }
            }
            let matches = match (filter.is_narrow(), counts) {
                (false, _) => Some(total),
                (true, true) => Some(matches),
                (true, false) => None,
            };
            Ok(json!({ "events": lines, "next": next, "total": total, "matches": matches }))
        })
        .await?;
    json_reply(&shared.masked(found))
}

pub(super) async fn event(
    State(shared): State<Arc<Shared>>,
    Path((id, seq)): Path<(String, u64)>,
) -> Answered {
    fits_a_log(seq)?;
    let found = shared
        .blocking(move |shared| {
            let opened = shared.open(&RunId::new(id))?;
            let Some(recorded) = opened.log.events(seq).next().transpose()? else {
                return Err(Problem::unknown(format!("the log has no event {seq}")));
            };
            let moment = shared.histories.at(&opened.log, seq)?;
            let machine = opened.log.machine_of(&moment.run)?;
            let why = why(&machine, &moment.run, &recorded.event);
            let event = serde_json::to_value(&recorded.event)
                .map_err(|error| Problem::input(error.to_string()))?;
            let mut found = line(&recorded);
            if let Value::Object(fields) = &mut found {
                fields.insert("event".to_owned(), event);
                fields.insert("hash".to_owned(), json!(recorded.hash.to_string()));
                fields.insert("why".to_owned(), json!(why));
                let kept = blobs::named(&opened.log, &recorded.event);
                fields.insert("kept".to_owned(), json!(kept));
            }
            Ok(found)
        })
        .await?;
    json_reply(&shared.masked(found))
}

pub(super) async fn timeline(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let (mut events, mut from_ms, mut to_ms) = (0_u64, None, 0);
            let (mut marks, mut gaps) = (Vec::new(), Gaps::default());
            for recorded in log.events(0) {
                let recorded = recorded?;
                events = recorded.seq + 1;
                gaps.see(recorded.seq, recorded.at_ms);
                from_ms.get_or_insert(recorded.at_ms);
                to_ms = recorded.at_ms;
                if describe(recorded.seq, &recorded.event).severity > Severity::Routine {
                    marks.push(line(&recorded));
                }
            }
            let every = marks.len().div_ceil(MARKS_MAX).max(1);
            let marks: Vec<Value> = marks.into_iter().step_by(every).collect();
            Ok(json!({
                "events": events,
                "from_ms": from_ms.unwrap_or(0),
                "to_ms": to_ms,
                "marks": marks,
                "gaps": gaps.longest(),
            }))
        })
        .await?;
    json_reply(&shared.masked(found))
}

/// Finds periods without an event.
#[derive(Debug, Default)]
struct Gaps {
    last_ms: Option<u64>,
    /// Each period's length, with the event that ended it.
    found: Vec<(u64, u64)>,
}

impl Gaps {
    fn see(&mut self, seq: u64, at_ms: u64) {
        let last = self.last_ms.replace(at_ms).unwrap_or(at_ms);
        let idle = at_ms.saturating_sub(last);
        if idle >= GAP_MS {
            self.found.push((seq, idle));
        }
    }

    /// Lists the longest ones in the order of the log.
    fn longest(mut self) -> Vec<Value> {
        self.found
            .sort_by_key(|(seq, ms)| (std::cmp::Reverse(*ms), *seq));
        self.found.truncate(GAPS_MAX);
        self.found.sort_unstable();
        let found = self.found.into_iter();
        found
            .map(|(seq, ms)| json!({ "seq": seq, "ms": ms }))
            .collect()
    }
}

pub(super) async fn verify(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answered {
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let events = log.count()?;
            match log.verify() {
                Ok(events) => match signed_answers(&log)? {
                    Ok(signed) => {
                        Ok(json!({ "ok": true, "events": events, "signed": signed.len() }))
                    }
                    Err(found) => Ok(json!({
                        "ok": false,
                        "events": events,
                        "seq": found.seq,
                        "what": found.to_string(),
                    })),
                },
                Err(VerifyError::Broken(found)) => Ok(json!({
                    "ok": false,
                    "events": events,
                    "seq": found.seq,
                    "what": found.to_string(),
                })),
                Err(VerifyError::Store(error)) => Err(error.into()),
            }
        })
        .await?;
    json_reply(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_times_without_an_event_are_told_in_order() {
        let mut gaps = Gaps::default();
        let mut now = 1_000_000;
        for (seq, idle) in [0, 59_999, 60_000, 5, 7_200_000].into_iter().enumerate() {
            now += idle;
            gaps.see(u64::try_from(seq).unwrap_or_default(), now);
        }
        // A clock that was set back leaves no gap.
        gaps.see(5, now - 500_000);
        assert_eq!(
            gaps.longest(),
            [
                json!({ "seq": 2, "ms": 60_000 }),
                json!({ "seq": 4, "ms": 7_200_000 })
            ]
        );
        let mut many = Gaps::default();
        for seq in 0..2 * GAPS_MAX as u64 {
            many.see(seq, seq * (GAP_MS + seq));
        }
        let kept = many.longest();
        assert_eq!(kept.len(), GAPS_MAX);
        assert!(
            kept.iter()
                .all(|gap| gap.get("seq").and_then(Value::as_u64) >= Some(GAPS_MAX as u64))
        );
    }
}
