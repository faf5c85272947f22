//! The answer to a call, and everything that it depends on.

use interlock_core::refusal::Code;

use crate::verdict::Verdict;

/// The answer to every call of a class.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) verdict: Verdict,
    /// Why it is refused, or a person is asked.
    pub(crate) code: Option<Code>,
    /// Number of its effects, if they are the same for every equal answer.
    pub(crate) change: Option<u32>,
}

/// Everything that an answer depends on: equal questions have equal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// Number of the class of the call.
    pub(crate) class: u32,
    /// Number of what determines the answer at the node.
    pub(crate) judged: Option<u32>,
    /// The node itself, if one call may use up several limits at once.
    pub(crate) node: Option<u32>,
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
}
