//! Cursor: the JSON of its hooks, in and out, according to its documentation.
//!
//! Cursor reports each call twice: to `preToolUse`, and to a hook of the call's kind (`beforeShellExecution`,
//! `beforeMCPExecution`, `beforeReadFile`). The model reads `user_message`. `ask` reaches a person only in the shell's event.

mod before;
pub(crate) mod install;
mod mods;

use std::path::{Path, PathBuf};

use interlock_core::names::{AgentId, CallId};
use interlock_project::Environment;
use interlock_store::ClientMod;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Say, cut},
    client::ClientId,
    input::{Event, HookPayload, Input, Mode},
    mods::Look,
    protocol::{self, Protocol, needs_a_person},
    protocol::{DuplicateHook, Side},
};

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 14] = [
    "agent_transcript_path",
    "conversation_id",
    "session_id",
    "generation_id",
    "hook_event_name",
    "workspace_roots",
    "cwd",
    "command",
    "tool_name",
    "tool_input",
    "tool_use_id",
    "file_path",
    "subagent_id",
    "parent_conversation_id",
];

/// Cursor.
pub(crate) struct Cursor;

impl Protocol for Cursor {
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = told.event(event)?;
        let named = own_name(&named).to_owned();
        let own = told.either("conversation_id", "session_id")?;
        let own = own.ok_or("the hook's input has no `conversation_id`")?;
        // When a sub-agent begins or ends, the conversation may be its parent's.
        let at_its_ends = matches!(named.as_str(), "subagentStart" | "subagentStop");
        let session = match sub_agent(&told)? {
            Some(agent) if at_its_ends => agent,
            _ => own.clone(),
        };
        let parent = match told.said("parent_conversation_id")? {
            Some(parent) => Some(parent),
            None => at_its_ends.then_some(own),
        };
        let parent = parent.filter(|parent| *parent != session);
        let directory = directory(&told)?;
        Ok(Input {
            client: ClientId::Cursor,
            borrowed: false,
            by_plugin: false,
            mode: Mode::Other,
            source: None,
            transcript: None,
            plugins: Vec::new(),
            agent: parent.is_some().then(|| AgentId::new(session.clone())),
            event: event_of(&named, &told, &directory)?,
            directory,
            session,
            parent,
            beside: None,
            named,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let before = matches!(input.event, Event::BeforeTool(_));
        let starts = input.named == "subagentStart";
        let mut document = match &answer.say {
            Say::Stop(reason) | Say::GoOn(reason) => {
                json!({ "followup_message": cut(reason, ADDED_MAX) })
            }
            Say::Deny(reason) => permission("deny", reason),
            Say::Ask(reason) if input.named == ASKING => permission("ask", reason),
            Say::Ask(reason)
            | Say::Rewrite {
                asks: true, reason, ..
            } => permission("deny", &needs_a_person(reason)),
            Say::Rewrite { input, .. } => json!({ "permission": "allow", "updated_input": input }),
            Say::Add(text)
                if matches!(input.event, Event::SessionStart | Event::AfterTool { .. }) =>
            {
                json!({ "additional_context": cut(text, ADDED_MAX) })
            }
            _ if before || starts => json!({ "permission": "allow" }),
            _ if input.event == Event::Prompt => json!({ "continue": true }),
            Say::Add(_) | Say::Allow(_) | Say::Nothing | Say::Menu(_) => json!({}),
        };
        if let (Value::Object(object), Some(text)) = (&mut document, &answer.person) {
            let said = object.get("user_message").and_then(Value::as_str);
            let text = said.map_or_else(|| text.clone(), |said| format!("{said}\n{text}"));
            object.insert("user_message".to_owned(), cut(&text, ADDED_MAX).into());
        }
        document
    }

    /// One process serves every window or client that is connected to it.
    fn has_several_conversations(&self) -> bool {
        true
    }

    fn tell_person(&self, text: &str) -> Value {
        json!({ "user_message": cut(text, ADDED_MAX) })
    }

    fn mods(&self, look: &Look<'_>) -> Vec<ClientMod> {
        mods::mods(look)
    }

    fn failure_stops(&self, _stdin: &[u8], _event: Option<&str>) -> bool {
        true
    }

    fn is_attended(&self, _setting: &Environment, input: &Input) -> bool {
        input.named == ASKING
    }

    fn duplicate(&self, _setting: &Environment, input: &Input) -> Option<DuplicateHook> {
        let Event::BeforeTool(used) = &input.event else {
            return None;
        };
        let side = if input.borrowed {
            Side::Borrowed
        } else if input.named == "preToolUse" {
            Side::General
        } else {
            Side::Particular
        };
        Some(DuplicateHook {
            key: before::key(used),
            side,
        })
    }
}

/// The only event whose question reaches a person.
const ASKING: &str = "beforeShellExecution";

/// Returns Cursor's own name of an event that a hook of Claude Code's settings receives.
fn own_name(named: &str) -> &str {
    match named {
        "SessionStart" => "sessionStart",
        "SessionEnd" => "sessionEnd",
        "UserPromptSubmit" => "beforeSubmitPrompt",
        "PreToolUse" => "preToolUse",
        "PostToolUse" => "postToolUse",
        "PostToolUseFailure" => "postToolUseFailure",
        "SubagentStart" => "subagentStart",
        "SubagentStop" => "subagentStop",
        "Stop" => "stop",
        own => own,
    }
}

fn event_of(named: &str, told: &HookPayload, here: &str) -> Result<Event, String> {
    let id = || Ok::<_, String>(told.said("tool_use_id")?.map(CallId::new));
    Ok(match named {
        "sessionStart" => Event::SessionStart,
        "beforeSubmitPrompt" => Event::Prompt,
        "preToolUse" => Event::BeforeTool(before::general(told, id()?, here)?),
        ASKING | "beforeMCPExecution" | "beforeReadFile" => {
            Event::BeforeTool(before::particular(named, told, here)?)
        }
        "postToolUse" => Event::AfterTool {
            tool: before::general(told, id()?, here)?,
            ok: true,
            response: told.first(&["tool_output"]),
        },
        "postToolUseFailure" => Event::AfterTool {
            tool: before::general(told, id()?, here)?,
            ok: false,
            response: told.first(&["error_message"]),
        },
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => Event::AfterTool {
            tool: before::particular(named, told, here)?,
            ok: true,
            response: told.first(&["output", "result_json"]),
        },
        "stop" => Event::Stop {
            again: told
                .get("loop_count")
                .is_some_and(|count| *count != json!(0)),
        },
        "subagentStart" => Event::SubagentStart,
        "subagentStop" => Event::SubagentStop,
        "sessionEnd" => Event::SessionEnd,
        _ => protocol::other_event(
            named,
            &["preToolUse", ASKING, "beforeMCPExecution", "beforeReadFile"],
        )?,
    })
}

/// Returns the sub-agent that an event names, directly or by its transcript.
fn sub_agent(told: &HookPayload) -> Result<Option<String>, String> {
    if let Some(agent) = told.said("subagent_id")? {
        return Ok(Some(agent));
    }
    let file = told.said("agent_transcript_path")?;
    let file = file.as_deref().map(Path::new);
    let below = |file: &&Path| {
        let directory = file.parent().and_then(Path::file_name);
        directory.is_some_and(|directory| directory == "subagents")
    };
    let name = file.filter(below).and_then(Path::file_stem);
    Ok(name.and_then(|name| name.to_str()).map(str::to_owned))
}

/// Returns the directory of the client: the first of its roots. A line's own directory belongs to the call.
fn directory(told: &HookPayload) -> Result<String, String> {
    let first = match told.get("workspace_roots") {
        None => None,
        Some(Value::Array(roots)) => match roots.first() {
            Some(Value::String(root)) => Some(root.clone()),
            None => None,
            Some(_) => return Err("`workspace_roots` of the hook's input are not text".to_owned()),
        },
        Some(_) => return Err("`workspace_roots` of the hook's input is not a list".to_owned()),
    };
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    match first.filter(|root| root.starts_with('/')) {
        Some(root) => Ok(root),
        // A window without a folder.
        None => here()
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| "the current directory is not text".to_owned()),
    }
}

fn permission(word: &str, reason: &str) -> Value {
    let reason = cut(reason, ADDED_MAX);
    json!({ "permission": word, "user_message": reason, "agent_message": reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sub_agent_is_named_by_itself_or_by_its_own_transcript() {
        for (input, agent) in [
            (r#"{"subagent_id": "a1"}"#, Some("a1")),
            (
                r#"{"agent_transcript_path": "/h/c1/subagents/a1.jsonl"}"#,
                Some("a1"),
            ),
            (r#"{"agent_transcript_path": "/h/c1/c1.jsonl"}"#, None),
            ("{}", None),
        ] {
            let told = HookPayload::parse(input.as_bytes(), &[]);
            let found = told.and_then(|told| sub_agent(&told));
            assert_eq!(found, Ok(agent.map(str::to_owned)), "{input}");
        }
    }
}
