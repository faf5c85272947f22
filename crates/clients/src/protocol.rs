//! How the hooks of a client speak: what every client's module says of its own.

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

/// What a client's own rule does with a shell line it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// It runs, and nobody is asked.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// Whether a client may be given another line than the agent wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewriteMode {
    /// It may not: it would not run it, or its own rules would not see the line any more.
    No,
    /// Its own rules about the line decide.
    ByRules,
    /// It may: it has no rules about lines, and asks nobody.
    Yes,
}

/// A call that has ended, as a client tells it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    /// All that the hook was told.
    pub(crate) input: &'a Input,
    /// The call.
    pub(crate) used: &'a ToolUse,
    /// Whether the client calls it a success.
    pub(crate) ok: bool,
    /// What the tool returned.
    pub(crate) response: &'a Value,
    /// Whether a guard may hang on how it ended, so that it is worth a look into the client's files.
    pub(crate) proves: bool,
}

/// Whose conversation a session goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its own, as far as the client tells.
    Itself,
    /// A copy of another session's.
    Session(String),
    /// A copy of one that the client does not name.
    Unknown,
}

/// Which of the hooks of one call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one of every tool.
    General,
    /// The one of tools of this kind.
    Particular,
    /// One that was written for another client, and that this one runs too.
    Borrowed,
    /// That of Interlock's plugin.
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

/// What the tellings of one call have in common, and which of them this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DuplicateHook {
    /// Digest of what all of them say.
    pub(crate) key: Digest,
    /// Which this is.
    pub(crate) side: Side,
}

/// How the hooks of one client speak.
pub(crate) trait Protocol: Sync {
    /// Reads what the client writes to its hook.
    fn read(&self, stdin: &[u8], event: Option<&str>) -> Result<Input, String>;

    /// Returns the client that has run a hook which is written for this one, and speaks words of its own.
    fn borrower(&self, _stdin: &[u8]) -> Option<ClientId> {
        None
    }

    /// Writes an answer to `input` in the client's words.
    fn write(&self, input: &Input, answer: &Answer) -> Value;

    /// Tells the person something where the input could not be read.
    fn tell_person(&self, text: &str) -> Value;

    /// Tells whether a failure of ours must stop the client, as far as `stdin` can be read.
    ///
    /// It always must, but for an agent that was kept from ending its turn just
    /// before: that would never end.
    fn failure_stops(&self, stdin: &[u8], event: Option<&str>) -> bool;

    /// Tells whose conversation a session that begins goes on with.
    fn origin(&self, _input: &Input) -> Origin {
        Origin::Itself
    }

    /// Tells whether no other task of the agent's own list is left to do.
    fn is_last_task(&self, _setting: &Environment, _input: &Input, _task: &str) -> bool {
        true
    }

    /// Lists what else decides about the client's calls: code inside of it, and hooks of others.
    fn mods(&self, _look: &Look<'_>) -> Vec<ClientMod> {
        Vec::new()
    }

    /// Tells whether one process of the client may have conversations about several projects at once.
    fn has_several_conversations(&self) -> bool {
        false
    }

    /// Tells whether what a hook answers at the start of a session reaches the conversation.
    fn hears_at_start(&self) -> bool {
        true
    }

    /// Tells whether a person answers what the client is told to ask about this.
    fn is_attended(&self, _setting: &Environment, _input: &Input) -> bool {
        false
    }

    /// Tells whether the client may be given another line than the agent wrote.
    fn carrying(&self, _setting: &Environment, _input: &Input, _project: &Path) -> RewriteMode {
        RewriteMode::No
    }

    /// Returns what the client's own rules do with a shell line, as far as a rewritten one hides from them.
    fn about_line(
        &self,
        _setting: &Environment,
        _input: &Input,
        _project: &Path,
        _line: &ShellFacts,
    ) -> Option<Effect> {
        None
    }

    /// Returns which telling of a call this is, where the client tells of each more than once.
    fn duplicate(&self, _setting: &Environment, _input: &Input) -> Option<DuplicateHook> {
        None
    }

    /// Tells whether a carried line is to read nothing from where it is started.
    fn silences(&self) -> bool {
        false
    }

    /// Returns why a call cannot be judged by its facts, for what this client makes of it.
    fn objection(&self, _call: &ToolCall) -> Option<String> {
        None
    }

    /// Returns the exit code of a shell line, where the client's own words say it for sure.
    fn exit_code(&self, _ended: &Ended<'_>) -> Option<i64> {
        None
    }

    /// Counts the bytes of a result that the model sees.
    fn result_bytes(&self, _used: &ToolUse, response: &Value) -> u64 {
        shown_bytes(response)
    }

    /// Tells whether the exit code of a carried line counts: not of one that goes on in the background.
    fn proves(&self, used: &ToolUse) -> bool {
        !["run_in_background", "is_background", "background", "detach"]
            .iter()
            .any(|flag| is_set(used.input.get(flag)))
    }
}

/// Reads an event that has no meaning here; not one that is spelled nearly as one `before` a call.
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
/// An item of content that is text counts with its text alone.
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

/// Tells whether a failure of ours stops a client that says when its turn was kept from ending.
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

/// Words a question as the denial it is where no person answers the client.
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
