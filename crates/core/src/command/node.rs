//! What the run is told of a node under way.

use crate::{
    attempt::{Finish, Usage},
    names::Digest,
};

/// What the run is told of an effect under way; [`crate::command::CommandKind::Node`] names the frame.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeCommand {
    /// A model is about to be called.
    CallModel {
        /// Which of the node's calls, from 1.
        number: u32,
        /// The provider's name.
        provider: String,
        /// The model's name at that provider.
        model: String,
        /// Digest of the request sent.
        request: Digest,
    },
    /// It has answered.
    Answered {
        /// Which of the node's calls.
        number: u32,
        /// Digest of the whole answer, which is kept beside the log.
        digest: Digest,
        /// Reason that the message ended.
        finish: Finish,
        /// What it cost.
        usage: Usage,
        /// Duration from the request to the end, in milliseconds.
        ms: u64,
    },
    /// It will not answer.
    NotAnswered {
        /// Which of the node's calls.
        number: u32,
        /// A stable code.
        code: String,
        /// One sentence, without secrets.
        message: String,
    },
    /// Something that the log must tell before it is done.
    Note {
        /// A stable code.
        code: String,
        /// One sentence, without secrets.
        message: String,
    },
}
