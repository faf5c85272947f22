//! Options that a provider does not have.

use interlock_core::{names::StateName, validate::Place};

use super::Check;

/// The providers that are known by name, and the options each of them lacks.
const LACKS: &[(&str, &[&str])] = &[
    ("anthropic", &[]),
    ("openai", &[]),
    ("gemini", &[]),
    ("google", &[]),
    ("ollama", &[]),
];

impl Check<'_> {
    /// Notes options that the provider of a stage's model lacks.
    pub(super) fn models(&mut self) {}
}
