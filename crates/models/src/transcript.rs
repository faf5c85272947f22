//! What a model is sent, in no provider's words.
//!
//! These types are stored beside a run's log and named there by the digest of
//! their bytes: the order of fields here is part of what was promised.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Options, provider::Kind};

/// Everything that one call sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The model's name at its provider, without the provider's.
    pub model: String,
    /// The system prompt; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The conversation, oldest first; begins with [`Message::User`].
    pub messages: Vec<Message>,
    /// The tools that the model is told of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// What the provider is told beside; what it lacks is left out.
    #[serde(default, skip_serializing_if = "Options::is_default")]
    pub options: Options,
}

impl Request {
    /// Returns the bytes that it is stored as: JSON, the same for the same request.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Maps of text keys, texts and numbers only: there is nothing in it that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Tells what is wrong with the conversation; `None`: nothing.
    ///
    /// Every call is answered exactly once, by position, in the message that
    /// follows it; nothing else is answered. What a stage builds always is so.
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

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Its name; one that a provider does not take is changed on the way and back.
    pub name: String,
    /// What it is for, in prose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema (2020-12) of its arguments; the root is an object, also where it does not say so.
    ///
    /// Keywords that a provider refuses are left out on the way.
    pub schema: Value,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// To the model.
    User {
        /// What it says.
        text: String,
    },
    /// Of the model, as it came.
    Assistant {
        /// Its parts, in order.
        parts: Vec<Part>,
    },
    /// Results of all calls of the message before.
    Results {
        /// One a call, in the order of the calls.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// Says `text` to the model.
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

/// One part of what a model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text for whoever reads.
    Text(String),
    /// A tool that it wants called.
    Call(Call),
    /// What only its provider understands.
    Opaque(Opaque),
}

/// A tool that a model wants called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The provider's own name for the call; `None`: it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments, the text as it came.
    ///
    /// A model may write anything: no JSON, no object, one key twice. `{}`
    /// where nothing came at all and the message is whole.
    pub arguments: String,
    /// Whether the message was cut in the middle of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// What its provider wants back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}

/// What only the provider that made it understands: signed thinking, signatures of thoughts.
///
/// Sent back unchanged to the same kind of provider, and to no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opaque {
    /// Whose it is.
    pub of: Kind,
    /// The JSON text.
    pub json: String,
}

/// What became of one call, as the model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// Which call of the message before, from 0.
    pub call: usize,
    /// What the model is told.
    pub content: String,
    /// Whether the call was denied or failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}
