//! Model stages, which pipelines and the native format both have.
//!
//! This module parses the keys of a stage: the body, its completion, its limits, and the guards before and after it. It knows
//! nothing of a stage's transitions.

use interlock_core::policy::wildcard_matches;

pub(crate) mod keys;
mod lower;
mod payload;
mod read;
mod template;
mod uses;

pub(crate) use payload::{Declared, declared};
pub(crate) use read::{Assertion, Keys, Stage, retry};
pub(crate) use uses::{Names, Use};

/// Tools that every stage may have.
pub(crate) const BUILT_IN: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "LS",
    "Edit",
    "MultiEdit",
    "Write",
    "Bash",
];

/// Providers that need no configuration.
pub(crate) const PROVIDERS: [&str; 5] = ["anthropic", "openai", "gemini", "google", "ollama"];

/// Names in the context of a stage that are not declared.
pub(crate) const RESERVED: &[&str] = &["upstream", "error", "stage", "attempt", "run"];

/// Known keys of a handled error.
pub(crate) const ERROR_PARTS: &[&str] = &["stage", "attempt", "code", "message"];

/// Returns whether a stage may have a tool that `pattern` names: a built-in one, or one of an MCP server.
pub(crate) fn may_be_given(pattern: &str) -> bool {
    let of_server = pattern.contains("__") || pattern.starts_with('*');
    of_server || BUILT_IN.iter().any(|tool| wildcard_matches(pattern, tool))
}
