//! Requests to models, independent of the provider.
//!
//! These types are stored next to a run's log and named there by the digest of their bytes: the order of fields is part of the
//! format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Options, provider::Kind};

/// Everything that one call sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the model at its provider, without the provider's.
    pub model: String,
    /// System prompt; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The conversation, oldest first; begins with [`Message::User`].
    pub messages: Vec<Message>,
    /// Tools offered to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Options; unsupported ones are left out.
    #[serde(default, skip_serializing_if = "Options::is_default")]
    pub options: Options,
}

impl Request {
    /// Returns the bytes that are stored: JSON, the same for the same request.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Only maps with text keys, texts and numbers: everything can be represented in JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns what is wrong with the conversation; `None` if nothing.
    ///
    /// Every call must be answered exactly once, by position, in the message that follows it; nothing else may be answered. What
    /// a stage builds always satisfies this.
    #[must_use]
    pub fn flaw(&self) -> Option<String> {
        let mut open = 0;
        if !matches!(self.messages.first(), Some(Message::User { .. })) {
            return Some("the conversation does not begin with a message to the model".to_owned());
        }
        for (at, message) in self.messages.iter().enumerate() {
            match message {
                Message::Results { results } => {
                    let answered: Vec<usize> = results.iter().map(|result| result.call).collect();
                    if open == 0 || answered != (0..open).collect::<Vec<_>>() {
                        return Some(format!(
                            "message {at} answers {answered:?}, and {open} calls wait"
                        ));
                    }
                    open = 0;
                }
                _ if open > 0 => {
                    return Some(format!("message {at} leaves {open} calls without results"));
                }
                Message::User { .. } => {}
                Message::Assistant { .. } => open = message.calls().count(),
            }
        }
        (open > 0).then(|| format!("{open} calls of the last message have no results"))
    }
}

/// A tool as offered to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Name of the tool; one that a provider does not accept is translated.
    pub name: String,
    /// Description in prose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema (2020-12) of its arguments; the root is an object, even if it does not say so.
    ///
    /// Keywords that a provider refuses are left out when it is sent.
    pub schema: Value,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// A message to the model.
    User {
        /// What it says.
        text: String,
    },
    /// A message of the model, as received.
    Assistant {
        /// Its parts, in order.
        parts: Vec<Part>,
    },
    /// Results of all calls of the previous message.
    Results {
        /// One result per call, in the order of the calls.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// Creates a message to the model.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Returns the calls of a message of the model, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let parts: &[Part] = match self {
            Self::Assistant { parts } => parts,
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// A part of a model's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text for the reader.
    Text(String),
    /// A call of a tool.
    Call(Call),
    /// Data that only its provider understands.
    Opaque(Opaque),
}

/// A call of a tool by a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The provider's id of the call; `None` if it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Text of the arguments, as received.
    ///
    /// A model may write anything: invalid JSON, something other than an object, a duplicate key. It is `{}` if nothing was
    /// received and the message is complete.
    pub arguments: String,
    /// Whether the message was cut in the middle of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Data that its provider needs back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// Data that only its provider understands: signed thinking, signatures of thoughts.
///
/// It is sent back unchanged to the same kind of provider, and to no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opaque {
    /// Kind of the provider.
    pub of: Kind,
    /// The JSON text.
    pub json: String,
}

/// The result of one call, for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// Index of the call in the previous message, from 0.
    pub call: usize,
    /// Text for the model.
    pub content: String,
    /// Whether the call was denied or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}
