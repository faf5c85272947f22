//! The input of a hook, in one form for every client.

use std::path::PathBuf;

use interlock_core::names::{AgentId, CallId};
use interlock_facts::{Parsed, parse};
use serde_json::Value;

use crate::client::ClientId;

/// One call of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Client whose hook it is.
    pub client: ClientId,
    /// Whether the hook was written for another client, and this client runs it, too.
    pub borrowed: bool,
    /// Whether a plugin's hook calls; hooks in the settings may call as well.
    pub by_plugin: bool,
    /// The client's own name of the event.
    pub named: String,
    /// The session.
    pub session: String,
    /// Session that started this one for a sub-agent, if the client names it.
    pub parent: Option<String>,
    /// Another session that the input names besides a sub-agent's; the session is treated as that one if its parent is unknown.
    pub beside: Option<String>,
    /// Why a session begins, in the client's own word (`startup`, `clear`, `fork`), if given.
    pub source: Option<String>,
    /// Working directory of the client.
    pub directory: String,
    /// When the client prompts its person.
    pub mode: Mode,
    /// File in which the client stores the conversation, if given.
    pub transcript: Option<PathBuf>,
    /// Plugins that the client reports as loaded, if it does.
    pub plugins: Vec<String>,
    /// Sub-agent that the event is about; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// What happened.
    pub event: Event,
}

/// When the client prompts its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Before anything that its rules do not allow: `default`, `acceptEdits`.
    Asks,
    /// Before anything that its rules do not allow; it changes nothing itself.
    Plan,
    /// Never: `bypassPermissions`.
    Bypass,
    /// Unknown: a program decides, or nobody.
    Other,
}

impl Mode {
    /// Parses the mode name that Claude Code and Codex use.
    #[must_use]
    pub fn named(word: Option<&str>) -> Self {
        match word {
            Some("default" | "acceptEdits") => Self::Asks,
            Some("plan") => Self::Plan,
            Some("bypassPermissions") => Self::Bypass,
            _ => Self::Other,
        }
    }

    /// Returns whether the client prompts a person, if one is there.
    #[must_use]
    pub const fn asks(self) -> bool {
        matches!(self, Self::Asks | Self::Plan)
    }
}

/// The event that a hook reports.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A session began, or its transcript was cut short.
    SessionStart,
    /// A person sent a prompt.
    Prompt,
    /// The model is about to be called; unlike a prompt, this begins nothing.
    Turn,
    /// The model is about to be offered tools.
    Menu,
    /// A tool is about to be called.
    BeforeTool(ToolUse),
    /// A call that was judged is about to run, in the form in which the client will run it.
    Running(ToolUse),
    /// A tool has been called.
    AfterTool {
        /// The call.
        tool: ToolUse,
        /// Whether it succeeded.
        ok: bool,
        /// Result of the tool.
        response: Value,
    },
    /// The agent is about to end its turn.
    Stop {
        /// Whether it was just prevented from ending it.
        again: bool,
    },
    /// The agent is about to mark a task of its own list as done.
    TaskDone {
        /// The client's id of the task.
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
    /// The client's id of the call; `None` if it gives none.
    pub id: Option<CallId>,
    /// The tool.
    pub name: String,
    /// Common name of an MCP server's tool, if the client has another form of it.
    pub common: Option<String>,
    /// Its arguments.
    pub input: Value,
    /// A duplicate key in the arguments.
    pub doubled: Option<String>,
    /// File that the call was observed to write, if the event reports only that.
    pub wrote: Option<String>,
}

/// The JSON that a client writes to its hook, parsed strictly.
#[derive(Debug)]
pub(crate) struct HookPayload {
    parsed: Parsed,
}

impl HookPayload {
    /// Parses the JSON; none of the keys in `once` may be duplicated.
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

    /// Returns the value of a key; null counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.parsed.value.get(key).filter(|value| !value.is_null())
    }

    /// Returns the client that ran a hook of Claude Code's settings; `None` if it was Claude Code.
    ///
    /// Cursor and Copilot CLI run those hooks too, each in a format of its own.
    pub(crate) fn borrower(&self) -> Option<ClientId> {
        if self.get("conversation_id").is_some() || self.get("cursor_version").is_some() {
            Some(ClientId::Cursor)
        } else if self.get("timestamp").is_some() && !self.is_claude_code() {
            Some(ClientId::Copilot)
        } else {
            None
        }
    }

    /// Returns whether the input has what only Claude Code writes: the mode of its session, the id of a tool use, a transcript
    /// named after the session.
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

    /// Returns a required text.
    pub(crate) fn text(&self, key: &str) -> Result<String, String> {
        self.optional(key)?
            .ok_or_else(|| format!("the hook's input has no `{key}`"))
    }

    /// Returns a text that may be missing or empty; any other type is refused.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(format!("`{key}` of the hook's input is not text")),
        }
    }

    /// Returns a text that must not be empty if it is given.
    pub(crate) fn said(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            Some(_) => self.text(key).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a text under one of two keys.
    pub(crate) fn either(&self, one: &str, other: &str) -> Result<Option<String>, String> {
        match (self.said(one)?, self.said(other)?) {
            (Some(one_says), Some(other_says)) if one_says != other_says => Err(format!(
                "`{one}` and `{other}` of the hook's input say two different things"
            )),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// Returns the value of the first of these keys that exists, or null.
    pub(crate) fn first(&self, keys: &[&str]) -> Value {
        let found = keys.iter().find_map(|key| self.get(key));
        found.cloned().unwrap_or(Value::Null)
    }

    /// Returns an optional word that affects no decision; other types count as missing.
    pub(crate) fn word(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// Returns whether a flag is given and set.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        is_set(self.get(key))
    }

    /// Returns the first duplicate key at or below `pointer`.
    pub(crate) fn doubled_below(&self, pointer: &str) -> Option<String> {
        self.parsed.duplicate_below(pointer).map(str::to_owned)
    }

    /// Returns the name of the event: from the input, or else from the argument.
    pub(crate) fn event(&self, argument: Option<&str>) -> Result<String, String> {
        match (self.parsed.value.get("hook_event_name"), argument) {
            (None, Some(event)) => Ok(event.to_owned()),
            _ => self.text("hook_event_name"),
        }
    }

    /// Reads the call of a tool, for clients that name its parts in this way.
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

/// Returns whether a client's flag is given and set.
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
            // A later version of Claude Code may add a timestamp.
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
