//! Copilot CLI: the JSON of its hooks, in and out.
//!
//! Tested with 1.0.102. A hook configured with a camel-case name does not receive its event's name, so the event comes as an
//! argument; with a Pascal-case name, the hook receives everything in snake case. Calls have no ids. A sub-agent has its own
//! session, which names its parent.

pub(crate) mod install;
mod lines;
pub(crate) mod mods;
mod rules;
mod servers;

use std::path::Path;

use interlock_core::names::AgentId;
use interlock_project::Environment;
use interlock_store::ClientMod;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Say, cut},
    client::ClientId,
    input::{Event, HookPayload, Input, Mode, ToolUse, is_set},
    mods::Look,
    protocol::{self, Protocol, RewriteMode, needs_a_person},
    protocol::{DuplicateHook, Side},
};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 14] = [
    "sessionId",
    "session_id",
    "hook_event_name",
    "cwd",
    "toolName",
    "tool_name",
    "toolArgs",
    "tool_input",
    "toolResult",
    "tool_result",
    "agentId",
    "agent_id",
    "parentAgentId",
    "parent_agent_id",
];

/// Events by their names in camel case, in Pascal case, and in short form.
const EVENTS: [(Kind, &[&str]); 10] = [
    (Kind::Start, &["sessionStart", "SessionStart", "start"]),
    (
        Kind::Prompt,
        &["userPromptSubmitted", "UserPromptSubmit", "prompt"],
    ),
    (Kind::Before, &["preToolUse", "PreToolUse", "pre"]),
    (Kind::After, &["postToolUse", "PostToolUse", "post"]),
    (
        Kind::Failed,
        &["postToolUseFailure", "PostToolUseFailure", "failure"],
    ),
    (Kind::Stop, &["agentStop", "Stop", "stop"]),
    (Kind::SubagentStart, &["subagentStart", "SubagentStart"]),
    (Kind::SubagentStop, &["subagentStop", "SubagentStop"]),
    (Kind::End, &["sessionEnd", "SessionEnd", "end"]),
    (
        Kind::Other,
        &[
            "errorOccurred",
            "ErrorOccurred",
            "preCompact",
            "PreCompact",
            "notification",
            "Notification",
            "permissionRequest",
            "PermissionRequest",
        ],
    ),
];

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    Prompt,
    Before,
    After,
    Failed,
    Stop,
    SubagentStart,
    SubagentStop,
    End,
    Other,
}

/// Copilot CLI.
pub(crate) struct Copilot;

impl Protocol for Copilot {
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = match told.event(event) {
            Ok(named) => named,
            Err(_) if told.get("hook_event_name").is_none() => {
                return Err(
                    "the hook's line names no event: `interlock hook copilot preToolUse`"
                        .to_owned(),
                );
            }
            Err(why) => return Err(why),
        };
        let known = EVENTS
            .iter()
            .find(|(_, names)| names.contains(&named.as_str()));
        let Some((kind, _)) = known else {
            return Err(format!(
                "no event `{named}` is known; write it as the client does, such as `preToolUse`"
            ));
        };
        let directory = told.text("cwd")?;
        let agent = told.either("agentId", "agent_id")?;
        let session = told.either("sessionId", "session_id")?;
        Ok(Input {
            client: ClientId::Copilot,
            borrowed: false,
            by_plugin: false,
            // When a sub-agent begins, the session is not always its own.
            session: agent
                .clone()
                .or_else(|| session.clone())
                .ok_or("the hook's input has no `sessionId`")?,
            beside: session.filter(|session| agent.as_ref().is_some_and(|agent| agent != session)),
            parent: told.either("parentAgentId", "parent_agent_id")?,
            mode: Mode::Other,
            source: None,
            transcript: None,
            plugins: Vec::new(),
            agent: agent.map(AgentId::new),
            event: event_of(*kind, &told, Path::new(&directory))?,
            directory,
            named,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let mut document = match &answer.say {
            Say::Stop(reason) | Say::GoOn(reason) => {
                json!({ "decision": "block", "reason": cut(reason, ADDED_MAX) })
            }
            Say::Deny(reason) => deny(reason),
            Say::Ask(reason)
            | Say::Rewrite {
                asks: true, reason, ..
            } => deny(&needs_a_person(reason)),
            Say::Rewrite { input, .. } => {
                json!({ "permissionDecision": "allow", "modifiedArgs": input })
            }
            Say::Add(text) if !matches!(input.event, Event::Stop { .. }) => {
                json!({ "additionalContext": cut(text, ADDED_MAX) })
            }
            // A plain `allow` would suppress the client's own prompt.
            Say::Add(_) | Say::Allow(_) | Say::Nothing | Say::Menu(_) => json!({}),
        };
        // Copilot shows its person no text of a hook; the agent may pass it on.
        let adds = matches!(
            input.event,
            Event::SessionStart | Event::Prompt | Event::BeforeTool(_) | Event::AfterTool { .. }
        );
        if let (Value::Object(object), Some(text), true) = (&mut document, &answer.person, adds) {
            let said = object.get("additionalContext").and_then(Value::as_str);
            let text = said.map_or_else(|| text.clone(), |said| format!("{text}\n{said}"));
            object.insert("additionalContext".to_owned(), cut(&text, ADDED_MAX).into());
        }
        document
    }

    fn tell_person(&self, _text: &str) -> Value {
        json!({})
    }

    fn failure_stops(&self, stdin: &[u8], event: Option<&str>) -> bool {
        protocol::stops_but_a_second_stop(stdin, event)
    }

    fn mods(&self, look: &Look<'_>) -> Vec<ClientMod> {
        mods::mods(look)
    }

    fn carrying(&self, environment: &Environment, input: &Input, _project: &Path) -> RewriteMode {
        if rules::asks_nobody(environment) && !input.borrowed {
            RewriteMode::Yes
        } else {
            RewriteMode::No
        }
    }

    /// Copilot also runs the hooks of Claude Code's settings, so a call may be reported twice.
    fn duplicate(&self, environment: &Environment, input: &Input) -> Option<DuplicateHook> {
        let Event::BeforeTool(used) = &input.event else {
            return None;
        };
        let side = match input.borrowed {
            true => Side::Borrowed,
            false if lines::are_borrowed(environment, Path::new(&input.directory)) => Side::General,
            false => return None,
        };
        Some(DuplicateHook {
            key: interlock_facts::digest(&used.name, &used.input),
            side,
        })
    }

    fn result_bytes(&self, _used: &ToolUse, response: &Value) -> u64 {
        let seen = ["textResultForLlm", "text_result_for_llm"]
            .iter()
            .find_map(|key| response.get(key));
        protocol::shown_bytes(seen.unwrap_or(response))
    }

    fn proves(&self, used: &ToolUse) -> bool {
        let mode = used.input.get("mode").and_then(Value::as_str);
        mode.is_none_or(|mode| mode == "sync")
            && !["detach", "async", "is_background"]
                .iter()
                .any(|flag| is_set(used.input.get(flag)))
    }
}

fn event_of(kind: Kind, told: &HookPayload, directory: &Path) -> Result<Event, String> {
    Ok(match kind {
        Kind::Start => Event::SessionStart,
        Kind::Prompt => Event::Prompt,
        Kind::Before => Event::BeforeTool(tool(told, directory)?),
        Kind::After => {
            let response = told.first(&["toolResult", "tool_result", "tool_response"]);
            let kind = ["resultType", "result_type"]
                .iter()
                .find_map(|key| response.get(key)?.as_str());
            Event::AfterTool {
                tool: tool(told, directory)?,
                ok: kind.is_none_or(|kind| kind == "success"),
                response,
            }
        }
        Kind::Failed => Event::AfterTool {
            tool: tool(told, directory)?,
            ok: false,
            response: told.first(&["error"]),
        },
        Kind::Stop => Event::Stop {
            again: told.is_set("stopHookActive") || told.is_set("stop_hook_active"),
        },
        Kind::SubagentStart => Event::SubagentStart,
        Kind::SubagentStop => Event::SubagentStop,
        Kind::End => Event::SessionEnd,
        Kind::Other => Event::Other,
    })
}

/// Returns Copilot's own name of a tool, which hooks in Pascal case receive under another name.
fn own_name<'n>(shown: &'n str, input: &Value) -> &'n str {
    let patches =
        || input.is_string() || input.get("patch").is_some() || input.get("input").is_some();
    match shown {
        "Bash" => "bash",
        "Read" => "view",
        "Edit" if patches() => "apply_patch",
        "Edit" => "edit",
        "Write" => "create",
        "Grep" => "grep",
        "Glob" => "glob",
        "Task" | "Agent" => "task",
        "WebFetch" => "web_fetch",
        own => own,
    }
}

/// Reads the call of a tool, whose arguments may be an object or the text of one.
fn tool(told: &HookPayload, directory: &Path) -> Result<ToolUse, String> {
    let shown = told
        .either("toolName", "tool_name")?
        .ok_or("the hook's input has no `toolName`")?;
    let (key, raw) = match (told.get("toolArgs"), told.get("tool_input")) {
        (Some(_), Some(_)) => return Err("the hook's input has arguments twice".to_owned()),
        (Some(raw), None) => ("/toolArgs", raw.clone()),
        (None, Some(raw)) => ("/tool_input", raw.clone()),
        (None, None) => ("/toolArgs", Value::Null),
    };
    let name = own_name(&shown, &raw).to_owned();
    let doubled = told.doubled_below(key);
    let (input, doubled) = match raw {
        Value::String(text) => match interlock_facts::parse(text.as_bytes()) {
            Ok(parsed) if parsed.value.is_object() => {
                let doubled = parsed.duplicate_below("").map(str::to_owned);
                (parsed.value, doubled)
            }
            // A patch comes as plain text.
            _ if name == "apply_patch" => (json!({ "command": text }), None),
            _ => (Value::String(text), None),
        },
        input => (input, doubled),
    };
    Ok(ToolUse {
        id: None,
        common: servers::common(&name, directory),
        name,
        input,
        doubled,
        wrote: None,
    })
}

fn deny(reason: &str) -> Value {
    json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": cut(reason, ADDED_MAX),
    })
}
