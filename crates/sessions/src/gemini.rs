//! Chats of Gemini CLI: records that replace each other, one per line, or one object with all messages.

use serde_json::Value;

use crate::{
    json::{items, length, text, word},
    own,
    session::Ended,
    time,
    transcript::Transcript,
};

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    if let Some(set) = record.get("$set") {
        messages(into, set);
        return;
    }
    if record.get("projectHash").is_some() {
        into.session = text(record, "sessionId").unwrap_or_default();
        let directory = items(record, "directories").first().and_then(Value::as_str);
        Transcript::learn(&mut into.directory, directory.unwrap_or_default());
        if word(record, "kind") == "subagent" {
            into.agent = Some(into.session.clone());
        }
        messages(into, record);
        return;
    }
    match word(record, "type") {
        "gemini" => message(into, record),
        "user" | "info" | "error" | "warning" => {}
        _ if record.get("$rewindTo").is_some() => {}
        "" => into.miss("(no type)"),
        other => into.miss(other),
    }
}

fn messages(into: &mut Transcript, whole: &Value) {
    for one in items(whole, "messages") {
        match word(one, "type") {
            "gemini" => message(into, one),
            "user" | "info" | "error" | "warning" => {}
            other => into.miss(&format!("message {other}")),
        }
    }
}

fn message(into: &mut Transcript, message: &Value) {
    let at_ms = time::of_value(message.get("timestamp"));
    for told in items(message, "toolCalls") {
        let id = word(told, "id");
        let input = told.get("args").cloned().unwrap_or(Value::Null);
        let directory = into.directory.clone();
        if let Some(call) = into.begin(id, word(told, "name"), input) {
            call.at_ms = at_ms;
            call.directory = directory;
        }
        let response = told.pointer("/result/0/functionResponse/response");
        let output = response.map(|response| word(response, "output").to_owned());
        let error = response
            .map_or("", |response| word(response, "error"))
            .to_owned();
        let shell = word(told, "name") == "run_shell_command";
        if let Some(call) = into.call(id) {
            let output = output.unwrap_or_default();
            call.bytes = length(&output);
            call.exit = shell.then(|| exit_in(&output)).flatten();
            call.ended = match word(told, "status") {
                "success" if call.exit.is_some_and(|code| code != 0) => Ended::Failed,
                "success" => Ended::Well,
                "error" if own::is_refusal(&error) => Ended::NotRun,
                "error" => Ended::Failed,
                "cancelled" => Ended::NotRun,
                _ => Ended::Unknown,
            };
        }
    }
}

/// Finds the exit code, which the client writes only if it is not 0.
///
/// Without one, the line may have succeeded, or may have been left running.
fn exit_in(output: &str) -> Option<i64> {
    // The program's own output comes before; the last such line is the client's.
    let code = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Exit Code: "))?;
    code.trim().parse().ok()
}
