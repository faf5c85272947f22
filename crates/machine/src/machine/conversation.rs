//! Rules for runs whose regions carry a conversation.

use serde::{Deserialize, Serialize};

/// Rules for runs whose regions carry a conversation.
///
/// Such a run begins with a person's message. Each state whose output counts has
/// [`crate::machine::State::data`], and texts may be templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationRules {
    /// Whether an error in an expression or template fails the state, with `expression_error` or `template_error`.
    ///
    /// Otherwise the guard does not hold, the block of the template remains as written, and the log records the error.
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
