//! Trajectories in the Agent Trajectory Interchange Format: one object with steps.

use serde_json::Value;

use crate::{
    json::{items, length, text, text_at, text_of, word},
    session::Ended,
    time,
    transcript::Transcript,
};

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    into.session = text(record, "session_id")
        .or_else(|| text(record, "trajectory_id"))
        .unwrap_or_default();
    into.version = text_at(record, "/agent/version");
    into.client = text_at(record, "/agent/name").and_then(|name| client(&name));
    for step in items(record, "steps") {
        let at_ms = time::of_value(step.get("timestamp"));
        for told in items(step, "tool_calls") {
            let input = told.get("arguments").cloned().unwrap_or(Value::Null);
            let begun = into.begin(
                word(told, "tool_call_id"),
                word(told, "function_name"),
                input,
            );
            if let Some(call) = begun {
                call.at_ms = at_ms;
            }
        }
        let results = step
            .get("observation")
            .map_or(&[][..], |observation| items(observation, "results"));
        for result in results {
            let Some(id) = text(result, "source_call_id") else {
                continue;
            };
            let said = result.get("content").map(text_of).unwrap_or_default();
            match into.call(&id) {
                // The format contains neither success nor exit code.
                Some(call) => call.bytes = length(&said),
                None => into.miss("result of a call that is not there"),
            }
        }
    }
    for call in &mut into.calls {
        call.ended = Ended::Unknown;
    }
}

/// Finds the client for an agent's name.
fn client(name: &str) -> Option<String> {
    let plain = name.to_ascii_lowercase().replace([' ', '_'], "-");
    let known = [
        ("claude-code", "claude-code"),
        ("codex", "codex"),
        ("gemini-cli", "gemini"),
        ("gemini", "gemini"),
        ("copilot-cli", "copilot"),
        ("copilot", "copilot"),
        ("opencode", "opencode"),
        ("cursor-cli", "cursor"),
        ("cursor", "cursor"),
    ];
    known
        .iter()
        .find(|(word, _)| *word == plain)
        .map(|(_, client)| (*client).to_owned())
}
