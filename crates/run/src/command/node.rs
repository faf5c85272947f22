//! Reports about a node in progress.

use crate::{
    attempt::{FinishReason, Usage},
    names::Digest,
};

/// Reports about a node in progress; [`crate::command::CommandKind::Node`] names the frame.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeCommand {
    /// A model is about to be called.
    CallModel {
        /// Number of the model call within the node, from 1.
        number: u32,
        /// Name of the provider.
        provider: String,
        /// The model's name at that provider.
        model: String,
        /// Digest of the request sent.
        request: Digest,
    },
    /// The model has answered.
    Answered {
        /// Number of the model call within the node.
        number: u32,
        /// Digest of the whole answer, which is stored beside the log.
        digest: Digest,
        /// Reason that the message ended.
        finish: FinishReason,
        /// Tokens and money spent.
        usage: Usage,
        /// Duration from the request to the end, in milliseconds.
        ms: u64,
    },
    /// The model call failed.
    NotAnswered {
        /// Number of the model call within the node.
        number: u32,
        /// A stable code.
        code: String,
        /// One sentence, without secrets.
        message: String,
    },
    /// A remark to record before the node is done.
    Note {
        /// A stable code.
        code: String,
        /// One sentence, without secrets.
        message: String,
    },
}
