//! Rollouts of Codex: one JSON object per line, in envelopes since 2025.

use serde_json::{Value, json};

use crate::{
    json::{items, length, parsed, text, text_at, text_of, word},
    own, patch,
    session::Ended,
    time,
    transcript::Transcript,
};

/// Envelopes without calls.
const ASIDE: [&str; 8] = [
    "compacted",
    "ghost_snapshot",
    "inter_agent_communication_metadata",
    "session_state",
    "token_usage_record",
    "turn_aborted",
    "turn_context",
    "world_state",
];
/// Items of the model that are not calls.
const NO_CALLS: [&str; 12] = [
    "additional_tools",
    "agent_message",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "ghost_snapshot",
    "image_generation_call",
    "message",
    "other",
    "reasoning",
    "tool_search_output",
    "web_search_call_output",
];
/// Completed items that are not calls.
const NO_CALLS_COMPLETED: [&str; 9] = [
    "AgentMessage",
    "ContextCompaction",
    "EnteredReviewMode",
    "ExitedReviewMode",
    "HookPrompt",
    "Plan",
    "Reasoning",
    "SubAgentActivity",
    "UserMessage",
];

pub(crate) fn record(into: &mut Transcript, record: &Value) {
    let at_ms = time::of_value(record.get("timestamp"));
    match record.get("payload") {
        Some(payload) => match word(record, "type") {
            "session_meta" => meta(into, payload),
            "response_item" => item(into, payload, at_ms),
            "event_msg" => event(into, payload, at_ms),
            kind if ASIDE.contains(&kind) => {}
            other => into.miss(other),
        },
        // In the older form, the first line describes the session; the items follow without an envelope.
        None if record.get("instructions").is_some() => meta(into, record),
        None if record.get("record_type").is_some() => {}
        None => item(into, record, at_ms),
    }
}

fn meta(into: &mut Transcript, payload: &Value) {
    if !into.session.is_empty() {
        // A rollout that continues another one repeats its beginning.
        return;
    }
    into.session = text(payload, "id").unwrap_or_default();
    into.version = text(payload, "cli_version");
    into.directory = text(payload, "cwd");
    let spawned = "/source/subagent/thread_spawn/parent_thread_id";
    into.parent = text_at(payload, spawned).or_else(|| text(payload, "parent_thread_id"));
    if into.parent.is_some() {
        into.agent = Some(into.session.clone());
    }
}

/// Reads an item of the model, or a result.
fn item(into: &mut Transcript, item: &Value, at_ms: Option<u64>) {
    let id = match word(item, "call_id") {
        "" => word(item, "id"),
        id => id,
    };
    match word(item, "type") {
        "function_call" => {
            let arguments = parsed(word(item, "arguments"));
            // The hooks join a namespace and a tool without a separator, except for servers.
            let name = match (word(item, "namespace"), word(item, "name")) {
                (space, name) if space.starts_with("mcp__") => {
                    format!("{}__{name}", space.trim_end_matches('_'))
                }
                ("functions", name) => name.to_owned(),
                (space, name) => format!("{space}{name}"),
            };
            begin(into, id, &name, arguments, at_ms);
        }
        "custom_tool_call" => {
            let name = word(item, "name");
            begin(into, id, name, custom(name, word(item, "input")), at_ms);
        }
        "local_shell_call" => {
            let action = item.get("action").cloned().unwrap_or(Value::Null);
            let input = json!({
                "command": action.get("command"), "workdir": action.get("working_directory"),
            });
            begin(into, id, "local_shell", input, at_ms);
        }
        "web_search_call" => {
            let input = item.get("action").cloned().unwrap_or(Value::Null);
            begin(into, id, "web_search", input, at_ms);
        }
        "tool_search_call" => {
            let input = item.get("arguments").cloned().unwrap_or(Value::Null);
            begin(into, id, "tool_search", input, at_ms);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            output(into, id, item.get("output").unwrap_or(&Value::Null));
        }
        "mcp_tool_call_output" => {
            output(into, id, item.get("result").unwrap_or(&Value::Null));
        }
        kind if NO_CALLS.contains(&kind) => {}
        other => into.miss(&format!("item {other}")),
    }
}

/// Returns the arguments of a tool that takes plain text.
fn custom(name: &str, input: &str) -> Value {
    if name == "apply_patch" {
        return json!({ "command": input });
    }
    json!({ "input": input })
}

fn begin(into: &mut Transcript, id: &str, name: &str, input: Value, at_ms: Option<u64>) {
    let directory = into.directory.clone();
    if let Some(call) = into.begin(id, name, input) {
        call.at_ms = at_ms;
        call.directory = directory;
    }
}

/// Reads the result of a call.
fn output(into: &mut Transcript, id: &str, output: &Value) {
    let said = match output {
        Value::Object(fields) => fields.get("content").map(text_of).unwrap_or_default(),
        other => text_of(other),
    };
    let success = output.get("success").and_then(Value::as_bool);
    let Some(call) = into.call(id) else {
        into.miss("result of a call that is not there");
        return;
    };
    call.bytes = length(&said);
    call.exit = call.exit.or_else(|| exit_in(&said));
    let not_run = [
        "unsupported call",
        "Command blocked",
        "aborted by user",
        "rejected by user",
    ];
    if not_run.iter().any(|start| said.starts_with(start))
        || call.exit.is_none() && own::is_refusal(&said)
    {
        call.ended = Ended::NotRun;
    } else if call.ended == Ended::Unknown {
        call.ended = match (success, call.exit) {
            (Some(false), _) => Ended::Failed,
            (None, Some(code)) if code != 0 => Ended::Failed,
            _ => Ended::Well,
        };
    }
}

/// Finds the exit code in what the client itself writes above the output of a line.
fn exit_in(said: &str) -> Option<i64> {
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(said) {
        let metadata = fields.get("metadata")?;
        return metadata.get("exit_code").and_then(Value::as_i64);
    }
    let head = said.split("\nOutput:").next()?;
    head.lines().take(6).find_map(|line| {
        let code = line
            .strip_prefix("Process exited with code ")
            .or_else(|| line.strip_prefix("Exit code: "))?;
        code.trim().parse().ok()
    })
}

/// Reads an event of the program.
fn event(into: &mut Transcript, event: &Value, at_ms: Option<u64>) {
    match word(event, "type") {
        "item_completed" => {
            if let Some(item) = event.get("item") {
                let at_ms = time::of_value(event.get("started_at_ms")).or(at_ms);
                completed(into, item, at_ms);
            }
        }
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => {
            let code = event.get("exit_code").and_then(Value::as_i64);
            let success = event.get("success").and_then(Value::as_bool);
            if let Some(call) = into.call(word(event, "call_id")) {
                call.exit = code.or(call.exit);
                if code.is_some_and(|code| code != 0) || success == Some(false) {
                    call.ended = Ended::Failed;
                }
            }
        }
        // Everything else concerns the conversation and its screen.
        _ => {}
    }
}

/// Reads a completed item: the end of a call, or a call made by another call's code.
fn completed(into: &mut Transcript, item: &Value, at_ms: Option<u64>) {
    let kind = word(item, "type");
    let id = word(item, "id");
    let (name, input) = match kind {
        "CommandExecution" => {
            let command = items(item, "command");
            let line = match command {
                [_, option, line] if option.as_str().is_some_and(|word| word.starts_with('-')) => {
                    line.clone()
                }
                words => Value::Array(words.to_vec()),
            };
            ("exec_command".to_owned(), json!({ "cmd": line }))
        }
        "FileChange" => {
            let changes = item.get("changes").unwrap_or(&Value::Null);
            (
                "apply_patch".to_owned(),
                json!({ "command": patch::of_changes(changes) }),
            )
        }
        "McpToolCall" => {
            let name = format!("mcp__{}__{}", word(item, "server"), word(item, "tool"));
            (name, item.get("arguments").cloned().unwrap_or(Value::Null))
        }
        "WebSearch" => (
            "web_search".to_owned(),
            json!({ "query": item.get("query") }),
        ),
        kind if NO_CALLS_COMPLETED.contains(&kind) => return,
        other => {
            into.miss(&format!("completed {other}"));
            return;
        }
    };
    begin(into, id, &name, input, at_ms);
    let directory = text(item, "cwd").map(|place| match place.strip_prefix("file://") {
        Some(path) => path.to_owned(),
        None => place,
    });
    let Some(call) = into.call(id) else { return };
    call.exit = item.get("exit_code").and_then(Value::as_i64).or(call.exit);
    call.directory = directory.or_else(|| call.directory.take());
    call.ended = match word(item, "status") {
        "declined" => Ended::NotRun,
        "failed" => Ended::Failed,
        "completed" => Ended::Well,
        _ => call.ended,
    };
}
