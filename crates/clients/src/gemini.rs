//! Gemini CLI: the JSON of its hooks, in and out.
//!
//! Tested with 0.61.0. It gives neither calls nor sub-agents ids, and reports how a line ended only in text that the line itself
//! could have printed.

pub(crate) mod install;
mod menu;
mod mods;
mod rules;

use std::path::Path;

use interlock_project::Environment;
use interlock_store::ClientMod;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Say, cut},
    client::ClientId,
    input::{Event, HookPayload, Input, Mode, ToolUse},
    mods::Look,
    protocol::{self, Protocol, RewriteMode, needs_a_person},
    tools::of_server,
};

pub(crate) use menu::menu;

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 8] = [
    "session_id",
    "hook_event_name",
    "tool_name",
    "tool_input",
    "mcp_context",
    "mcp_context/server_name",
    "mcp_context/tool_name",
    "cwd",
];

/// Events whose answer may add text to the conversation.
const ADDING: [&str; 3] = ["SessionStart", "BeforeAgent", "AfterTool"];

/// Tool with which a sub-agent ends; the main agent is not offered it.
const ENDS_A_SUB_AGENT: &str = "complete_task";

/// Gemini CLI.
pub(crate) struct Gemini;

impl Protocol for Gemini {
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = told.event(event)?;
        let event = match named.as_str() {
            "SessionStart" => Event::SessionStart,
            "BeforeAgent" => Event::Prompt,
            // A sub-agent has other tools than these, and a name that it lacks would be an error.
            "BeforeToolSelection" if !mentions(stdin, ENDS_A_SUB_AGENT) => Event::Menu,
            "BeforeTool" => Event::BeforeTool(tool(&told)?),
            "AfterTool" => after(&told, tool(&told)?),
            "AfterAgent" => Event::Stop {
                again: told.is_set("stop_hook_active"),
            },
            "SessionEnd" => Event::SessionEnd,
            _ => protocol::other_event(&named, &["BeforeTool"])?,
        };
        Ok(Input {
            client: ClientId::Gemini,
            borrowed: false,
            by_plugin: false,
            session: told.text("session_id")?,
            parent: None,
            beside: None,
            directory: told.text("cwd")?,
            mode: Mode::Other,
            source: told.word("source").map(str::to_owned),
            transcript: None,
            plugins: Vec::new(),
            agent: None,
            named,
            event,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let mut document = match &answer.say {
            Say::Deny(reason) | Say::Stop(reason) | Say::GoOn(reason) => {
                json!({ "decision": "deny", "reason": cut(reason, ADDED_MAX) })
            }
            Say::Ask(reason)
            | Say::Rewrite {
                asks: true, reason, ..
            } => {
                json!({ "decision": "deny", "reason": cut(&needs_a_person(reason), ADDED_MAX) })
            }
            Say::Rewrite { input, .. } => json!({
                "decision": "allow",
                "hookSpecificOutput": {
                    "hookEventName": "BeforeTool",
                    "tool_input": { "command": input.get("command") },
                },
            }),
            Say::Add(text) if ADDING.contains(&input.named.as_str()) => {
                json!({ "hookSpecificOutput": {
                    "hookEventName": input.named,
                    "additionalContext": cut(text, ADDED_MAX),
                } })
            }
            Say::Menu(names) => json!({ "hookSpecificOutput": {
                "hookEventName": "BeforeToolSelection",
                // `ANY` would make the model call tools forever.
                "toolConfig": { "mode": "AUTO", "allowedFunctionNames": names },
            } }),
            Say::Add(_) | Say::Allow(_) | Say::Nothing => json!({}),
        };
        if let (Value::Object(object), Some(text)) = (&mut document, &answer.person) {
            object.insert("systemMessage".to_owned(), cut(text, ADDED_MAX).into());
        }
        document
    }

    fn tell_person(&self, text: &str) -> Value {
        json!({ "systemMessage": cut(text, ADDED_MAX) })
    }

    fn failure_stops(&self, stdin: &[u8], event: Option<&str>) -> bool {
        protocol::stops_but_a_second_stop(stdin, event)
    }

    fn mods(&self, look: &Look<'_>) -> Vec<ClientMod> {
        mods::mods(look)
    }

    fn carrying(&self, environment: &Environment, _input: &Input, project: &Path) -> RewriteMode {
        // Its own policy is applied to the rewritten line.
        if rules::asks_nobody() && !rules::has_rules(environment, project) {
            RewriteMode::Yes
        } else {
            RewriteMode::No
        }
    }

    fn result_bytes(&self, _used: &ToolUse, response: &Value) -> u64 {
        let seen = response.get("llmContent").unwrap_or(response);
        protocol::shown_bytes(seen)
    }
}

/// Reads a call; for a server's tool, the client names the server.
fn tool(told: &HookPayload) -> Result<ToolUse, String> {
    let mut used = told.tool(None)?;
    let context = |key: &str| told.get("mcp_context")?.get(key)?.as_str();
    if let (Some(server), Some(tool)) = (context("server_name"), context("tool_name")) {
        used.common = Some(format!("mcp__{server}__{tool}"));
        used.name = of_server(ClientId::Gemini, used.name, server);
    }
    Ok(used)
}

/// Reads the outcome of a call.
fn after(told: &HookPayload, tool: ToolUse) -> Event {
    let response = told.get("tool_response").cloned().unwrap_or(Value::Null);
    Event::AfterTool {
        ok: response.get("error").is_none_or(Value::is_null),
        tool,
        response,
    }
}

fn mentions(stdin: &[u8], word: &str) -> bool {
    stdin
        .windows(word.len())
        .any(|part| part == word.as_bytes())
}
