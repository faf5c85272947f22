//! Commands to an attempt of a model stage.

use super::tools::AvailableTool;
use crate::{
    attempt::{ModelMessage, Usage},
    call::{CallResult, ToolCall},
    names::Digest,
    parts::{NoAnswer, Passing},
};

/// Maximum number of calls of one message that are judged; the rest are answered with `too_many_calls`.
pub const CALLS_MAX: usize = 64;

/// Commands and reports for an attempt of a stage; [`crate::command::CommandKind::Stage`] names the frame.
#[derive(Debug, Clone, PartialEq)]
pub enum StageCommand {
    /// Set up the attempt with the tools that are available.
    Begin {
        /// All available tools, including built-in ones.
        tools: Vec<AvailableTool>,
    },
    /// A model is about to be called.
    CallModel {
        /// Name of the provider.
        provider: String,
        /// The model's name at that provider.
        model: String,
        /// Digest of the request sent.
        request: Digest,
    },
    /// A complete message arrived.
    Message(Box<ModelMessage>),
    /// The model call failed.
    ModelFailed {
        /// `model_error`, `model_refused` or `context_overflow`.
        code: String,
        /// One sentence, without secrets.
        message: String,
        /// Whether the failure is transient.
        passing: Option<Passing>,
    },
    /// The conversation was condensed, or condensing failed.
    Condensed {
        /// The summary; `None`: there is none.
        summary: Option<String>,
        /// The model's name.
        model: String,
        /// Tokens and money spent.
        usage: Usage,
    },
    /// Judge the next call of the message.
    Propose(Box<ToolCall>),
    /// Record the end of an allowed call.
    Record {
        /// Result of the call.
        result: CallResult,
        /// Code of the failure.
        code: Option<String>,
        /// Duration in milliseconds.
        ms: u64,
        /// Digest of the text returned to the model.
        told: Digest,
    },
    /// Close the open request for a grant, which nobody will answer.
    CloseGrant {
        /// Reason that the call ended.
        why: NoAnswer,
    },
    /// End the attempt without the model: out of time, or unable to continue.
    End {
        /// `timeout`, `context_overflow`, `stage_invalid` or `model_error`.
        code: String,
        /// One sentence.
        message: String,
    },
}
