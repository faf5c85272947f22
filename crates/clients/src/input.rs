//! What a client tells its hook, in nobody's words: the same for every client.

use std::path::PathBuf;

use interlock_core::names::{AgentId, CallId};
use interlock_facts::{Parsed, parse};
use serde_json::Value;

use crate::client::ClientId;

/// One call of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Whose hook it is.
    pub client: ClientId,
    /// Whether the hook's line was written for another client, and this one runs it too.
    pub borrowed: bool,
    /// Whether the hook of a plugin asks, beside which those of the settings may ask as well.
    pub by_plugin: bool,
    /// The client's own name of what happened.
    pub named: String,
    /// The session.
    pub session: String,
    /// The session that started this one as a sub-agent's, where the client says so.
    pub parent: Option<String>,
    /// Another session that the input names beside a sub-agent's: it is held as that one, where nobody knows who started it.
    pub beside: Option<String>,
    /// Why a session begins, in the client's own word (`startup`, `clear`, `fork`), where it says so.
    pub source: Option<String>,
    /// The directory the client works in.
    pub directory: String,
    /// When the client asks its person.
    pub mode: Mode,
    /// The file in which the client keeps what was said, where it names one.
    pub transcript: Option<PathBuf>,
    /// The plugins that the client says it has loaded, where it says so.
    pub plugins: Vec<String>,
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
    /// Before what its rules do not allow, and it changes nothing itself.
    Plan,
    /// Never: `bypassPermissions`.
    Bypass,
    /// Not known: a machine decides, or nobody.
    Other,
}

impl Mode {
    /// Reads the word that Claude Code and Codex have for it.
    #[must_use]
    pub fn named(word: Option<&str>) -> Self {
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
    /// The model is about to be asked; unlike a prompt, this begins nothing.
    Turn,
    /// The model is about to be offered tools.
    Menu,
    /// A tool is about to be called.
    BeforeTool(ToolUse),
    /// A call that was judged is about to run, as the client will run it.
    Running(ToolUse),
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
    /// The agent is about to call a task of its own list done.
    TaskDone {
        /// The client's name of the task.
        task: String,
    },
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent has stopped.
    SubagentStop,
    /// The session ends.
    SessionEnd,
    /// Anything else.
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The client's id of the call; `None`: it gives none.
    pub id: Option<CallId>,
    /// The tool.
    pub name: String,
    /// The common name of a tool of an MCP server, where the client has another form of it.
    pub common: Option<String>,
    /// Its arguments.
    pub input: Value,
    /// A key that stands twice in the arguments.
    pub doubled: Option<String>,
    /// The file that a call was seen to write, where that alone is told of it.
    pub wrote: Option<String>,
}

/// The JSON that a client writes to its hook, read strictly.
#[derive(Debug)]
pub(crate) struct HookPayload {
    parsed: Parsed,
}

impl HookPayload {
    /// Parses it; none of the keys in `once` may stand twice.
    pub(crate) fn parse(stdin: &[u8], once: &[&str]) -> Result<Self, String> {
        let parsed =
            parse(stdin).map_err(|error| format!("the hook's input is not JSON: {error}"))?;
        if !parsed.value.is_object() {
            return Err("the hook's input is not an object".to_owned());
        }
        let twice = parsed
            .duplicates
            .iter()
            .filter_map(|doubled| doubled.strip_prefix('/'))
            .find(|doubled| once.contains(doubled));
        match twice {
            Some(key) => Err(format!("the hook's input has `{key}` twice")),
            None => Ok(Self { parsed }),
        }
    }

    /// Returns what stands under a key; null is nothing.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.parsed.value.get(key).filter(|value| !value.is_null())
    }

    /// Returns the client that wrote this to a hook of Claude Code's settings; `None`: that one.
    ///
    /// Cursor and Copilot CLI run those hooks too, each in words of its own.
    pub(crate) fn borrower(&self) -> Option<ClientId> {
        if self.get("conversation_id").is_some() || self.get("cursor_version").is_some() {
            Some(ClientId::Cursor)
        } else if self.get("timestamp").is_some() && !self.is_claude_code() {
            Some(ClientId::Copilot)
        } else {
            None
        }
    }

    /// Tells whether the input has what Claude Code alone writes: the mode of its session, the
    /// id of a use of a tool, a transcript that is called as the session is.
    fn is_claude_code(&self) -> bool {
        let text = |key: &str| self.get(key).and_then(Value::as_str);
        let own = ["permission_mode", "tool_use_id"];
        let transcript = || {
            let (path, session) = text("transcript_path").zip(text("session_id"))?;
            let name = path.rsplit(['/', '\\']).next()?;
            name.strip_suffix(".jsonl").filter(|name| *name == session)
        };
        own.iter().any(|key| self.get(key).is_some()) || transcript().is_some()
    }

    /// Returns a text that must be there.
    pub(crate) fn text(&self, key: &str) -> Result<String, String> {
        self.optional(key)?
            .ok_or_else(|| format!("the hook's input has no `{key}`"))
    }

    /// Returns a text that may be missing or empty; anything but text is refused.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(format!("`{key}` of the hook's input is not text")),
        }
    }

    /// Returns a text that says something where it is there.
    pub(crate) fn said(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            Some(_) => self.text(key).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a text that stands under one of two names.
    pub(crate) fn either(&self, one: &str, other: &str) -> Result<Option<String>, String> {
        match (self.said(one)?, self.said(other)?) {
            (Some(one_says), Some(other_says)) if one_says != other_says => Err(format!(
                "`{one}` and `{other}` of the hook's input say two different things"
            )),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// Returns what stands under the first of these names that is there; else null.
    pub(crate) fn first(&self, keys: &[&str]) -> Value {
        let found = keys.iter().find_map(|key| self.get(key));
        found.cloned().unwrap_or(Value::Null)
    }

    /// Returns a word that only steers; what is no text says nothing.
    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// Tells whether a flag is there and set.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        is_set(self.get(key))
    }

    /// Returns the first key that stands twice at or below `pointer`.
    pub(crate) fn doubled_below(&self, pointer: &str) -> Option<String> {
        self.parsed.duplicate_below(pointer).map(str::to_owned)
    }

    /// Returns the name of the event: the input's own word, or the argument where it has none.
    pub(crate) fn event(&self, argument: Option<&str>) -> Result<String, String> {
        match (self.parsed.value.get("hook_event_name"), argument) {
            (None, Some(event)) => Ok(event.to_owned()),
            _ => self.text("hook_event_name"),
        }
    }

    /// Reads the call of a tool, of clients that name its parts so.
    pub(crate) fn tool(&self, id: Option<CallId>) -> Result<ToolUse, String> {
        Ok(ToolUse {
            id,
            name: self.text("tool_name")?,
            common: None,
            input: self.get("tool_input").cloned().unwrap_or(Value::Null),
            doubled: self.doubled_below("/tool_input"),
            wrote: None,
        })
    }
}

/// Tells whether a flag of a client is there and set.
pub(crate) fn is_set(flag: Option<&Value>) -> bool {
    !matches!(flag, None | Some(Value::Null | Value::Bool(false)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use serde_json::json;

    use super::HookPayload;
    use crate::client::ClientId;

    #[test]
    fn a_hook_of_claude_code_is_told_apart_by_what_each_client_alone_writes() {
        let time = "2026-11-22T08:34:23.140Z";
        let rows = [
            (json!({"session_id": "s", "tool_name": "Bash"}), None),
            (
                json!({"session_id": "s", "tool_name": "Bash", "timestamp": time}),
                Some(ClientId::Copilot),
            ),
            (
                json!({"session_id": "s", "transcript_path": "/h/.copilot/s/events.jsonl", "timestamp": time}),
                Some(ClientId::Copilot),
            ),
            // A later version of Claude Code may well say when it was.
            (
                json!({"session_id": "s", "permission_mode": "default", "timestamp": time}),
                None,
            ),
            (
                json!({"session_id": "s", "tool_use_id": "t", "timestamp": time}),
                None,
            ),
            (
                json!({"session_id": "s", "transcript_path": "/h/.claude/projects/p/s.jsonl", "timestamp": time}),
                None,
            ),
            (
                json!({"session_id": "s", "conversation_id": "c", "permission_mode": "default"}),
                Some(ClientId::Cursor),
            ),
        ];
        for (input, client) in rows {
            let told = HookPayload::parse(input.to_string().as_bytes(), &[]).unwrap();
            assert_eq!(told.borrower(), client, "{input}");
        }
    }
}
