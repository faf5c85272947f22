//! The answer of a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    transcript::{Call, Message, Part},
};

/// A complete message of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Contents in order.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens used.
    pub usage: Usage,
}

impl Answer {
    /// Returns all text, concatenated.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns it as the next message of the conversation.
    #[must_use]
    pub fn message(&self) -> Message {
        Message::Assistant {
            parts: self.parts.clone(),
        }
    }
}

/// Why a message ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model calls tools.
    ToolCalls,
    /// The model was finished.
    Stop,
    /// It was cut at the output limit.
    Length,
    /// The provider refused to answer.
    Refused,
    /// The provider gives another reason.
    Error,
}

/// Tokens of one call; `None` if the provider does not report them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, including cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens of the answer, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens of the request that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens of the answer that are not visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// Progress of a pending call.
///
/// Only the [`Answer`] counts: everything before [`Heard::Again`] is discarded.
#[derive(Debug)]
pub enum Heard<'a> {
    /// A piece of text.
    Text(&'a str),
    /// A piece of the model's thinking before it answers.
    Thinking(&'a str),
    /// The model calls a tool; its arguments are still to come.
    Calling(&'a str),
    /// An attempt failed, and the same request is sent again after a delay.
    Again {
        /// Number of the failed attempt, from 1.
        try_number: u32,
        /// The failure.
        failure: &'a Failure,
        /// Delay before the next attempt.
        wait: Duration,
    },
}
