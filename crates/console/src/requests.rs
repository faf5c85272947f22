//! The requests that wait for a person, with everything that a yes would mean.

use interlock_clients::review::{Row, headline, rows};
use interlock_core::{
    event::PendingTransition,
    machine::{Machine, Object},
    pending::{About, Pending, pending},
    run::Run,
};
use interlock_store::RunLog;
use interlock_view::report::{StandsFor, standing};
use serde_json::{Value, json};

use crate::{board::RunRow, protected};

/// Maximum number of characters of the requester's name.
const NAME_CHARS_MAX: usize = 60;

/// Describes all pending requests of a run for the inbox.
pub(crate) fn requests(
    (machine, run): (&Machine, &Run),
    log: &RunLog,
    row: &RunRow,
    now_ms: u64,
) -> Vec<Value> {
    let mut all: Vec<Value> = pending(machine, run)
        .iter()
        .map(|one| request(machine, run, log, one, now_ms))
        .collect();
    all.extend(standing(machine, run).iter().map(|one| {
        let kind = match one.kind {
            StandsFor::Question => "question",
            StandsFor::Pause => "pause",
            StandsFor::Lost | StandsFor::LostCall => "effect",
        };
        let title = one.title.as_ref().unwrap_or(&one.path);
        json!({
            "id": one.id,
            "kind": kind,
            "path": one.path,
            "title": title,
            "headline": one.message,
            "by": "interlock",
            "asked_ms": one.since_ms,
            "digest": "",
            "seen_seq": run.seq,
            "in_prompt": false,
            "rows": [{ "name": "answer", "text": "at a terminal:", "warns": false }],
            "commands": commands(one.kind, row.name.as_deref().unwrap_or(run.id.as_str())),
        })
    }));
    // The pause is the last event of the run.
    let name = word(row.name.as_deref().unwrap_or(run.id.as_str()));
    all.extend(protected::requests(run, &name, row.last_ms));
    for request in &mut all {
        if let Value::Object(fields) = request {
            fields.insert("run".to_owned(), json!(row.id));
            fields.insert("run_name".to_owned(), json!(row.name));
            fields.insert("workflow".to_owned(), json!(row.workflow));
            fields.insert("project".to_owned(), json!(row.project));
        }
    }
    all
}

/// Lists the commands by which a person settles what a durable run waits for, each with its effect.
fn commands(kind: StandsFor, run: &str) -> Vec<Value> {
    let run = word(run);
    let one = |rest: &str, says: &str| json!({ "line": format!("interlock resume {run}{rest}"), "says": says });
    match kind {
        StandsFor::Question => vec![
            one("", "asks you there"),
            one(" --answer TEXT", "answers with this text"),
        ],
        StandsFor::Pause => vec![one("", "goes on")],
        StandsFor::Lost => vec![
            one("", "runs it again"),
            one(" --fail-with CODE", "it counts as failed, with this code"),
            one(" --done OUTPUT", "it counts as done, with this output"),
        ],
        StandsFor::LostCall => vec![
            one(" --again", "runs it again"),
            one(" --failed", "it counts as failed"),
            one(" --done OUTPUT", "it counts as done, with this output"),
        ],
    }
}

/// Quotes a name as one word of a shell line.
fn word(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    if name.chars().all(plain) && !name.starts_with('-') && !name.is_empty() {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

/// Returns the data of a pending transition, which a yes may correct; `None` for other requests.
fn data(one: &Pending) -> Option<&Object> {
    match one.about() {
        About::Transition(PendingTransition { data, .. }) => Some(data),
        About::Entry { .. } | About::Call(_) => None,
    }
}

fn request(machine: &Machine, run: &Run, log: &RunLog, one: &Pending, now_ms: u64) -> Value {
    let kind = match one.about() {
        About::Transition(_) | About::Entry { .. } => "approval",
        About::Call(_) => "grant",
    };
    let rows: Vec<Value> = rows(machine, run, Some(log), one, now_ms)
        .into_iter()
        .map(|Row { name, text, warns }| json!({ "name": name, "text": text, "warns": warns }))
        .collect();
    json!({
        "id": one.id(),
        "kind": kind,
        "path": one.shown,
        "title": one.title,
        "headline": headline(machine, run, one),
        "by": asker(one),
        "asked_ms": one.request.at_ms,
        "digest": one.digest(),
        "seen_seq": run.seq,
        "in_prompt": one.is_in_prompt(),
        "passkey": one.takes_passkey(),
        "data": data(one),
        "rows": rows,
    })
}

/// Returns the name of the requester; the name of a sub-agent is never shown as a person's.
fn asker(one: &Pending) -> String {
    let name: String = one.by().chars().take(NAME_CHARS_MAX).collect();
    match one.about() {
        About::Call(grant) if grant.call.agent.is_some() => format!("sub-agent `{name}`"),
        _ => name,
    }
}
