//! What holds where the lines of a run carry a conversation.

use serde::{Deserialize, Serialize};

/// Rules for runs whose regions carry a conversation.
///
/// A run then begins with what a person said, each state whose output counts
/// has [`crate::machine::State::data`], and texts may be templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationRules {
    /// Whether what cannot be evaluated or rendered fails its state, with `expression_error` or `template_error`.
    ///
    /// Otherwise the guard does not hold, the block stays as it is written, and the log says so.
    pub strict: bool,
    /// When a conversation is condensed before a stage that sees it; `None`: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condensing: Option<Condensing>,
}

/// Limits above which a conversation is condensed to its first message and a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condensing {
    /// Number of messages, from 1.
    pub messages_max: u64,
    /// Number of tokens, estimated as bytes divided by 4, from 1.
    pub tokens_max: u64,
}
