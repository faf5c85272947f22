//! The texts of a call: the arguments from the model, and the edits in them.

use interlock_core::{
    event::{CallRecord, Event},
    names::{CallId, FramePath},
};
use interlock_runner::KeptAnswer;
use interlock_store::{EventLog as _, RunLog, StoreError};
use serde_json::Value;

/// Maximum number of lines of a difference.
const DIFF_MAX: usize = 2_000;
/// Maximum number of characters of one argument.
const ARGUMENT_CHARS_MAX: usize = 20_000;

/// Finds the arguments of a stage's call in its model's newest message before event `seq`.
pub(super) fn handed_in(
    log: &RunLog,
    seq: u64,
    of: &FramePath,
    id: &CallId,
) -> Result<Option<Value>, StoreError> {
    let mut found = None;
    for recorded in log.events(0) {
        let recorded = recorded?;
        if recorded.seq >= seq {
            break;
        }
        if let Event::ModelResponded {
            path,
            digest,
            calls,
            ..
        } = recorded.event
            && path == *of
            && let Some(at) = calls.iter().position(|call| call.id == *id)
        {
            found = Some((digest, at));
        }
    }
    let Some((digest, at)) = found else {
        return Ok(None);
    };
    let Ok(bytes) = log.messages().read(&digest) else {
        return Ok(None);
    };
    let kept: Option<KeptAnswer> = serde_json::from_slice(&bytes).ok();
    Ok(kept.and_then(|kept| {
        let call = kept.answer.calls().nth(at)?;
        serde_json::from_str(&call.arguments).ok()
    }))
}

/// Returns the difference in the summary of a stage's call; empty if there is none.
pub(super) fn difference(call: &CallRecord) -> Vec<String> {
    let mut lines = call.summary.lines();
    let _file = lines.next();
    let lines: Vec<String> = lines.take(DIFF_MAX).map(str::to_owned).collect();
    let changed = |line: &String| line.starts_with('+') || line.starts_with('-');
    if lines.iter().any(changed) {
        lines
    } else {
        Vec::new()
    }
}

/// Returns the texts that the arguments of an edit remove and insert, as lines of a difference.
pub(super) fn changes(input: &Value) -> Vec<String> {
    let text = |value: &Value, names: [&str; 2]| {
        let found = names.iter().find_map(|name| value.get(name));
        found.and_then(Value::as_str).map(str::to_owned)
    };
    let edits = input.get("edits").and_then(Value::as_array);
    let edits: Vec<&Value> = edits.map_or_else(|| vec![input], |edits| edits.iter().collect());
    let mut lines = Vec::new();
    for edit in edits {
        let old = text(edit, ["old_string", "oldString"]);
        let new = text(edit, ["new_string", "newString"]);
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            _ => match text(edit, ["content", "text"]) {
                Some(content) if edit.get("file_path").is_some() => (String::new(), content),
                _ => continue,
            },
        };
        if !lines.is_empty() {
            lines.push("@@".to_owned());
        }
        lines.extend(old.lines().map(|line| format!("-{line}")));
        lines.extend(new.lines().map(|line| format!("+{line}")));
    }
    lines.truncate(DIFF_MAX);
    lines
}

/// Truncates an argument that is too long to be sent.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(ARGUMENT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
