//! What the regions of a run with a conversation carry: the messages, and the input of the next state.

pub mod condense;
mod items;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use items::{NoItems, items, pointed};

use crate::{data::parse_output, names::StateName};

/// Conversation that a frame carries beside its context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// Messages, oldest first.
    pub history: Vec<Message>,
    /// Task of the next state: the previous output, a list if regions joined, or the item.
    pub task: Value,
    /// Item that the region is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// Whether regions joined since the last output, so that the task is the list of their outputs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// State of the assistant that spoke last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_speaker: Option<StateName>,
}

/// Input that a person starts a conversation with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInput {
    /// Text of the message; empty: none. If it is a JSON object, its keys are added to the context.
    pub text: String,
    /// Names of the attached files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Author of the message.
    pub by: Speaker,
    /// Text of the message.
    pub text: String,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person, or input that counts as a person's.
    Person,
    /// A model.
    Model,
}

/// An item that a region is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Value of the item.
    pub value: Value,
    /// Number of the item, from 1.
    pub index: usize,
    /// Total number of items.
    pub total: usize,
    /// Context keys that came with the item; they are merged back only if a state wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

impl Conversation {
    /// Returns the task of the next state: the item inside an iteration, otherwise the previous output.
    #[must_use]
    pub fn given(&self) -> &Value {
        match &self.item {
            Some(item) if !self.gathered => &item.value,
            _ => &self.task,
        }
    }

    /// Returns an output as an entry of a list: a list or an object, otherwise text.
    #[must_use]
    pub fn listed(output: &Value) -> Value {
        let parsed = output.as_str().map(parse_output);
        match parsed {
            Some(parsed @ (Value::Object(_) | Value::Array(_))) => parsed,
            _ => output.clone(),
        }
    }

    /// Formats a value for people and models: text as it is, anything else as JSON.
    #[must_use]
    pub fn text_of(value: &Value) -> String {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }
}
