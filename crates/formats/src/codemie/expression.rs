//! Expressions as text: read at load, with the column of every mistake.
//!
//! What is refused here can never be reached by an evaluation.

mod lexer;
mod parser;

pub(super) use parser::parse;

/// Why a text is no expression, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// In bytes.
    pub(super) at: usize,
    /// In bytes; 0: at the end.
    pub(super) length: usize,
    pub(super) message: String,
    pub(super) help: String,
}

impl Mistake {
    fn new(
        at: std::ops::Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            at: at.start,
            length: at.len(),
            message: message.into(),
            help: help.into(),
        }
    }
}

#[cfg(test)]
mod tests;
