//! What a server refuses although its kind accepts it, learned from its answers.

use crate::{Kind, Options, Thinking};

/// What is left out or sent differently for a server that has refused it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// `stream_options.include_usage` is left out.
    pub(super) no_usage: bool,
    /// The token limit has its other name.
    pub(super) other_limit: bool,
    /// The amount of thinking is sent in the other form.
    pub(super) other_thinking: bool,
    /// The amount of thinking is left out.
    pub(super) no_thinking: bool,
    /// The temperature is left out.
    pub(super) no_temperature: bool,
}

impl Dialect {
    /// Returns the dialect after a refusal; `None` if the refusal has another reason.
    ///
    /// `said` is the body of an answer with status 400 or 422. Each refusal removes one thing, so this terminates.
    pub(crate) fn after(self, kind: Kind, options: &Options, said: &str) -> Option<Self> {
        let said = said.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let thinks = options.thinking.is_some() && !self.no_thinking;
        let is_anthropic = kind == Kind::Anthropic;
        if kind == Kind::OpenAi {
            if !self.no_usage && names(&["stream_options", "include_usage"]) {
                return Some(Self {
                    no_usage: true,
                    ..self
                });
            }
            let limited = options.max_output_tokens.is_some();
            if limited && !self.other_limit && names(&["max_tokens", "max_completion_tokens"]) {
                return Some(Self {
                    other_limit: true,
                    ..self
                });
            }
        }
        // Before thinking: a model that thinks is one that takes no temperature, and says both.
        let refuses = names(&["support", "deprecat", "not allowed", "not permitted"]);
        let warm = options.temperature.is_some() && !self.no_temperature;
        if warm && refuses && names(&["temperature"]) {
            return Some(Self {
                no_temperature: true,
                ..self
            });
        }
        if !thinks || !names(&["think", "reasoning", "effort", "budget"]) {
            return None;
        }
        let is_on = options.thinking != Some(Thinking::Off);
        if is_anthropic && is_on && !self.other_thinking {
            return Some(Self {
                other_thinking: true,
                ..self
            });
        }
        Some(Self {
            no_thinking: true,
            ..self
        })
    }
}
