//! Transcripts of Claude Code: one JSON object per line, with sub-agents in separate files.

use interlock_clients::{ClientId, recorded_exit};
use serde_json::Value;

use crate::{
    json::{items, length, text, text_of, word},
    own,
    session::Ended,
    time,
    transcript::Transcript,
};

/// Records without calls.
const ASIDE: [&str; 31] = [
    "agent-name",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attachment",
    "away-summary",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "frame-link",
    "journal",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "speculation-accept",
    "summary",
    "system",
    "tag",
    "task-summary",
    "tools-used",
    "agent-color",
    "agent-setting",
    "worktree-state",
];
/// Prefixes of results of calls that did nothing.
const NOT_RUN: [&str; 4] = [
    "The user doesn't want to proceed with this tool use",
    "PreToolUse:",
    "<tool_use_error>",
    "Permission to use ",
];

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let kind = word(record, "type");
    if !matches!(kind, "user" | "assistant") {
        if !ASIDE.contains(&kind) {
            into.miss(if kind.is_empty() { "(no type)" } else { kind });
        }
        return;
    }
    if let Some(session) = record.get("sessionId").and_then(Value::as_str)
        && into.session != session
    {
        session.clone_into(&mut into.session);
    }
    let sidechain = record.get("isSidechain") == Some(&Value::Bool(true));
    Transcript::learn(&mut into.version, word(record, "version"));
    Transcript::learn(&mut into.directory, word(record, "cwd"));
    let content = record
        .get("message")
        .map_or(&[][..], |message| items(message, "content"));
    for block in content {
        match word(block, "type") {
            "tool_use" => {
                let input = block.get("input").cloned().unwrap_or(Value::Null);
                if let Some(call) = into.begin(word(block, "id"), word(block, "name"), input) {
                    call.at_ms = time::of_value(record.get("timestamp"));
                    call.directory = text(record, "cwd");
                    // Older versions write sub-agents into the file of the session, without their names.
                    let agent = sidechain.then(|| text(record, "agentId"));
                    call.agent = agent.map(|agent| agent.unwrap_or_else(|| "side".to_owned()));
                }
            }
            "tool_result" => result(into, record, block),
            // Calls that the model's provider ran are not calls of this machine.
            "text"
            | "thinking"
            | "redacted_thinking"
            | "image"
            | "document"
            | "server_tool_use"
            | "web_search_tool_result"
            | "container_upload"
            | "fallback" => {}
            other => into.miss(&format!("block {other}")),
        }
    }
}

fn result(into: &mut Transcript, record: &Value, block: &Value) {
    let said = block.get("content").map(text_of).unwrap_or_default();
    let failed = block.get("is_error") == Some(&Value::Bool(true));
    let refused = record.get("toolDenialKind").is_some_and(Value::is_string)
        || record
            .pointer("/permissionDecision/decision")
            .and_then(Value::as_str)
            == Some("reject")
        || failed && own::is_refusal(&said)
        || failed && NOT_RUN.iter().any(|start| said.starts_with(start));
    let returned = record.get("toolUseResult");
    let Some(call) = into.call(word(block, "tool_use_id")) else {
        into.miss("result of a call that is not there");
        return;
    };
    call.bytes = length(&said);
    call.ended = match (refused, failed) {
        (true, _) => Ended::NotRun,
        (false, true) => Ended::Failed,
        (false, false) => Ended::Well,
    };
    if call.ended != Ended::NotRun {
        let failure;
        let response = if failed {
            failure = Value::String(said.into_owned());
            &failure
        } else {
            returned.unwrap_or(&Value::Null)
        };
        call.exit = recorded_exit(
            ClientId::ClaudeCode,
            &call.tool,
            &call.input,
            !failed,
            response,
        );
    }
    let before = returned.and_then(|returned| text(returned, "originalFile"));
    let path = returned.and_then(|returned| text(returned, "filePath"));
    call.files.extend(path.zip(before));
}
