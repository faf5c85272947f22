//! Expressions as text: read at load, with the column of every mistake.
//!
//! What is refused here can never be reached by an evaluation.

mod lexer;
mod parser;

pub use parser::parse;

/// Why a text is not an expression, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Where it begins, in bytes.
    pub at: usize,
    /// How long it is, in bytes; 0 at the end of the text.
    pub length: usize,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do instead.
    pub help: String,
}

impl ParseError {
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
