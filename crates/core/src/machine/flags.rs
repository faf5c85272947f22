//! What becomes of the output of a state.

use serde::{Deserialize, Serialize};

/// What becomes of an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataFlags {
    /// Whether its keys enter the context.
    pub store: bool,
    /// The context key that gets all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_key: Option<String>,
    /// What is left of the context.
    pub clear: Clear,
    /// Context keys that are removed before it is stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Whether each key given extends a list.
    pub append: bool,
    /// Whether it enters the conversation.
    pub in_history: bool,
    /// Whether the conversation before it is forgotten.
    pub clear_messages: bool,
    /// Whether the first message stays even then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_first: bool,
    /// Whether it enters the conversation as a person's message.
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
    /// Everything, what the output itself gives included.
    Everything,
    /// Everything but what the output gives.
    KeepCurrent,
}
