//! Codex CLI: the JSON of its hooks, in and out.
//!
//! Tested with 0.171.0. A single unknown field invalidates the whole answer, and an invalid answer lets the call run, so only
//! fields that Codex accepts are written. It supports no `ask`, no plain `allow`, and no denial without a reason.

pub(crate) mod install;
mod mods;
mod sandbox;

use std::path::Path;

use interlock_core::{
    call::ToolCall,
    names::{AgentId, CallId},
};
use interlock_project::Environment;
use interlock_store::ClientMod;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Say, cut},
    client::ClientId,
    input::{Event, HookPayload, Input, Mode, ToolUse},
    mods::Look,
    protocol::{self, Ended, Origin, Protocol, RewriteMode, needs_a_person},
};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 9] = [
    "session_id",
    "hook_event_name",
    "tool_name",
    "tool_input",
    "cwd",
    "agent_id",
    "tool_use_id",
    "permission_mode",
    "transcript_path",
];

/// Events whose answer may add text to the conversation.
const ADDING: [&str; 4] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "SubagentStart",
];

/// Codex CLI.
pub(crate) struct Codex;

impl Protocol for Codex {
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = told.event(event)?;
        let agent = told.said("agent_id")?.map(AgentId::new);
        let tool = || told.tool(Some(call_id(&told, agent.as_ref())?));
        let event = match named.as_str() {
            "SessionStart" => Event::SessionStart,
            "UserPromptSubmit" => Event::Prompt,
            "PreToolUse" => Event::BeforeTool(tool()?),
            "PostToolUse" => after(&told, tool()?),
            "Stop" => Event::Stop {
                again: told.is_set("stop_hook_active"),
            },
            "SubagentStart" => Event::SubagentStart,
            "SubagentStop" => Event::SubagentStop,
            "SessionEnd" => Event::SessionEnd,
            _ => protocol::other_event(&named, &["PreToolUse"])?,
        };
        Ok(Input {
            client: ClientId::Codex,
            borrowed: false,
            by_plugin: false,
            session: told.text("session_id")?,
            parent: None,
            beside: None,
            directory: told.text("cwd")?,
            mode: Mode::named(told.word("permission_mode")),
            source: told.word("source").map(str::to_owned),
            transcript: told.word("transcript_path").map(Into::into),
            plugins: Vec::new(),
            agent,
            named,
            event,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let mut document = match &answer.say {
            // Codex does not accept a `block` at the start of a session.
            Say::Stop(reason) if input.event == Event::SessionStart => {
                json!({ "continue": false, "stopReason": cut(reason, ADDED_MAX) })
            }
            Say::Stop(reason) | Say::GoOn(reason) => {
                json!({ "decision": "block", "reason": cut(reason, ADDED_MAX) })
            }
            Say::Deny(reason) => deny(reason),
            Say::Ask(reason)
            | Say::Rewrite {
                asks: true, reason, ..
            } => deny(&needs_a_person(reason)),
            Say::Rewrite { input, .. } => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": input,
            } }),
            Say::Add(text) if ADDING.contains(&input.named.as_str()) => {
                json!({ "hookSpecificOutput": {
                    "hookEventName": input.named,
                    "additionalContext": cut(text, ADDED_MAX),
                } })
            }
            // Codex does not accept an `allow` that changes nothing.
            Say::Add(_) | Say::Allow(_) | Say::Nothing | Say::Menu(_) => json!({}),
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

    /// The first line of a fork's transcript names the session that it was copied from.
    fn origin(&self, input: &Input) -> Origin {
        let first = input.transcript.as_deref().and_then(sandbox::first_line);
        let named = |meta: serde_json::Value| {
            let named = meta.get("payload")?.get("forked_from_id")?.as_str()?;
            Some(named.to_owned())
        };
        first
            .and_then(named)
            .map_or(Origin::Itself, Origin::Session)
    }

    /// `codex app-server` serves editors, whose windows share it.
    fn has_several_conversations(&self) -> bool {
        true
    }

    fn carrying(&self, environment: &Environment, input: &Input, project: &Path) -> RewriteMode {
        let free = input.mode == Mode::Bypass
            && input.transcript.as_deref().is_some_and(sandbox::is_off)
            && !sandbox::has_rules(environment, project);
        // Inside its sandbox, `interlock exec` could not record what it observed.
        if free {
            RewriteMode::Yes
        } else {
            RewriteMode::No
        }
    }

    fn exit_code(&self, ended: &Ended<'_>) -> Option<i64> {
        let Ended { input, used, .. } = ended;
        let line = used.input.get(crate::tools::LINE).and_then(Value::as_str)?;
        // A sub-agent's call id has the sub-agent's name as a suffix, and the sub-agent has its own transcript.
        let id = used
            .id
            .as_ref()
            .filter(|_| ended.proves && input.agent.is_none())?;
        sandbox::exit_code(input.transcript.as_deref()?, id.as_str(), line)
    }

    /// No hook sees what the agent later types into a running line.
    fn silences(&self) -> bool {
        true
    }

    fn objection(&self, call: &ToolCall) -> Option<String> {
        let shell = call.facts.shell.as_ref()?;
        let program = |words: &[interlock_core::facts::Word]| {
            let first = words.first()?.literal()?;
            first.rsplit('/').next().map(str::to_owned)
        };
        let patches = shell
            .commands
            .iter()
            .filter_map(|command| program(&command.words))
            .any(|program| matches!(program.as_str(), "apply_patch" | "applypatch"));
        patches.then(|| {
            "a patch inside of a longer line cannot be judged: call `apply_patch` itself".to_owned()
        })
    }
}

/// Returns the id of a call; sub-agents of one session may reuse each other's ids.
fn call_id(told: &HookPayload, agent: Option<&AgentId>) -> Result<CallId, String> {
    let id = told.text("tool_use_id")?;
    Ok(match agent {
        Some(agent) => CallId::new(format!("{id}@{agent}")),
        None => CallId::new(id),
    })
}

/// Reads the outcome of a call; only the transcript contains the exit code of a shell line.
fn after(told: &HookPayload, tool: ToolUse) -> Event {
    let response = told.get("tool_response").cloned().unwrap_or(Value::Null);
    Event::AfterTool {
        ok: response.get("isError") != Some(&Value::Bool(true)),
        tool,
        response,
    }
}

fn deny(reason: &str) -> Value {
    let reason = if reason.trim().is_empty() {
        "denied by Interlock"
    } else {
        reason
    };
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": cut(reason, ADDED_MAX),
    } })
}
