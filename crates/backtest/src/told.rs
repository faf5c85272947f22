//! The answer to a call, and everything that it depends on.

use interlock_core::refusal::Code;

use crate::verdict::Verdict;

/// The answer to every call of a class.
#[derive(Debug, Clone)]
pub(crate) struct ClassAnswer {
    pub(crate) verdict: Verdict,
    /// Why it is refused, or a person is asked.
    pub(crate) code: Option<Code>,
    /// Number of its effects apart from the bytes of its result, if they are the same for every equal answer.
    pub(crate) change: Option<u32>,
}

/// What a call that writes finds of the files that its state has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Room {
    /// The state counts no files, or the call writes none.
    Any,
    /// Which of its files are counted already, one bit each, and how many others may be written, at most as many as it writes.
    Files { known: u64, left: usize },
    /// Whatever the node has counted.
    OfNode(u32),
}

/// Everything that an answer depends on: equal questions have equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// Number of the class of the call.
    pub(crate) class: u32,
    /// Number of what determines the answer at the node.
    pub(crate) judged: Option<u32>,
    /// What limits have counted matters if one call may use up several files at once.
    pub(crate) room: Room,
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
}
