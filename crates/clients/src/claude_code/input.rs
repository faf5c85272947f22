//! Claude Code's hook input.

use interlock_core::names::AgentId;
use interlock_facts::Parsed;
use serde_json::Value;

use crate::hook::input::{HookEvent, HookInput, ToolEnd, ToolUse};

/// Modes in which a question reaches a person.
const ASKING_MODES: [&str; 3] = ["default", "acceptEdits", "plan"];

/// Reads one hook input; `named` is the event where the caller names it.
///
/// # Errors
/// Says what is missing: an input that is not understood is refused.
pub(crate) fn read(parsed: &Parsed, named: Option<&str>) -> Result<HookInput, String> {
    let input = &parsed.value;
    for key in [
        "session_id",
        "cwd",
        "hook_event_name",
        "tool_name",
        "agent_id",
        "tool_use_id",
    ] {
        if parsed
            .doubled
            .iter()
            .any(|doubled| doubled.strip_prefix('/') == Some(key))
        {
            return Err(format!("the hook input has `{key}` twice"));
        }
    }
    let event = match (named, text(input, "hook_event_name")?) {
        (_, Some(event)) | (Some(event), None) => event,
        (None, None) => return Err("the hook input does not name its event".to_owned()),
    };
    Ok(HookInput {
        event: read_event(event, parsed)?,
        named: event.to_owned(),
        session: required(input, "session_id")?.to_owned(),
        directory: required(input, "cwd")?.to_owned(),
        agent: text(input, "agent_id")?
            .filter(|agent| !agent.is_empty())
            .map(AgentId::from),
        asks: text(input, "permission_mode")?.is_some_and(|mode| ASKING_MODES.contains(&mode)),
    })
}

fn read_event(event: &str, parsed: &Parsed) -> Result<HookEvent, String> {
    let input = &parsed.value;
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart,
        "UserPromptSubmit" => HookEvent::Prompt,
        "PreToolUse" => HookEvent::BeforeTool(tool_use(parsed)?),
        "PostToolUse" => {
            HookEvent::AfterTool(tool_use(parsed)?, ToolEnd::Succeeded(response(input)))
        }
        "PostToolUseFailure" => {
            HookEvent::AfterTool(tool_use(parsed)?, ToolEnd::Failed(error(input)))
        }
        "Stop" => HookEvent::Stop {
            again: input.get("stop_hook_active") == Some(&Value::Bool(true)),
        },
        "SubagentStart" => HookEvent::AgentStart,
        "SessionEnd" => HookEvent::SessionEnd,
        _ => HookEvent::Other,
    })
}

fn tool_use(parsed: &Parsed) -> Result<ToolUse, String> {
    let input = &parsed.value;
    Ok(ToolUse {
        tool: required(input, "tool_name")?.to_owned(),
        input: input.get("tool_input").cloned().unwrap_or(Value::Null),
        doubled: parsed.doubled_below("/tool_input").map(str::to_owned),
        id: text(input, "tool_use_id")?
            .filter(|id| !id.is_empty())
            .map(str::to_owned),
    })
}

fn response(input: &Value) -> Value {
    input.get("tool_response").cloned().unwrap_or(Value::Null)
}

fn error(input: &Value) -> Value {
    input.get("error").cloned().unwrap_or(Value::Null)
}

fn required<'v>(input: &'v Value, key: &str) -> Result<&'v str, String> {
    match text(input, key)? {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("the hook input has no `{key}`")),
    }
}

fn text<'v>(input: &'v Value, key: &str) -> Result<Option<&'v str>, String> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` of the hook input is not text")),
    }
}
