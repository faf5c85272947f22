//! Prints the state of a run for people.

use serde_json::Value;

use super::{attempts::sentence, halted::Wait};
use crate::{
    app::App,
    failure::Done,
    output::{Output, Style},
};

/// Prints a status for people.
pub(crate) fn print(app: &App, status: &Value) -> Done {
    let out = app.output;
    let text = |key: &str| status.get(key).map(plain).unwrap_or_default();
    let row = |name: &str, value: String| -> Done {
        if value.is_empty() {
            Ok(())
        } else {
            out.line(&format!("{:<12} {value}", format!("{name}:")))
        }
    };
    row("run", out.styled(Style::Bold, &text("run")))?;
    row("name", text("name"))?;
    row("workflow", text("workflow"))?;
    let titles = text("titles");
    let state = if titles.is_empty() {
        text("state")
    } else {
        titles
    };
    row("state", out.styled(Style::Bold, &state))?;
    row("status", coloured(out, &text("status")))?;
    if status.get("waits").is_some() {
        return steps(status, &row);
    }
    row("session", text("session"))?;
    row("tools", tools(status.get("tools")))?;
    row("also", conversation(status.get("conversation")))?;
    row("events", events(status.get("events")))?;
    row("limits", limits(status.get("limits")))?;
    row("shell", confinement(status.get("confinement")))?;
    for pending in entries(status, "pending") {
        let get = |key: &str| pending.get(key).map(plain).unwrap_or_default();
        let what = match pending.get("kind").and_then(Value::as_str) {
            Some("grant") => format!("grant for {} {}", get("tool"), get("summary")),
            _ => format!("approval of {}: {}", get("event"), get("message")),
        };
        let id = get("id");
        let place = if pending.get("in_prompt").is_some() {
            "asked in the client's own prompt, too, "
        } else {
            ""
        };
        let (at, run) = (get("path"), text("run"));
        let how = if pending.get("approval").is_some() {
            format!(
                "a passkey on the page of `interlock console`, or `interlock reject {run} {id}`"
            )
        } else {
            format!("`interlock approve {run} {id}`, or `reject`")
        };
        row("waiting", format!("{id} {what} ({place}at {at}; {how})"))?;
    }
    for change in entries(status, "changed") {
        let get = |key: &str| change.get(key).map(plain).unwrap_or_default();
        let what = format!("{} ({}) {}", get("path"), get("what"), get("fate"));
        row(
            "protected",
            format!("{what} (`interlock resume` accepts it)"),
        )?;
    }
    Ok(())
}

/// Prints the parts of a run of steps.
fn steps(status: &Value, row: &dyn Fn(&str, String) -> Done) -> Done {
    let get = |of: &Value, key: &str| of.get(key).map(plain).unwrap_or_default();
    let name = get(status, "name");
    let name = if name.is_empty() {
        get(status, "run")
    } else {
        name
    };
    let runner = status.get("runner").filter(|runner| !runner.is_null());
    if let Some(runner) = runner {
        let host = get(runner, "host");
        row(
            "runner",
            format!("process {} on `{host}`", get(runner, "pid")),
        )?;
    } else if get(status, "status") == "running" {
        row(
            "runner",
            format!("none: `interlock resume {name}` continues it"),
        )?;
    }
    for effect in entries(status, "effects") {
        let (path, kind) = (place(effect, "path"), get(effect, "kind"));
        let attempt = match get(effect, "attempt").as_str() {
            "" | "1" => String::new(),
            attempt => format!(", try {attempt}"),
        };
        row(
            "step",
            format!("{path} {kind}, {}{attempt}", get(effect, "stage")),
        )?;
    }
    for attempt in entries(status, "attempts") {
        row("stage", sentence(attempt))?;
    }
    if let Some(spent) = status.get("spent") {
        let spent = serde_json::from_value(spent.clone()).unwrap_or_default();
        row("models", interlock_view::narrator::cost(&spent))?;
    }
    for list in entries(status, "items") {
        let (ended, all) = (get(list, "ended"), get(list, "all"));
        row(
            "items",
            format!("{ended} of {all} at `{}`", get(list, "path")),
        )?;
    }
    for wait in entries(status, "waits") {
        row("waits", Wait::of(wait).sentence(&name))?;
    }
    for (title, key) in [("failed", "failure"), ("handled", "handled")] {
        if let Some(error) = status.get(key).filter(|error| !error.is_null()) {
            let place = match get(error, "state").as_str() {
                "" => String::new(),
                _ => format!(" at {}", place(error, "state")),
            };
            let (code, message) = (get(error, "code"), get(error, "message"));
            row(title, format!("code {code}{place}: {message}"))?;
        }
    }
    row("code", get(status, "code"))?;
    row("directory", get(status, "directory"))?;
    for change in entries(status, "files_changed") {
        let path = get(change, "path");
        let what = match get(change, "what").as_str() {
            "gone" => "is gone",
            _ => "differs from the run's copy",
        };
        row(
            "workflow",
            format!(
                "`{path}` {what}, which it keeps to (`interlock resume {name} --adopt` takes what is there now)"
            ),
        )?;
    }
    Ok(())
}

/// Names a state by its title, with its path if that differs.
fn place(of: &Value, key: &str) -> String {
    let get = |key: &str| of.get(key).map(plain).unwrap_or_default();
    match get("title").as_str() {
        "" => format!("`{}`", get(key)),
        title => format!("`{title}` (`{}`)", get(key)),
    }
}

fn entries<'v>(status: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    status
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn coloured(out: Output, status: &str) -> String {
    let style = match status {
        "completed" => Style::Green,
        "failed" | "cancelled" => Style::Red,
        "running" => Style::Bold,
        _ => Style::Yellow,
    };
    out.styled(style, status)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn tools(tools: Option<&Value>) -> String {
    match tools {
        Some(Value::Array(tools)) if tools.is_empty() => "none".to_owned(),
        Some(Value::Array(_)) => tools.map(plain).unwrap_or_default(),
        _ => "all".to_owned(),
    }
}

/// Names the first few tools that are always allowed.
fn conversation(names: Option<&Value>) -> String {
    const SHOWN: usize = 6;
    let names: Vec<String> = names
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(plain)
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).cloned().collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{}{more}, which only manage the conversation",
        shown.join(", ")
    )
}

fn events(events: Option<&Value>) -> String {
    let all = events.and_then(Value::as_array).into_iter().flatten();
    let shown = all.map(|event| {
        let get = |key: &str| event.get(key).map(plain).unwrap_or_default();
        let to = if get("target").is_empty() {
            get("targets")
        } else {
            get("target")
        };
        let ready = if event.get("ready") == Some(&Value::Bool(true)) {
            ""
        } else {
            " (not yet)"
        };
        format!("{} -> {to}{ready}", get("event"))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Describes how far shell lines are confined; a level is never shown without what it does not confine.
fn confinement(confinement: Option<&Value>) -> String {
    let level = |key: &str| {
        let of = confinement?.get(key).filter(|of| !of.is_null())?;
        let unconfined = of.get("unconfined").map(plain).unwrap_or_default();
        let but = if unconfined.is_empty() {
            String::new()
        } else {
            format!(" (not confined: {unconfined})")
        };
        Some(format!("`{}`{but}", of.get("level").map(plain)?))
    };
    let (Some(no_write), Some(writing)) = (level("no_write"), level("writing")) else {
        return String::new();
    };
    let last = level("last_line").map_or_else(String::new, |last| format!("; last line: {last}"));
    format!("confined at {no_write} without writing, {writing} when writing{last}")
}

fn limits(limits: Option<&Value>) -> String {
    let all = limits.and_then(Value::as_object).into_iter().flatten();
    let shown = all.filter_map(|(name, pair)| {
        let pair = pair.as_array()?;
        Some(format!(
            "{name} {} of {}",
            plain(pair.first()?),
            plain(pair.get(1)?)
        ))
    });
    shown.collect::<Vec<_>>().join(", ")
}
