//! What a call is told.

/// What a call is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not run.
    Deny,
    /// The recording keeps too little of it.
    NotJudged,
}
