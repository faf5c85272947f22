//! Streams changes as server-sent events: of one run with its new log lines, or of all runs.
//!
//! The id of an event is `RUN:SEQ`: a reader that reconnects with it continues exactly where it was.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use interlock_core::names::RunId;
use interlock_store::EventLog as _;
use serde_json::{Value, json};
use tokio::{sync::OwnedSemaphorePermit, time::sleep};

use super::log::line;
use crate::{
    board::RunRow,
    gate::bearer,
    query::Query,
    reply::{Answered, Problem, make_visible},
    shared::{Shared, fits_a_log},
};

/// Interval between reads of the store.
const EVERY: Duration = Duration::from_millis(300);
/// Number of reads without news after which a comment is sent, so that a disconnected reader is noticed.
const QUIET_MAX: u32 = 50;
/// Maximum number of log lines in one event.
const LINES_MAX: usize = 500;

/// A reader of the stream.
struct Reader {
    shared: Arc<Shared>,
    bearer: String,
    follows: Follows,
    /// Number of events of each run when it was last sent.
    sent: BTreeMap<RunId, u64>,
    waiting: Option<usize>,
    _permit: OwnedSemaphorePermit,
}

enum Follows {
    All,
    /// One run, starting with this event.
    One(RunId, u64),
}

pub(super) async fn follow(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let follows = match query.text("run") {
        Some(run) => Follows::One(RunId::new(run), after(&query, run)?),
        None => Follows::All,
    };
    let permit = Arc::clone(&shared.streams)
        .try_acquire_owned()
        .map_err(|_| {
            let status = StatusCode::TOO_MANY_REQUESTS;
            Problem::new(
                status,
                "streams",
                "too many pages follow this console: close some",
            )
        })?;
    let mut reader = Reader {
        bearer: bearer(&headers).unwrap_or_default().to_owned(),
        follows,
        sent: BTreeMap::new(),
        waiting: None,
        _permit: permit,
        shared,
    };
    // Errors in the request are reported before the stream begins.
    let first = reader.news().await?;
    let frames = stream::unfold((reader, Some(first)), |(mut reader, first)| async move {
        let frame = match first {
            Some(first) => first,
            None => reader.next().await?,
        };
        Some((Ok::<_, Infallible>(Bytes::from(frame)), (reader, None)))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Parses the position where a reader of `run` left off.
fn after(query: &Query, run: &str) -> Result<u64, Problem> {
    let Some(after) = query.text("after") else {
        return Ok(u64::MAX);
    };
    let read = after.rsplit_once(':').filter(|(of, _)| *of == run);
    read.and_then(|(_, seq)| seq.parse().ok())
        .filter(|seq| fits_a_log(*seq).is_ok())
        .ok_or_else(|| Problem::input(format!("`after` is `{run}:SEQ`, not `{after}`")))
}

impl Reader {
    /// Waits for news; returns `None` if the stream has ended.
    async fn next(&mut self) -> Option<String> {
        for _ in 0..QUIET_MAX {
            sleep(EVERY).await;
            if !self.shared.pairings.is_good(&self.bearer, false) {
                return None;
            }
            let news = self.news().await.ok()?;
            if !news.is_empty() {
                return Some(news);
            }
        }
        Some(": still here\n\n".to_owned())
    }

    /// Returns the changes since the last call, as frames.
    async fn news(&mut self) -> Result<String, Problem> {
        let rows = self
            .shared
            .blocking(move |shared| Ok(shared.board.rows(&shared.home)?))
            .await?;
        let mut text = String::new();
        if let Follows::One(id, from) = &self.follows {
            let row = rows.iter().find(|row| row.id == *id);
            let row = row.ok_or_else(|| Problem::unknown(format!("there is no run `{id}`")))?;
            let (id, from) = (id.clone(), *from);
            let waiting = rows.iter().map(|row: &RunRow| row.waiting).sum();
            self.tell_inbox(&mut text, waiting);
            if self.sent.get(&id) == Some(&row.events) && from >= row.events {
                return Ok(text);
            }
            let (lines, next) = self.lines(id.clone(), from).await?;
            if !lines.is_empty() {
                let mark = format!("{id}:{next}");
                let lines = self.shared.masked(json!(lines));
                push(&mut text, "events", Some(&mark), lines);
            }
            self.sent.insert(id.clone(), row.events);
            push(&mut text, "run", None, json!(row));
            self.follows = Follows::One(id, next);
            return Ok(text);
        }
        let begins = self.waiting.is_none();
        for row in rows.iter().filter(|_| !begins) {
            if self.sent.get(&row.id) != Some(&row.events) {
                push(&mut text, "run", None, json!(row));
            }
        }
        self.sent = rows
            .iter()
            .map(|row| (row.id.clone(), row.events))
            .collect();
        let waiting = rows.iter().map(|row: &RunRow| row.waiting).sum();
        self.tell_inbox(&mut text, waiting);
        Ok(text)
    }

    /// Adds an event with the number of pending requests in all runs, if it has changed.
    fn tell_inbox(&mut self, text: &mut String, waiting: usize) {
        if self.waiting != Some(waiting) {
            self.waiting = Some(waiting);
            push(text, "inbox", None, json!({ "count": waiting }));
        }
    }

    /// Reads log lines starting with event `from`, and returns the number of the event after them.
    async fn lines(&self, id: RunId, from: u64) -> Result<(Vec<Value>, u64), Problem> {
        self.shared
            .blocking(move |shared| {
                let log = shared.home.open_run(&id)?;
                let from = from.min(log.count()?);
                let read = log.events(from).take(LINES_MAX);
                let lines: Vec<Value> = read
                    .map(|recorded| recorded.map(|recorded| line(&recorded)))
                    .collect::<Result<_, _>>()?;
                let next = from.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX));
                Ok((lines, next))
            })
            .await
    }
}

/// Writes an event of the stream. Its data is one line, because compact JSON contains no line breaks.
fn push(text: &mut String, name: &str, id: Option<&str>, mut data: Value) {
    make_visible(&mut data);
    text.push_str(&format!("event: {name}\n"));
    if let Some(id) = id {
        text.push_str(&format!("id: {id}\n"));
    }
    text.push_str(&format!("data: {data}\n\n"));
}
