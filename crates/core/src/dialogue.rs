//! What the lines of a run with a conversation carry along: what was said, and what they work on.

pub mod condense;
mod items;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use items::{NoItems, items, pointed};

use crate::{data::parse_output, names::StateName};

/// What one line of execution carries along beside its context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// The conversation, oldest first.
    pub history: Vec<Message>,
    /// What the next state is given: the output of the one before, a list where lines met, or the item.
    pub task: Value,
    /// The item that the line is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// Whether lines met since the last output, so that the task is the list of theirs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gathered: bool,
    /// The state of the assistant that spoke last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_speaker: Option<StateName>,
}

/// What a person begins a conversation with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInput {
    /// What is said; empty: nothing. The keys of one that is an object enter the context.
    pub text: String,
    /// Names of the files that come with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Name of whoever said it.
    pub by: Speaker,
    /// What was said.
    pub text: String,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person, or what stands for one.
    Person,
    /// A model.
    Model,
}

/// The item that a line is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The item.
    pub value: Value,
    /// Its number, from 1.
    pub index: usize,
    /// How many there are.
    pub total: usize,
    /// The context keys that came with it; they are not brought back unless a state wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

impl Conversation {
    /// Returns what the next state is given: the item within an iteration, else the output before.
    #[must_use]
    pub fn given(&self) -> &Value {
        match &self.item {
            Some(item) if !self.gathered => &item.value,
            _ => &self.task,
        }
    }

    /// Returns an output as it stands in a list of several: a list or an object, else text.
    pub(crate) fn listed(output: &Value) -> Value {
        let parsed = output.as_str().map(parse_output);
        match parsed {
            Some(parsed @ (Value::Object(_) | Value::Array(_))) => parsed,
            _ => output.clone(),
        }
    }

    /// Writes a value as people and models read it: text as it is, anything else as JSON.
    #[must_use]
    pub fn text_of(value: &Value) -> String {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }
}
