//! Sessions of opencode as `opencode export` writes them: one object.

use serde_json::Value;

use crate::{
    json::{items, length, text, word},
    own,
    session::Ended,
    time,
    transcript::Transcript,
};

/// Parts of messages that are not calls.
const NO_CALLS: [&str; 11] = [
    "agent",
    "compaction",
    "file",
    "patch",
    "reasoning",
    "retry",
    "snapshot",
    "step-finish",
    "step-start",
    "subtask",
    "text",
];

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let info = record.get("info").unwrap_or(&Value::Null);
    into.session = text(info, "id").unwrap_or_default();
    into.version = text(info, "version");
    into.directory = text(info, "directory");
    into.parent = text(info, "parentID");
    if into.parent.is_some() {
        into.agent = Some(into.session.clone());
    }
    for message in items(record, "messages") {
        for part in items(message, "parts") {
            match word(part, "type") {
                "tool" => call(into, part),
                kind if NO_CALLS.contains(&kind) => {}
                other => into.miss(&format!("part {other}")),
            }
        }
    }
}

fn call(into: &mut Transcript, part: &Value) {
    let state = part.get("state").unwrap_or(&Value::Null);
    let input = state.get("input").cloned().unwrap_or(Value::Null);
    let directory = into.directory.clone();
    let Some(call) = into.begin(word(part, "callID"), word(part, "tool"), input) else {
        return;
    };
    call.directory = directory;
    call.at_ms = time::of_value(state.pointer("/time/start"));
    call.bytes = length(word(state, "output"));
    call.exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
    let error = word(state, "error");
    call.ended = match word(state, "status") {
        "completed" if call.exit.is_some_and(|code| code != 0) => Ended::Failed,
        "completed" => Ended::Well,
        // A refusal by its own rules or a person ends with these words.
        "error" if error.contains("rejected permission") || error.contains("prevents you") => {
            Ended::NotRun
        }
        "error" if own::is_refusal(error) => Ended::NotRun,
        "error" => Ended::Failed,
        _ => Ended::Unknown,
    };
}
