//! Claude Code: the JSON of its hooks, in and out.
//!
//! Seen with 2.1.197 and 2.1.329. A deny holds in every permission mode; an
//! `ask` reaches a person only where the client's mode asks anybody.

pub(crate) mod line;
mod results;
pub(crate) mod rules;

use interlock_core::names::{AgentId, CallId};
use interlock_facts::parse;
use serde_json::{Value, json};

pub use results::{exit_code, result_bytes};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// One call of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The session.
    pub session: String,
    /// The directory the client works in.
    pub directory: String,
    /// When the client asks its person.
    pub mode: Mode,
    /// The sub-agent it is about; `None`: the main agent.
    pub agent: Option<AgentId>,
    /// What happened.
    pub event: Event,
}

/// When the client asks its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Before what its rules do not allow: `default`, `acceptEdits`.
    Asks,
    /// The same, and it changes nothing itself.
    Plan,
    /// Never: `bypassPermissions`.
    Bypass,
    /// Not known: a machine decides, or nobody.
    Other,
}

impl Mode {
    fn named(word: Option<&str>) -> Self {
        match word {
            Some("default" | "acceptEdits") => Self::Asks,
            Some("plan") => Self::Plan,
            Some("bypassPermissions") => Self::Bypass,
            _ => Self::Other,
        }
    }

    /// Tells whether the client asks a person, if one is there.
    #[must_use]
    pub const fn asks(self) -> bool {
        matches!(self, Self::Asks | Self::Plan)
    }
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
    Stop {
        /// Whether it was kept from that just before.
        again: bool,
    },
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent has stopped.
    SubagentStop,
    /// The session ends.
    SessionEnd,
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

/// Tells whether a failure of ours must stop the client, as far as `stdin` can be read.
///
/// It always must, but for an agent that was kept from ending its turn just
/// before: that would never end.
#[must_use]
pub fn failure_stops(stdin: &[u8]) -> bool {
    let again = parse(stdin).is_ok_and(|parsed| {
        let event = parsed.value.get("hook_event_name").and_then(Value::as_str);
        matches!(event, Some("Stop" | "SubagentStop"))
            && is_set(parsed.value.get("stop_hook_active"))
    });
    !again
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
    // The input's own word counts; the argument only where there is none.
    let name = match (value.get("hook_event_name"), event) {
        (None, Some(event)) => event.to_owned(),
        _ => text("hook_event_name")?,
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
        "Stop" => Event::Stop {
            again: is_set(value.get("stop_hook_active")),
        },
        "SessionEnd" => Event::SessionEnd,
        "SubagentStart" => Event::SubagentStart,
        "SubagentStop" => Event::SubagentStop,
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
        mode: Mode::named(mode),
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

/// Lets the client run `input` in the place of what the agent wrote; with `word`: allow or ask.
#[must_use]
pub fn rewrite(word: &str, reason: &str, input: &Value) -> Value {
    let mut answer = decision(word, reason);
    if let Some(Value::Object(said)) = answer.get_mut("hookSpecificOutput") {
        said.insert("updatedInput".to_owned(), input.clone());
    }
    answer
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

/// Tells the person something beside another answer.
#[must_use]
pub fn telling(mut answer: Value, text: &str) -> Value {
    if let Value::Object(object) = &mut answer {
        object.insert("systemMessage".to_owned(), cut(text).into());
    }
    answer
}

fn cut(text: &str) -> String {
    if text.chars().count() <= ADDED_MAX {
        return text.to_owned();
    }
    text.chars().take(ADDED_MAX - 1).chain(['…']).collect()
}

/// Tells whether a flag of the client is there and set.
pub(crate) fn is_set(flag: Option<&Value>) -> bool {
    !matches!(flag, None | Some(Value::Null | Value::Bool(false)))
}
