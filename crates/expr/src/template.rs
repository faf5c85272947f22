//! Templates: text with `{{ … }}` and `{% … %}`, rendered by MiniJinja without any access to the world.
//!
//! A block whose values are missing stays as it is written, alone: each block
//! is rendered inside a call that knows its source. What a value holds is
//! never rendered again: what a model wrote is data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Object;

mod filters;
mod render;
mod scan;
mod value;

/// Steps that one template may take.
pub const STEPS_MAX: u64 = 1_000_000;

/// Bytes that one template may become.
pub const BYTES_MAX: usize = 10 * 1024 * 1024;

/// A template, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template {
    source: String,
}

/// What names mean in a template.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The context.
    pub context: &'a Object,
    /// What is there beside it; a context key of the same name comes first.
    pub beside: &'a Object,
}

/// What becomes of a block that has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It stays as it is written.
    Stays,
    /// The template fails.
    Fails,
}

/// What a template became.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered<T> {
    /// The text, or the value.
    pub result: T,
    /// The blocks that stay as they are written, each with the reason.
    pub left: Vec<UnrenderedBlock>,
}

/// A block that stays as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrenderedBlock {
    /// The block.
    pub block: String,
    /// One clause.
    pub reason: String,
}

/// Why a template has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One clause.
    pub reason: String,
}

/// A block that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedBlock {
    /// Where it begins, in bytes.
    pub at: usize,
    /// How long it is, in bytes.
    pub length: usize,
    /// One clause.
    pub reason: String,
}

impl Template {
    /// Takes a text as a template; it need not be in order.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
        }
    }

    /// Returns the text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether the text has any block.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        ["{{", "{%", "{#"]
            .iter()
            .any(|mark| self.source.contains(mark))
    }

    /// Returns every block that cannot be read, in order.
    #[must_use]
    pub fn faults(&self) -> Vec<MalformedBlock> {
        render::Prepared::new(&self.source).faults
    }

    /// Returns the names that the template reads and does not set, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        render::names(&self.source)
    }

    /// Renders the template to text. One closing line break is dropped.
    ///
    /// # Errors
    /// [`STEPS_MAX`] or [`BYTES_MAX`] is spent; where blocks without a value fail: the first of them.
    pub fn render(
        &self,
        values: Values<'_>,
        missing: Missing,
    ) -> Result<Rendered<String>, Failure> {
        render::text(&self.source, values, missing)
    }

    /// Renders the template; one that is a single block keeps the type of its value.
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn value(&self, values: Values<'_>, missing: Missing) -> Result<Rendered<Value>, Failure> {
        render::value(&self.source, values, missing)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests;
