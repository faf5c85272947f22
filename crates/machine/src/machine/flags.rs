//! What happens to the output of a state.

use serde::{Deserialize, Serialize};

/// How an output is added to context and conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataFlags {
    /// Whether the keys of the output are stored in the context.
    pub store: bool,
    /// Context key for the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_key: Option<String>,
    /// What the output removes from the context.
    pub clear: Clear,
    /// Context keys removed before the output is stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Whether values are appended to lists.
    pub append: bool,
    /// Whether the output is added to the conversation.
    pub in_history: bool,
    /// Whether earlier messages are removed.
    pub clear_messages: bool,
    /// Whether `clear_messages` keeps the first message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_first: bool,
    /// Whether the output is added as a person's message.
    pub as_person: bool,
}

impl Default for DataFlags {
    fn default() -> Self {
        Self {
            store: true,
            output_key: None,
            clear: Clear::Nothing,
            reset: Vec::new(),
            append: false,
            in_history: true,
            clear_messages: false,
            keep_first: false,
            as_person: false,
        }
    }
}

/// What an output removes from the context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clear {
    /// Nothing.
    #[default]
    Nothing,
    /// Everything, including the keys of the output.
    Everything,
    /// Everything but the keys of the output.
    KeepCurrent,
}
