//! The hook protocol of a client, which each client's module implements.

use std::path::Path;

use interlock_core::{call::ToolCall, facts::ShellFacts, names::Digest};
use interlock_facts::parse;
use interlock_project::Environment;
use interlock_store::ClientMod;
use serde_json::Value;

use crate::{
    answer::Answer,
    client::ClientId,
    input::{Event, Input, ToolUse, is_set},
    mods::Look,
};

/// Effect of a client's own rule on a shell line that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// The line runs without a question.
    Allow,
    /// The client asks a person.
    Ask,
    /// The client denies the line.
    Deny,
}

/// Whether a client may receive a different line than the agent wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewriteMode {
    /// It may not: it would not run the line, or its own rules would no longer see the original.
    No,
    /// Its own rules about the line decide.
    ByRules,
    /// It may: it has no rules for lines, and asks nobody.
    Yes,
}

/// A call that has ended, as the client reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    /// The hook's input.
    pub(crate) input: &'a Input,
    /// The call.
    pub(crate) used: &'a ToolUse,
    /// Whether the client reports success.
    pub(crate) ok: bool,
    /// Result of the tool.
    pub(crate) response: &'a Value,
    /// Whether a guard may depend on the call's outcome, so that reading the client's files is worthwhile.
    pub(crate) proves: bool,
}

/// The conversation that a session continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its own, as far as the client reports.
    Itself,
    /// A copy of another session's conversation.
    Session(String),
    /// A copy of one that the client does not name.
    Unknown,
}

/// Which of the hooks of one call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The hook of every tool.
    General,
    /// The hook of this kind of tool.
    Particular,
    /// A hook that was written for another client, and that this client runs too.
    Borrowed,
    /// The hook of Interlock's plugin.
    Plugin,
}

impl Side {
    pub(crate) const ALL: [Self; 4] = [
        Self::General,
        Self::Particular,
        Self::Borrowed,
        Self::Plugin,
    ];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Particular => "particular",
            Self::Borrowed => "borrowed",
            Self::Plugin => "plugin",
        }
    }
}

/// What the reports of one call have in common, and which of them this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DuplicateHook {
    /// Digest of what all reports contain.
    pub(crate) key: Digest,
    /// Which report this is.
    pub(crate) side: Side,
}

/// Hook protocol of one client.
pub(crate) trait Protocol: Sync {
    /// Parses the input that the client writes to its hook.
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String>;

    /// Returns the client that ran a hook written for this one, and that has a format of its own.
    fn borrower(&self, _stdin: &[u8]) -> Option<ClientId> {
        None
    }

    /// Writes an answer to `input` in the client's format.
    fn write(&self, input: &Input, answer: &Answer) -> Value;

    /// Writes a message to the person if the input could not be read.
    fn tell_person(&self, text: &str) -> Value;

    /// Returns whether a failure of Interlock must stop the client, as far as `stdin` can be read.
    ///
    /// It must, except for an agent that was just prevented from ending its turn: that would never end.
    fn failure_stops(&self, stdin: &[u8], event: Option<&str>) -> bool;

    /// Returns the conversation that a beginning session continues.
    fn origin(&self, _input: &Input) -> Origin {
        Origin::Itself
    }

    /// Returns whether no other task of the agent's own list is open.
    fn is_last_task(&self, _setting: &Environment, _input: &Input, _task: &str) -> bool {
        true
    }

    /// Lists what else decides about the client's calls: code inside it, and other hooks.
    fn mods(&self, _look: &Look<'_>) -> Vec<ClientMod> {
        Vec::new()
    }

    /// Returns whether one process of the client may have conversations about several projects at once.
    fn has_several_conversations(&self) -> bool {
        false
    }

    /// Returns whether a hook's answer at the start of a session reaches the conversation.
    fn hears_at_start(&self) -> bool {
        true
    }

    /// Returns whether a person answers the client's prompt about this event.
    fn is_attended(&self, _setting: &Environment, _input: &Input) -> bool {
        false
    }

    /// Returns whether the client may receive a different line than the agent wrote.
    fn carrying(&self, _setting: &Environment, _input: &Input, _project: &Path) -> RewriteMode {
        RewriteMode::No
    }

    /// Returns the effect of the client's own rules on a shell line, as far as a rewritten line hides it from them.
    fn about_line(
        &self,
        _setting: &Environment,
        _input: &Input,
        _project: &Path,
        _line: &ShellFacts,
    ) -> Option<Effect> {
        None
    }

    /// Returns which report of a call this is, if the client reports each call more than once.
    fn duplicate(&self, _setting: &Environment, _input: &Input) -> Option<DuplicateHook> {
        None
    }

    /// Returns whether a rewritten line must read no input.
    fn silences(&self) -> bool {
        false
    }

    /// Returns why a call cannot be judged by its facts, because of how this client runs it.
    fn objection(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    /// Returns the exit code of a shell line, if the client itself reports it reliably.
    fn exit_code(&self, _ended: &Ended<'_>) -> Option<i64> {
        None
    }

    /// Counts the bytes of a result that the model sees.
    fn result_bytes(&self, _used: &ToolUse, response: &Value) -> u64 {
        shown_bytes(response)
    }

    /// Returns whether the exit code of a rewritten line counts; false for one that continues in the background.
    fn proves(&self, used: &ToolUse) -> bool {
        !["run_in_background", "is_background", "background", "detach"]
            .iter()
            .any(|flag| is_set(used.input.get(flag)))
    }
}

/// Reads an event that has no meaning here; refuses a name that is spelled almost like one of `before`, the events before a call.
pub(crate) fn other_event(named: &str, before: &[&str]) -> Result<Event, String> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.flat_map(char::to_lowercase).collect()
    };
    match before.iter().find(|known| plain(known) == plain(named)) {
        Some(known) => Err(format!(
            "no event `{named}` is known: it is called `{known}`"
        )),
        None => Ok(Event::Other),
    }
}

/// Counts the bytes of a result that a model may read: its texts, keys, numbers and words.
///
/// A content item that is text counts with its text alone.
pub(crate) fn shown_bytes(value: &Value) -> u64 {
    let bytes = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    match value {
        Value::String(text) => bytes(text),
        Value::Array(items) => items.iter().map(shown_bytes).sum(),
        Value::Object(object) => match (object.get("type"), object.get("text")) {
            (Some(Value::String(kind)), Some(Value::String(text))) if kind == "text" => bytes(text),
            _ => {
                let entries = object.iter();
                entries
                    .map(|(key, value)| bytes(key).saturating_add(shown_bytes(value)))
                    .sum()
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => bytes(&value.to_string()),
    }
}

/// Returns whether a failure of Interlock stops a client that reports when its turn was kept from ending.
pub(crate) fn stops_but_a_second_stop(stdin: &[u8], argument: Option<&str>) -> bool {
    let again = parse(stdin).is_ok_and(|parsed| {
        let named = parsed.value.get("hook_event_name").and_then(Value::as_str);
        let ends = [
            "Stop",
            "SubagentStop",
            "AfterAgent",
            "agentStop",
            "subagentStop",
            "stop",
        ];
        let flags = ["stop_hook_active", "stopHookActive"];
        named
            .or(argument)
            .is_some_and(|named| ends.contains(&named))
            && flags.iter().any(|flag| is_set(parsed.value.get(flag)))
    });
    !again
}

/// Turns a question into the denial that it is if no person answers the client.
pub(crate) fn needs_a_person(reason: &str) -> String {
    format!("{reason} A person has to agree first: `interlock approve`.")
}

#[cfg(test)]
mod tests {
    use crate::registry::read;
    use crate::{client::ClientId, input::Event};

    #[test]
    fn a_result_cut_within_a_character_is_read_and_a_proposal_is_not() {
        let told = |event: &str| {
            format!(
                r#"{{"session_id":"s","cwd":"/p","hook_event_name":"{event}","tool_name":"Bash",
                "tool_use_id":"t","tool_input":{{"command":"npm test"}},
                "tool_response":{{"stdout":"cut \ud83d","stderr":"","interrupted":false}}}}"#
            )
        };
        let result = read(ClientId::ClaudeCode, told("PostToolUse").as_bytes(), None);
        assert!(
            result.is_ok_and(|input| matches!(input.event, Event::AfterTool { .. })),
            "the result is lost"
        );
        let proposal = read(ClientId::ClaudeCode, told("PreToolUse").as_bytes(), None);
        assert!(proposal.is_err(), "{proposal:?}");
    }
}
