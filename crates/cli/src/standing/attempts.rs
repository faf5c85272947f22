//! The progress of running attempts of stages, for `status` and `list`.

use interlock_core::{
    attempt::Usage,
    event::Event,
    machine::Machine,
    place::{shown_path, stage_of, title},
    run::{Frame, Run},
};
use interlock_store::{EventLog as _, RunLog};
use serde_json::{Value, json};

use interlock_view::narrator::cost;

use crate::failure::Failure;

/// Describes each running attempt: its number, its turns, its usage, and the model.
pub(crate) fn attempts(log: &RunLog, machine: &Machine, run: &Run) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    for path in run.open_leaves() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        let (Some(stage), Some(progress)) = (stage_of(machine, frame), frame.stay.stage_attempt())
        else {
            continue;
        };
        found.push(json!({
            "path": shown_path(machine, run, &path),
            "title": title(machine, run, &path),
            "attempt": frame.stay.effect().map_or(1, |effect| effect.attempt),
            "turns": progress.turns,
            "turn_cap": stage.turns_max,
            "usage": progress.usage,
            "model": model(log, frame, &path)?,
        }));
    }
    Ok(found)
}

/// Finds the model that the attempt in `frame` has called last.
fn model(
    log: &RunLog,
    frame: &Frame,
    path: &interlock_core::names::FramePath,
) -> Result<Option<String>, Failure> {
    let mut last = None;
    for recorded in log.events(frame.stay.entered_seq) {
        if let Event::ModelCalled {
            path: of,
            provider,
            model,
            ..
        } = recorded?.event
            && of == *path
        {
            last = Some(format!("{provider}/{model}"));
        }
    }
    Ok(last)
}

/// Describes the progress of an attempt in one line.
pub(crate) fn sentence(attempt: &Value) -> String {
    let number = |key: &str| attempt.get(key).and_then(Value::as_u64).unwrap_or_default();
    let text = |key: &str| attempt.get(key).and_then(Value::as_str).unwrap_or_default();
    let usage: Usage = attempt
        .get("usage")
        .and_then(|usage| serde_json::from_value(usage.clone()).ok())
        .unwrap_or_default();
    let again = match number("attempt") {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let model = match text("model") {
        "" => String::new(),
        model => format!(", {model}"),
    };
    format!(
        "`{}`{again}: {} of {} messages, {}{model}",
        text("title"),
        number("turns"),
        number("turn_cap"),
        cost(&usage)
    )
}
