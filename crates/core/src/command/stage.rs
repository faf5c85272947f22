//! What an attempt of a model stage is asked.

use super::tools::AvailableTool;
use crate::{
    attempt::{ModelMessage, Usage},
    call::{CallResult, ToolCall},
    names::Digest,
    parts::{NoAnswer, Passing},
};

/// Calls of one message that are looked at; the rest are answered with `too_many_calls`.
pub const CALLS_MAX: usize = 64;

/// What the attempt of a stage is asked; [`crate::command::CommandKind::Stage`] names the frame.
#[derive(Debug, Clone, PartialEq)]
pub enum StageCommand {
    /// Setup and Init: these tools are there now.
    Begin {
        /// All tools of the run that are there, built-in ones too.
        tools: Vec<AvailableTool>,
    },
    /// A model is about to be called.
    CallModel {
        /// The provider's name.
        provider: String,
        /// The model's name at that provider.
        model: String,
        /// Digest of the request sent.
        request: Digest,
    },
    /// A message arrived whole.
    Message(Box<ModelMessage>),
    /// No message will come.
    ModelFailed {
        /// `model_error`, `model_refused`, `context_overflow`.
        code: String,
        /// One sentence, without secrets.
        message: String,
        /// Whether it may pass by itself.
        passing: Option<Passing>,
    },
    /// The conversation was condensed, or could not be.
    Condensed {
        /// The summary; `None`: there is none.
        summary: Option<String>,
        /// The model's name.
        model: String,
        /// What it cost.
        usage: Usage,
    },
    /// The next call of the message, with its facts.
    Propose(Box<ToolCall>),
    /// An allowed call ended.
    Record {
        /// What became of it.
        result: CallResult,
        /// The code of its failure.
        code: Option<String>,
        /// Duration in milliseconds.
        ms: u64,
        /// Digest of what the model is told.
        told: Digest,
    },
    /// Nobody will answer the open request for a grant.
    CloseGrant {
        /// Reason that the call ended.
        why: NoAnswer,
    },
    /// The attempt ends without the model: out of time, or unable to go on.
    End {
        /// `timeout`, `context_overflow`, `stage_invalid`, `model_error`.
        code: String,
        /// One sentence.
        message: String,
    },
}
