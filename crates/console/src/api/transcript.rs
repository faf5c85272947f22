//! Transcripts of a run's models, page by page: their input, their messages, and the results of their calls.
//!
//! A transcript is assembled from events and the texts stored beside the log by digest: it contains nothing that the
//! log does not refer to.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_core::{
    event::{About, Event},
    machine::BEGIN,
    names::{Digest, RunId},
    place::stage_of,
    stage_task, stage_text, text_digest,
};
use interlock_runner::{KeptAnswer, KeptResult};
use interlock_store::{EventLog as _, RunLog};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
    spoken::{Attempt, Entry},
};

/// Number of entries on one page.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;
/// Maximum number of attempts that are listed.
const ATTEMPTS_MAX: usize = 1_000;
/// Maximum number of characters of one text.
const TEXT_CHARS_MAX: usize = 40_000;

pub(super) async fn transcript(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Answered {
    let query = Query::of(uri.query());
    let offset: usize = query.value("offset")?.unwrap_or(0);
    let limit = query.value("limit")?.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let at: u64 = query.value("at")?.unwrap_or(u64::MAX);
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let spoken = shared.spoken.of(&log)?;
            // For a past moment, later entries are left out.
            let total = spoken.entries.partition_point(|entry| entry.seq < at);
            let attempts: Vec<Value> = spoken
                .attempts
                .iter()
                .take_while(|attempt| attempt.seq < at)
                .take(ATTEMPTS_MAX)
                .map(|attempt| {
                    Ok(json!({
                        "state": state_of(shared, &log, attempt)?,
                        "path": attempt.path.to_string(),
                        "attempt": attempt.number,
                        "seq": attempt.seq,
                        "offset": attempt.at,
                    }))
                })
                .collect::<Result<_, Problem>>()?;
            let mut entries = Vec::new();
            for entry in spoken.entries.iter().take(total).skip(offset).take(limit) {
                let Some(attempt) = spoken.attempts.get(entry.attempt) else {
                    continue;
                };
                let mut told = told(shared, &log, entry)?;
                if let Value::Object(fields) = &mut told {
                    fields.insert("seq".to_owned(), json!(entry.seq));
                    fields.insert("state".to_owned(), json!(state_of(shared, &log, attempt)?));
                    fields.insert("attempt".to_owned(), json!(attempt.number));
                }
                entries.push(told);
            }
            Ok(json!({
                "total": total,
                "offset": offset,
                "entries": entries,
                "attempts": attempts,
            }))
        })
        .await?;
    json_reply(&found)
}

/// Returns the name of an attempt's state.
fn state_of(shared: &Shared, log: &RunLog, attempt: &Attempt) -> Result<String, Problem> {
    if let Some(stage) = &attempt.stage {
        return Ok(stage.clone());
    }
    let run = shared.histories.at(log, attempt.seq)?.run;
    let frame = run.frame(&attempt.path);
    Ok(frame.map_or_else(String::new, |frame| frame.at.to_string()))
}

/// Describes one entry, with its texts stored beside the log.
fn told(shared: &Shared, log: &RunLog, entry: &Entry) -> Result<Value, Problem> {
    let Some(recorded) = log.events(entry.seq).next().transpose()? else {
        return Ok(json!({ "role": "gone" }));
    };
    let at_ms = recorded.at_ms;
    let text = |text: &str| cut(&shared.secrets.masked(text));
    let mut told = match recorded.event {
        Event::StageEntered { tools, missing, .. } => {
            json!({ "role": "attempt", "tools": tools, "missing": missing })
        }
        Event::EffectStarted { kind, input, .. } => {
            json!({ "role": "step", "kind": kind.to_string(), "text": text(&shown(&input)) })
        }
        Event::StageStarted { path, body } => {
            let (system, person) = beginning(shared, log, entry.seq, &path, &body)?;
            json!({
                "role": "told",
                "system": system.as_deref().map(text),
                "person": person.as_deref().map(text),
            })
        }
        Event::ModelResponded {
            turn,
            digest,
            finish,
            calls,
            usage,
            ms,
            ..
        } => {
            let kept: Option<KeptAnswer> = read(log, &digest);
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(at, call)| {
                    let said = kept.as_ref().and_then(|kept| kept.answer.calls().nth(at));
                    let arguments = said.map(|call| text(&call.arguments));
                    json!({ "call": call.id, "tool": call.tool, "arguments": arguments })
                })
                .collect();
            json!({
                "role": "model", "turn": turn, "calls": calls, "finish": finish, "usage": usage, "ms": ms,
                "text": kept.as_ref().map(|kept| text(&kept.answer.text())),
                "model": model(log, entry)?,
            })
        }
        Event::ModelFailed {
            turn,
            code,
            message,
            again_ms,
            ..
        } => json!({
            "role": "failure", "turn": turn, "code": code, "text": text(&message), "again_ms": again_ms,
            "model": model(log, entry)?,
        }),
        Event::HistoryCondensed {
            summary,
            model,
            usage,
            ..
        } => json!({
            "role": "condensed", "text": summary.as_deref().map(text), "model": model, "usage": usage,
        }),
        Event::ToolAllowed { call, source, .. } => json!({
            "role": "verdict", "verdict": "allowed", "call": call.id, "tool": call.tool,
            "summary": text(&call.summary), "source": source,
        }),
        Event::ToolDenied {
            call,
            source,
            refusal,
            ..
        } => json!({
            "role": "verdict", "verdict": "denied", "call": call.id, "tool": call.tool,
            "summary": text(&call.summary), "source": source, "code": refusal.code.as_str(),
            "text": text(&refusal.message),
        }),
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => json!({
            "role": "verdict", "verdict": "asked", "call": grant.call.id, "tool": grant.call.tool,
            "summary": text(&grant.call.summary), "code": grant.refusal.code.as_str(),
        }),
        Event::ToolEnded {
            call,
            ok,
            code,
            exit,
            bytes,
            ms,
            told,
            text: said,
            ..
        } => {
            let kept = said.or_else(|| read::<KeptResult>(log, &told).map(|kept| kept.text));
            json!({
                "role": "result", "call": call, "ok": ok, "code": code, "exit": exit, "bytes": bytes, "ms": ms,
                "text": kept.as_deref().map(text),
            })
        }
        Event::CompletionRejected { call, findings, .. } => json!({
            "role": "completion", "ok": false, "call": call, "text": text(&findings.join("\n")),
        }),
        Event::CompletionAccepted { call, .. } => {
            json!({ "role": "completion", "ok": true, "call": call })
        }
        Event::TurnEnded { n, reminder, .. } => {
            json!({ "role": "reminder", "turn": n, "text": text(&reminder) })
        }
        Event::StageExited {
            outcome,
            turns,
            usage,
            error,
            again,
            ..
        } => json!({
            "role": "end", "outcome": outcome, "turns": turns, "usage": usage, "again": again,
            "text": error.map(|error| text(&error.message)),
        }),
        Event::ActivityEnded { output, error, .. } => json!({
            "role": "end", "outcome": if error.is_some() { "failed" } else { "ok" },
            "text": error.map_or_else(|| text(&shown(&output)), |error| text(&error.message)),
        }),
        Event::AttemptFailed { error, .. } => json!({
            "role": "end", "outcome": "failed", "again": true, "text": text(&error.message),
        }),
        _ => json!({ "role": "gone" }),
    };
    if let Value::Object(fields) = &mut told {
        fields.insert("at_ms".to_owned(), json!(at_ms));
    }
    Ok(told)
}

/// Rebuilds the texts that a stage began with; the body is left out if its digest differs from the recorded one.
fn beginning(
    shared: &Shared,
    log: &RunLog,
    seq: u64,
    path: &interlock_core::names::FramePath,
    digest: &Digest,
) -> Result<(Option<String>, Option<String>), Problem> {
    let run = shared.histories.at(log, seq + 1)?.run;
    let machine = log.machine_of(&run)?;
    let Some(stage) = run.frame(path).and_then(|frame| stage_of(&machine, frame)) else {
        return Ok((None, None));
    };
    let body = stage_text(&machine, &run, path, &stage.body);
    let body = body
        .and_then(Result::ok)
        .filter(|body| text_digest(body) == *digest);
    let task = match stage_task(&machine, &run, path) {
        Some(task) => task.ok(),
        None => Some(BEGIN.to_owned()),
    };
    Ok((body, task))
}

/// Returns the name of the model that gave an entry's answer.
fn model(log: &RunLog, entry: &Entry) -> Result<Option<String>, Problem> {
    let Some(called) = entry.called else {
        return Ok(None);
    };
    let recorded = log.events(called).next().transpose()?;
    Ok(match recorded.map(|recorded| recorded.event) {
        Some(Event::ModelCalled {
            provider, model, ..
        }) => Some(format!("{provider}/{model}")),
        _ => None,
    })
}

/// Reads a text stored beside the log; returns `None` if it is missing or was changed.
fn read<T: DeserializeOwned>(log: &RunLog, digest: &Digest) -> Option<T> {
    let bytes = log.messages().read(digest).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
