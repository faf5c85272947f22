//! opencode: what its plugin sends to the hook, and the hook's answers.
//!
//! opencode runs plugins inside itself, so Interlock's own plugin defines the protocol. It asks before each tool and throws on a
//! denial and on any failure. Tested with 1.18.34.
//!
//! Input: `{"event": "tool.execute.before", "session", "parent", "directory", "call", "tool", "server", "args", "output", "metadata", "carries"}`.
//! `parent` is given for the session of a sub-agent, `server` for a tool of an MCP server, and `carries` if opencode would run
//! any line without a question. A prompt also has `plugins`, the names of the plugins loaded into opencode, and `copy`, whether
//! the session began as a copy of another.
//!
//! Answer: `{"deny": REASON}`, `{"args": {…}}`, `{"context": TEXT}`, `{"stop": REASON}` to a prompt, or `{}`; with `held` if the
//! arguments must stay as they were judged.

pub(crate) mod install;
mod mods;

pub(crate) use mods::packages;

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
    tools::of_server,
};

/// The plugin, with the bare name of this program in place of its path.
pub const PLUGIN: &str = include_str!("../plugins/opencode.ts");

/// Longest text a hook may add to the conversation, in characters.
const ADDED_MAX: usize = 9_500;

/// Keys of the input that affect a decision, and so must not be duplicated.
const ONCE: [&str; 11] = [
    "event",
    "session",
    "parent",
    "directory",
    "call",
    "tool",
    "server",
    "args",
    "carries",
    "plugins",
    "copy",
];

/// Source of a session that is a copy of another; opencode does not name the original.
const COPY: &str = "fork";

/// opencode.
pub(crate) struct Opencode;

impl Protocol for Opencode {
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String> {
        let told = HookPayload::parse(stdin, &ONCE)?;
        let named = match (told.said("event")?, event) {
            (Some(named), _) => named,
            (None, Some(named)) => named.to_owned(),
            (None, None) => return Err("the hook's input has no `event`".to_owned()),
        };
        let session = told.text("session")?;
        let parent = told.said("parent")?.filter(|parent| *parent != session);
        let event = match named.as_str() {
            "session.created" => Event::SessionStart,
            "chat.message" => Event::Prompt,
            "chat.system" => Event::Turn,
            "tool.execute.before" => Event::BeforeTool(tool(&told)?),
            "tool.execute.after" => Event::AfterTool {
                tool: tool(&told)?,
                ok: !is_error(&told),
                response: json!({
                    "output": told.first(&["output"]),
                    "metadata": told.first(&["metadata"]),
                }),
            },
            "session.idle" => Event::Stop { again: false },
            "session.deleted" => Event::SessionEnd,
            _ => return Err(format!("no event `{named}` is known")),
        };
        Ok(Input {
            client: ClientId::Opencode,
            borrowed: false,
            by_plugin: false,
            directory: told.text("directory")?,
            // The plugin has checked whether opencode asks about lines.
            mode: if told.get("carries") == Some(&Value::Bool(true)) {
                Mode::Bypass
            } else {
                Mode::Other
            },
            source: (told.get("copy") == Some(&Value::Bool(true))).then(|| COPY.to_owned()),
            transcript: None,
            plugins: plugins(&told)?,
            agent: parent.is_some().then(|| AgentId::new(session.clone())),
            session,
            parent,
            beside: None,
            named,
            event,
        })
    }

    fn write(&self, input: &Input, answer: &Answer) -> Value {
        let mut document = match &answer.say {
            Say::Deny(reason) => json!({ "deny": cut(reason, ADDED_MAX) }),
            Say::Ask(reason)
            | Say::Rewrite {
                asks: true, reason, ..
            } => {
                json!({ "deny": cut(&needs_a_person(reason), ADDED_MAX) })
            }
            Say::Rewrite { input, .. } => json!({ "args": input }),
            Say::Add(text) => json!({ "context": cut(text, ADDED_MAX) }),
            Say::Stop(reason) => json!({ "stop": cut(reason, ADDED_MAX) }),
            // The plugin learns of the end only afterwards: nothing can keep the agent working.
            Say::GoOn(_) | Say::Allow(_) | Say::Nothing | Say::Menu(_) => json!({}),
        };
        if let (Value::Object(object), true) = (&mut document, answer.held)
            && matches!(input.event, Event::BeforeTool(_))
            && !object.contains_key("deny")
        {
            object.insert("held".to_owned(), true.into());
        }
        if let (Value::Object(object), Some(text)) = (&mut document, &answer.person) {
            object.insert("person".to_owned(), cut(text, ADDED_MAX).into());
        }
        document
    }

    /// A copy does not name its original.
    fn origin(&self, input: &Input) -> Origin {
        if input.source.as_deref() == Some(COPY) {
            Origin::Unknown
        } else {
            Origin::Itself
        }
    }

    /// One process serves every window or client that is connected to it.
    fn has_several_conversations(&self) -> bool {
        true
    }

    /// The plugin only reports the start of a session.
    fn hears_at_start(&self) -> bool {
        false
    }

    fn tell_person(&self, text: &str) -> Value {
        json!({ "person": cut(text, ADDED_MAX) })
    }

    fn failure_stops(&self, _stdin: &[u8], _event: Option<&str>) -> bool {
        true
    }

    fn mods(&self, look: &Look<'_>) -> Vec<ClientMod> {
        mods::mods(look)
    }

    fn carrying(&self, _setting: &Environment, input: &Input, _project: &Path) -> RewriteMode {
        if input.mode == Mode::Bypass {
            RewriteMode::Yes
        } else {
            RewriteMode::No
        }
    }

    fn objection(&self, call: &ToolCall) -> Option<String> {
        let unseen = call.tool == "batch";
        unseen.then(|| "it runs other tools that no hook sees: call them one by one".to_owned())
    }

    /// The field is the client's own; the output of the line is in another.
    fn exit_code(&self, ended: &Ended<'_>) -> Option<i64> {
        let metadata = ended.response.get("metadata")?;
        metadata.get("exit")?.as_i64()
    }

    fn result_bytes(&self, _used: &ToolUse, response: &Value) -> u64 {
        response.get("output").map_or(0, protocol::shown_bytes)
    }
}

/// Reads the plugins that opencode reports as loaded.
fn plugins(told: &HookPayload) -> Result<Vec<String>, String> {
    let Some(listed) = told.get("plugins") else {
        return Ok(Vec::new());
    };
    let names = listed.as_array().map(|names| {
        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
        names.collect::<Option<Vec<_>>>()
    });
    names
        .flatten()
        .ok_or_else(|| "`plugins` is not a list of names".to_owned())
}

fn tool(told: &HookPayload) -> Result<ToolUse, String> {
    let mut name = told.text("tool")?;
    let mut common = None;
    if let Some(server) = told.said("server")? {
        let tool = name.strip_prefix(server.as_str());
        common = tool
            .and_then(|tool| tool.strip_prefix('_'))
            .map(|tool| format!("mcp__{server}__{tool}"));
        name = of_server(ClientId::Opencode, name, &server);
    }
    Ok(ToolUse {
        id: told.said("call")?.map(CallId::new),
        common,
        name,
        input: told.get("args").cloned().unwrap_or(Value::Null),
        doubled: told.doubled_below("/args"),
        wrote: None,
    })
}

/// Returns whether the tool of an MCP server reports a failure.
fn is_error(told: &HookPayload) -> bool {
    let output = told.get("output");
    output.and_then(|output| output.get("isError")) == Some(&Value::Bool(true))
}
