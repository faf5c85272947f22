//! What a model said.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    error::Failure,
    transcript::{Call, Message, Part},
};

/// A message of a model that arrived whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What it said, in order.
    pub parts: Vec<Part>,
    /// Why it ended there.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
}

impl Answer {
    /// Returns all text, joined.
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
    /// The model wants tools.
    ToolCalls,
    /// The model was done.
    Stop,
    /// It was cut at the output limit.
    Length,
    /// The provider refused to answer.
    Refused,
    /// The provider says neither.
    Error,
}

/// Tokens of one call; `None`: the provider does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Of the request, those from a cache too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of the answer, reasoning too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of the request, those that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of the answer, those that nobody sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

/// What is heard while a call is under way.
///
/// Only the [`Answer`] counts: what was heard before [`Heard::Again`] is thrown away.
#[derive(Debug)]
pub enum Heard<'a> {
    /// A piece of text.
    Text(&'a str),
    /// A piece of what the model thinks before it answers.
    Thinking(&'a str),
    /// The model calls a tool; its arguments are still to come.
    Calling(&'a str),
    /// A try failed, and the same request is sent again after a wait.
    Again {
        /// The number of the try that failed, from 1.
        try_number: u32,
        /// The failure.
        failure: &'a Failure,
        /// How long is waited first.
        wait: Duration,
    },
}
