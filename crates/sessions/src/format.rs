//! Formats of recordings.

use serde_json::Value;

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A log of Interlock, one event per line.
    Interlock,
    /// A transcript of Claude Code.
    ClaudeCode,
    /// A rollout of Codex.
    Codex,
    /// A chat of Gemini CLI.
    Gemini,
    /// The events of a session of Copilot CLI.
    Copilot,
    /// An exported session of opencode.
    Opencode,
    /// A trajectory in the Agent Trajectory Interchange Format.
    Atif,
    /// Spans of OpenTelemetry, as OTLP writes them in JSON.
    Otel,
}

impl Format {
    /// Returns its name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Interlock => "Interlock",
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Copilot => "Copilot CLI",
            Self::Opencode => "opencode",
            Self::Atif => "ATIF",
            Self::Otel => "OpenTelemetry",
        }
    }

    /// Returns the identifier of the client that writes it; `None` if there are several.
    #[must_use]
    pub const fn client(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("claude-code"),
            Self::Codex => Some("codex"),
            Self::Gemini => Some("gemini"),
            Self::Copilot => Some("copilot"),
            Self::Opencode => Some("opencode"),
            Self::Interlock | Self::Atif | Self::Otel => None,
        }
    }

    /// Returns the newest tested version.
    #[must_use]
    pub const fn tried(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("2.1.329"),
            Self::Codex => Some("0.169.0"),
            Self::Copilot => Some("1.0.102"),
            Self::Opencode => Some("1.18.33"),
            Self::Gemini | Self::Interlock | Self::Atif | Self::Otel => None,
        }
    }

    /// Determines the format from one record; returns `None` if this record does not show it.
    pub(crate) fn of(record: &Value) -> Option<Self> {
        let has = |key: &str| record.get(key).is_some();
        let word = |key: &str| record.get(key).and_then(Value::as_str);
        if has("resourceSpans") || has("scopeSpans") {
            return Some(Self::Otel);
        }
        if word("schema_version").is_some_and(|version| version.starts_with("ATIF")) {
            return Some(Self::Atif);
        }
        if has("info") && has("messages") {
            return Some(Self::Opencode);
        }
        if has("seq") && has("event") && has("at") {
            return Some(Self::Interlock);
        }
        if has("projectHash") || has("$set") || word("type") == Some("gemini") {
            return Some(Self::Gemini);
        }
        if word("type").is_some() && has("payload") {
            return Some(Self::Codex);
        }
        // Before it had envelopes, Codex wrote only the items, with the session in the first line.
        if has("instructions") && has("timestamp") && has("id") {
            return Some(Self::Codex);
        }
        if word("type").is_some_and(|kind| kind.contains('.')) && has("data") {
            return Some(Self::Copilot);
        }
        if has("sessionId") || has("leafUuid") || has("parentUuid") {
            return Some(Self::ClaudeCode);
        }
        None
    }
}
