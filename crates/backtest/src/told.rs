//! What a call is told, and everything that the answer depends on.

use interlock_core::refusal::Refusal;

use crate::verdict::Verdict;

/// The answer to a call.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) verdict: Verdict,
    /// Why it is refused, or a person is asked.
    pub(crate) refusal: Option<Refusal>,
    /// The number of what it brings about, where that is the same wherever it is told so.
    pub(crate) change: Option<u32>,
}

/// Everything that an answer depends on: where all of it is the same, the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The number of the call.
    pub(crate) call: u32,
    /// The number of what decides a call at the node.
    pub(crate) judged: Option<u32>,
    /// The node itself, where one call may use up several limits at once.
    pub(crate) node: Option<u32>,
    pub(crate) ok: bool,
    pub(crate) exit: Option<i64>,
    pub(crate) bytes: u64,
}
