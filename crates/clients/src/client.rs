//! The supported clients.

/// A client: an agent program with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientId {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
    /// opencode.
    Opencode,
}

impl ClientId {
    /// All clients, with the identifier of each.
    pub const ALL: [(&'static str, Self); 6] = [
        ("claude-code", Self::ClaudeCode),
        ("codex", Self::Codex),
        ("gemini", Self::Gemini),
        ("copilot", Self::Copilot),
        ("cursor", Self::Cursor),
        ("opencode", Self::Opencode),
    ];

    /// Finds a client by its identifier.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, client)| *client)
    }

    /// Returns the client's identifier.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, client)| *client == self)
            .map_or("", |(word, _)| word)
    }

    /// Returns the client's name as shown to people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::Opencode => "opencode",
        }
    }
}
