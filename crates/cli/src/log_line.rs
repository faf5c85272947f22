//! Formats a recorded event in one line: as JSON, and as a sentence.

use std::time::{Duration, UNIX_EPOCH};

use interlock_core::event::{About, Event};
use interlock_store::Recorded;
use interlock_view::narrator::{Description, Severity, describe};
use serde_json::{Value, json};

use crate::{app::App, failure::Failure, live, output::Style};

/// Formats a recorded event as one flat object.
pub(crate) fn line(recorded: &Recorded) -> Result<Value, Failure> {
    let mut line =
        json!({ "seq": recorded.seq, "at": time(recorded.at_ms), "event": recorded.event.name() });
    let fields = fields(&recorded.event)?;
    let path = fields.get("path").map(path_text).unwrap_or_default();
    live::put(&mut line, "path", json!(path));
    let is_of_call = matches!(
        recorded.event.name(),
        "GrantIssued" | "GrantDenied" | "GrantConsumed"
    );
    for (key, value) in fields.into_iter().filter(|(key, _)| key != "path") {
        match (key.as_str(), value) {
            // Fields of a command are added next to the rest, with their kind as a prefix.
            ("about", Value::Object(about)) => {
                for (kind, asked) in about {
                    live::put(&mut line, "about", json!(kind));
                    if let Value::Object(asked) = asked {
                        for (key, value) in asked {
                            live::put(&mut line, shown_key(&key, &recorded.event), value);
                        }
                    }
                }
            }
            ("question", value) if is_of_call => {
                live::put(&mut line, "digest", value.clone());
                live::put(&mut line, "question", value);
            }
            (key, value) => live::put(&mut line, shown_key(key, &recorded.event), value),
        }
    }
    if is_verdict(&recorded.event) {
        put_verdict(&mut line);
    }
    live::put(&mut line, "prev", json!(recorded.prev.to_string()));
    live::put(&mut line, "hash", json!(recorded.hash.to_string()));
    Ok(line)
}

/// Returns the fields of an event, as the log keeps them.
fn fields(event: &Event) -> Result<serde_json::Map<String, Value>, Failure> {
    match serde_json::to_value(event)? {
        Value::Object(tagged) => match tagged.into_iter().next() {
            Some((_, Value::Object(fields))) => Ok(fields),
            _ => Ok(serde_json::Map::new()),
        },
        _ => Ok(serde_json::Map::new()),
    }
}

/// Returns the path of an event's frame, with `/` between its names.
fn event_path(event: &Event) -> Result<String, Failure> {
    let fields = fields(event)?;
    Ok(fields.get("path").map(path_text).unwrap_or_default())
}

/// Returns the key under which a field is printed.
fn shown_key<'a>(key: &'a str, event: &Event) -> &'a str {
    match (key, event) {
        // The field `event` is the name from the workflow.
        ("event", _) => "name",
        ("how", Event::TransitionTaken { .. }) => "kind",
        (key, _) => key,
    }
}

/// Returns whether an event decides whether a proposed call of a stage may run.
const fn is_verdict(event: &Event) -> bool {
    matches!(
        event,
        Event::ToolAllowed { .. }
            | Event::ToolDenied { .. }
            | Event::RequestOpened {
                about: About::Call(_),
                ..
            }
    )
}

/// Adds the proposal and the code of a refusal at the top level, for easy filtering.
fn put_verdict(line: &mut Value) {
    let of = |key: &str| line.pointer(key).cloned();
    let proposal = of("/call/id").and_then(|id| {
        let (_, proposal) = id.as_str()?.split_once(".t")?;
        Some(json!(format!("t{proposal}")))
    });
    let beside = [
        ("tool", of("/call/tool")),
        ("proposal", proposal),
        ("digest", of("/call/digest")),
        ("code", of("/refusal/code")),
    ];
    for (key, value) in beside {
        if let Some(value) = value {
            live::put(line, key, value);
        }
    }
}

fn path_text(path: &Value) -> String {
    let names = path
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    names.collect::<Vec<_>>().join("/")
}

/// Formats a recorded event for people, with its exact time.
pub(crate) fn sentence(app: &App, recorded: &Recorded) -> Result<String, Failure> {
    let told = told(app, recorded)?;
    let at = time(recorded.at_ms);
    Ok(format!("{:>4} {at} {told}", recorded.seq))
}

/// Formats a recorded event without its number and time.
pub(crate) fn told(app: &App, recorded: &Recorded) -> Result<String, Failure> {
    let Description {
        title,
        detail,
        severity,
    } = describe(recorded.seq, &recorded.event);
    let style = match severity {
        Severity::Alarming => Style::Red,
        Severity::Notable => Style::Bold,
        Severity::Routine => Style::Dim,
    };
    let name = app.output.styled(style, title);
    let path = event_path(&recorded.event)?;
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" [{path}]")
    };
    Ok(format!("{name}{place} {detail}").trim_end().to_owned())
}

/// Last millisecond that RFC 3339 can represent.
const LAST_MS: u64 = 253_402_300_799_999;

/// Formats a time as RFC 3339 in UTC, with milliseconds.
pub(crate) fn time(at_ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms.min(LAST_MS));
    humantime::format_rfc3339_millis(at).to_string()
}
