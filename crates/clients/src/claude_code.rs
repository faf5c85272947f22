//! Claude Code: the JSON of its hooks, in and out.
//!
//! Seen with 2.1.197 and 2.1.329. A deny holds in every permission mode; an
//! `ask` reaches a person only where the client's mode asks anybody.

use interlock_core::names::{AgentId, CallId};
use interlock_facts::parse;
use serde_json::{Value, json};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// One call of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The session.
    pub session: String,
    /// The directory the client works in.
    pub directory: String,
    /// Whether a person answers when the client asks.
    pub asks_a_person: bool,
    /// The sub-agent it is about; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// What happened.
    pub event: Event,
}

/// What a hook is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A session began, or its transcript was cut short.
    SessionStart,
    /// A person sent a prompt.
    Prompt,
    /// A tool is about to be called.
    BeforeTool(ToolUse),
    /// A tool has been called.
    AfterTool {
        /// The call.
        tool: ToolUse,
        /// Whether it succeeded.
        ok: bool,
        /// What it returned.
        response: Value,
    },
    /// The agent is about to end its turn.
    Stop,
    /// A sub-agent begins.
    SubagentStart,
    /// Anything else, by its name.
    Other(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The client's id of the call.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// A key that stands twice in the arguments.
    pub doubled: Option<String>,
}

/// Names of the events in which a failure of ours must stop what the client is about to do.
const GATES: [&str; 2] = ["PreToolUse", "UserPromptSubmit"];

/// Tells whether a failure of ours must stop the client, as far as `stdin` can be read.
///
/// What cannot be read at all may be a tool call.
#[must_use]
pub fn failure_stops(stdin: &[u8]) -> bool {
    match parse(stdin) {
        Ok(parsed) => match parsed.value.get("hook_event_name").and_then(Value::as_str) {
            Some(name) => GATES.contains(&name) || !name.chars().all(|c| c.is_ascii_alphabetic()),
            None => true,
        },
        Err(_) => true,
    }
}

/// Reads what the client writes to its hook.
///
/// # Errors
/// Says what is missing or malformed.
pub fn read(stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
    let parsed = parse(stdin).map_err(|error| format!("the hook's input is not JSON: {error}"))?;
    let value = &parsed.value;
    for key in [
        "session_id",
        "hook_event_name",
        "tool_name",
        "cwd",
        "agent_id",
        "tool_use_id",
        "permission_mode",
    ] {
        if parsed
            .doubled
            .iter()
            .any(|doubled| doubled.strip_prefix('/') == Some(key))
        {
            return Err(format!("the hook's input has `{key}` twice"));
        }
    }
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Value::String(_)) | None => Err(format!("the hook's input has no `{key}`")),
        Some(_) => Err(format!("`{key}` of the hook's input is not text")),
    };
    let name = match event {
        Some(event) => event.to_owned(),
        None => text("hook_event_name")?,
    };
    let tool = || -> Result<ToolUse, String> {
        Ok(ToolUse {
            id: CallId::new(text("tool_use_id")?),
            name: text("tool_name")?,
            input: value.get("tool_input").cloned().unwrap_or(Value::Null),
            doubled: parsed.doubled_below("/tool_input").map(str::to_owned),
        })
    };
    let event = match name.as_str() {
        "SessionStart" => Event::SessionStart,
        "UserPromptSubmit" => Event::Prompt,
        "PreToolUse" => Event::BeforeTool(tool()?),
        "PostToolUse" | "PostToolUseFailure" => Event::AfterTool {
            tool: tool()?,
            ok: name == "PostToolUse",
            response: response(value),
        },
        "Stop" => Event::Stop,
        "SubagentStart" => Event::SubagentStart,
        _ => Event::Other(name),
    };
    let agent = match value.get("agent_id") {
        None | Some(Value::Null) => None,
        Some(_) => Some(AgentId::new(text("agent_id")?)),
    };
    let mode = value.get("permission_mode").and_then(Value::as_str);
    Ok(Input {
        session: text("session_id")?,
        directory: text("cwd")?,
        asks_a_person: matches!(mode, Some("default" | "acceptEdits" | "plan")),
        agent,
        event,
    })
}

/// Returns what a call returned, or how it failed.
fn response(value: &Value) -> Value {
    if value.get("is_interrupt") == Some(&Value::Bool(true)) {
        return json!({ "interrupted": true });
    }
    value
        .get("tool_response")
        .or_else(|| value.get("error"))
        .cloned()
        .unwrap_or(Value::Null)
}

/// Has no opinion: the client's own rules decide.
#[must_use]
pub fn nothing() -> Value {
    json!({})
}

/// Denies the call.
#[must_use]
pub fn deny(reason: &str) -> Value {
    decision("deny", reason)
}

/// Lets the client ask its person.
#[must_use]
pub fn ask(reason: &str) -> Value {
    decision("ask", reason)
}

/// Lets a control tool pass without a question of the client's own.
#[must_use]
pub fn allow(reason: &str) -> Value {
    decision("allow", reason)
}

fn decision(word: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": word,
        "permissionDecisionReason": cut(reason),
    } })
}

/// Adds text to the conversation.
#[must_use]
pub fn add(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": cut(text) } })
}

/// Tells the person something.
#[must_use]
pub fn tell_person(text: &str) -> Value {
    json!({ "systemMessage": cut(text) })
}

fn cut(text: &str) -> String {
    if text.chars().count() <= ADDED_MAX {
        return text.to_owned();
    }
    text.chars().take(ADDED_MAX - 1).chain(['…']).collect()
}

/// Counts the bytes that a tool's result adds to the conversation.
#[must_use]
pub fn result_bytes(response: &Value) -> u64 {
    let length = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    match response {
        Value::Null => 0,
        Value::String(text) => length(text),
        Value::Array(items) => items.iter().map(result_bytes).sum(),
        Value::Object(object) => {
            if let Some(text) = object.get("text").or_else(|| object.get("content")) {
                return result_bytes(text);
            }
            if let Some(file) = object.get("file") {
                return result_bytes(file);
            }
            if object.contains_key("stdout") || object.contains_key("stderr") {
                return ["stdout", "stderr"]
                    .iter()
                    .filter_map(|key| object.get(*key))
                    .map(result_bytes)
                    .sum();
            }
            length(&response.to_string())
        }
        other => length(&other.to_string()),
    }
}

/// Returns the exit code of a shell line, where the client's own fields say it for sure.
///
/// A success is 0; of a failure the client's error begins with the code.
#[must_use]
pub fn exit_code(tool: &ToolUse, ok: bool, response: &Value) -> Option<i64> {
    let is_set =
        |value: Option<&Value>| !matches!(value, None | Some(Value::Null | Value::Bool(false)));
    let unknown = is_set(tool.input.get("run_in_background"))
        || is_set(response.get("interrupted"))
        || is_set(response.get("backgroundTaskId"));
    if unknown {
        return None;
    }
    if ok {
        return Some(0);
    }
    let rest = response.as_str()?.strip_prefix("Exit code ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|code| *code != 0)
}
