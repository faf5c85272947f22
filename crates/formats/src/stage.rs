//! Model stages, as pipelines and the native format both write them.
//!
//! Reads the keys that make a state a stage: the body, what ends it, what
//! bounds it, and the guards before and behind it. Knows nothing of where a
//! stage leads.

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

/// The tools that every stage may be given.
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

/// The providers whose names need no configuration.
pub(crate) const PROVIDERS: [&str; 5] = ["anthropic", "openai", "gemini", "google", "ollama"];

/// What the context of a stage holds beside what is declared.
pub(crate) const RESERVED: &[&str] = &["upstream", "error", "stage", "attempt", "run"];

/// What is known of an error that was routed.
pub(crate) const ERROR_PARTS: &[&str] = &["stage", "attempt", "code", "message"];

/// Tells whether a stage may be given a tool that `pattern` names: a built-in one, or one of an MCP server.
pub(crate) fn may_be_given(pattern: &str) -> bool {
    let of_server = pattern.contains("__") || pattern.starts_with('*');
    of_server || BUILT_IN.iter().any(|tool| wildcard_matches(pattern, tool))
}
