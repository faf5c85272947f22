//! Events of sessions of Copilot CLI, one JSON object per line.

use serde_json::Value;

use crate::{
    json::{length, text, text_at, word},
    own,
    session::Ended,
    time,
    transcript::Transcript,
};

/// Prefixes of events without calls.
const ASIDE: [&str; 13] = [
    "abort",
    "assistant.",
    "capabilities.",
    "command.",
    "external_tool.",
    "hook.",
    "permission.",
    "session.",
    "skill.",
    "subagent.",
    "system.",
    "tool.execution_p",
    "user",
];

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let data = record.get("data").unwrap_or(&Value::Null);
    match word(record, "type") {
        "session.start" | "session.resume" => {
            let id = text(data, "sessionId").filter(|_| into.session.is_empty());
            into.session = id.unwrap_or_else(|| into.session.clone());
            Transcript::learn(&mut into.version, word(data, "copilotVersion"));
            let directory = text_at(data, "/context/cwd");
            Transcript::learn(
                &mut into.directory,
                directory.as_deref().unwrap_or_default(),
            );
        }
        "tool.execution_start" => {
            let input = data.get("arguments").cloned().unwrap_or(Value::Null);
            let directory = into.directory.clone();
            let at_ms = time::of_value(record.get("timestamp"));
            if let Some(call) = into.begin(word(data, "toolCallId"), word(data, "toolName"), input)
            {
                call.at_ms = at_ms;
                call.directory = directory;
                call.agent = text(record, "agentId");
            }
        }
        "tool.execution_complete" => {
            let Some(call) = into.call(word(data, "toolCallId")) else {
                into.miss("result of a call that is not there");
                return;
            };
            let said = text_at(data, "/result/content").unwrap_or_default();
            call.bytes = length(&said);
            let code = data.pointer("/shellExecution/exitCode");
            call.exit = code.and_then(Value::as_i64);
            let success = data.get("success").and_then(Value::as_bool);
            let why = text_at(data, "/error/code").unwrap_or_default();
            let error = text_at(data, "/error/message").unwrap_or_default();
            call.ended = match success {
                Some(true) if call.exit.is_some_and(|code| code != 0) => Ended::Failed,
                Some(true) => Ended::Well,
                Some(false) if matches!(&*why, "denied" | "rejected") => Ended::NotRun,
                Some(false) if own::is_refusal(&error) => Ended::NotRun,
                Some(false) => Ended::Failed,
                None => Ended::Unknown,
            };
        }
        kind if ASIDE.iter().any(|start| kind.starts_with(start)) => {}
        "" => into.miss("(no type)"),
        other => into.miss(other),
    }
}
