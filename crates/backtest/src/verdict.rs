//! The verdict on a call.

/// The verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not run.
    Deny,
    /// The recording contains too little of it.
    NotJudged,
}
