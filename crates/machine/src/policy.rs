//! The policy of a state: which tool calls it allows.

use indexmap::IndexMap;
use interlock_tool_names::{SHELL, WRITERS, all_names};
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;

/// Tool calls that a state allows. A missing field restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Allowed tools; `None` allows all, an empty list none. `*` is a wildcard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that are denied even if `allowed_tools` lists them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    /// How calls outside `allowed_tools` are answered.
    #[serde(skip_serializing_if = "is_default")]
    pub on_denied: OnDenied,
    /// Limit of allowed calls in one stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations_max: Option<u64>,
    /// Limit of lines touched by one edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_lines_max: Option<u64>,
    /// Limit of distinct files written in one stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_max: Option<u64>,
    /// Limit of bytes of tool results in one stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes_max: Option<u64>,
    /// Commands that a shell line may run; `None`: not restricted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<CommandEntry>>,
    /// Commands whose programs may keep running after their line has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<CommandEntry>,
    /// Whether shell lines may write even if no writing tool is allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shell_writes: bool,
    /// Whether files, variables and stores that hold secrets may be read.
    #[serde(skip_serializing_if = "Secrets::are_allowed")]
    pub secrets: Secrets,
    /// Environment variables that a shell line may not use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_env: Vec<String>,
    /// Environment variables set for shell lines.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env_overrides: IndexMap<String, String>,
    /// Unix sockets, or directories of them, that shell lines may connect to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
}

/// How calls outside `allowed_tools` are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDenied {
    /// The call is denied.
    #[default]
    Deny,
    /// A person is asked for a grant.
    Ask,
}

/// How calls that read a secret are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Secrets {
    /// The call is judged like any other.
    #[default]
    Allow,
    /// The call is denied.
    Deny,
}

impl Secrets {
    /// Returns whether secrets may be read.
    #[must_use]
    pub const fn are_allowed(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

/// One entry of `allowed_commands`.
///
/// Serialized as its text alone if splitting that at blanks gives the words, as for nearly every
/// entry: a machine is read again for each call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KeptEntry", into = "KeptEntry")]
pub struct CommandEntry {
    /// Text of the entry, as in the workflow file.
    pub text: String,
    /// Split as shell words, all literal; never empty.
    pub words: Vec<String>,
}

impl CommandEntry {
    /// Returns whether the entry ends with ` *`, which allows any options after its words.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.text.trim_end().ends_with(" *")
    }
}

/// Serialized form of an entry.
#[derive(Serialize, Deserialize)]
struct KeptEntry {
    text: String,
    /// Words of the entry; `None`: the text split at blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<Vec<String>>,
}

impl From<CommandEntry> for KeptEntry {
    fn from(CommandEntry { text, words }: CommandEntry) -> Self {
        let plain = text.split(' ').eq(words.iter().map(String::as_str));
        let words = (!plain).then_some(words);
        Self { text, words }
    }
}

impl From<KeptEntry> for CommandEntry {
    fn from(KeptEntry { text, words }: KeptEntry) -> Self {
        let divided = || text.split(' ').map(str::to_owned).collect();
        let words = words.unwrap_or_else(divided);
        Self { text, words }
    }
}

/// How far a state restricts shell lines; see `allowed_tools` and the shell rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// No rule restricts shell lines.
    Free,
    /// The shell is allowed, but no writing tool is.
    NoWrite,
    /// Every other state.
    Writing,
}

impl Policy {
    /// Returns whether both tool lists allow a tool known by `names`.
    #[must_use]
    pub fn lets_pass(&self, names: &[&str]) -> bool {
        self.lists(names) && !self.disallows(names)
    }

    /// Returns whether `allowed_tools` lists one of `names`, or is absent.
    #[must_use]
    pub fn lists(&self, names: &[&str]) -> bool {
        self.allowed_tools
            .as_ref()
            .is_none_or(|patterns| matches_any(patterns, names))
    }

    /// Like [`Self::lists`], but ignores other names of the same tool.
    #[must_use]
    pub fn lists_as_written(&self, names: &[&str]) -> bool {
        self.allowed_tools
            .as_ref()
            .is_none_or(|patterns| names.iter().any(|name| has(patterns, name)))
    }

    /// Returns whether `disallowed_tools` contains one of `names`.
    #[must_use]
    pub fn disallows(&self, names: &[&str]) -> bool {
        matches_any(&self.disallowed_tools, names)
    }

    /// Returns whether the policy permits writing files in any way.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.stance() == Stance::Free
            || self.shell_writes
            || WRITERS.iter().any(|tool| self.lets_pass(&[tool]))
    }

    /// Returns how far the state restricts shell lines.
    #[must_use]
    pub fn stance(&self) -> Stance {
        let restricts = self.allowed_tools.is_some()
            || !self.disallowed_tools.is_empty()
            || self.allowed_commands.is_some()
            || !self.blocked_env.is_empty();
        let limits_writes = self.edit_lines_max.is_some() || self.files_max.is_some();
        if !restricts && !limits_writes {
            return Stance::Free;
        }
        let writes = WRITERS.iter().any(|tool| self.lets_pass(&[tool]));
        if self.lets_pass(&[SHELL]) && !writes && !self.shell_writes {
            Stance::NoWrite
        } else {
            Stance::Writing
        }
    }
}

/// Returns whether a pattern matches one of `names`, or another name of the same tool.
fn matches_any(patterns: &[String], names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| has(patterns, name) || all_names(name).iter().any(|other| has(patterns, other)))
}

fn has(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| wildcard_matches(pattern, name))
}

/// Matches `name` against `pattern`, where `*` stands for any text, including none.
///
/// Takes time linear in the product of the lengths; no other character is special.
#[must_use]
pub fn wildcard_matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}
