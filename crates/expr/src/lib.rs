//! What a workflow writes to be computed: expressions, templates, and text with holes.
//!
//! All of it is pure and counted: an expression that would take too many
//! steps, or a template that would become too long, is an error and never a
//! wait. The engine stands above this crate and calls it; nothing here knows
//! a machine or a run.

pub mod expression;
pub mod nearest;
pub mod number;
pub mod template;
pub mod text;

/// A JSON object whose keys stay as written.
pub type Object = serde_json::Map<String, serde_json::Value>;
