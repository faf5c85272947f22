//! Options for a provider.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::provider::Kind;

/// Options for a provider; unsupported ones are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Sampling temperature, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// Maximum number of tokens of one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Amount of thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
}

impl Options {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Lists the options that `kind` does not support or only approximates, with their names in workflows.
    #[must_use]
    pub fn lacking(&self, kind: Kind) -> Vec<&'static str> {
        let mut lacking = Vec::new();
        let thinks = !matches!(self.thinking, None | Some(Thinking::Off));
        if kind == Kind::Anthropic && thinks && self.temperature.is_some() {
            lacking.push("temperature");
        }
        let counted = matches!(self.thinking, Some(Thinking::Tokens(_)));
        if counted && matches!(kind, Kind::OpenAi | Kind::Ollama) {
            lacking.push("thinking");
        }
        lacking
    }
}

/// How much a model thinks before it answers.
///
/// Written as `false`, `true` (medium), `"low"`, `"medium"`, `"high"`, or a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Thinking {
    /// No thinking, if possible.
    Off,
    /// A little.
    Low,
    /// A medium amount.
    Medium,
    /// A large amount.
    High,
    /// At most this many tokens.
    Tokens(u32),
}

/// An invalid amount of thinking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a way to think: `true`, `false`, `low`, `medium`, `high` or a number of tokens"
)]
pub struct UnknownThinking(pub String);

impl TryFrom<Value> for Thinking {
    type Error = UnknownThinking;

    fn try_from(value: Value) -> Result<Self, UnknownThinking> {
        let tokens = |number: &Number| number.as_u64().and_then(|tokens| tokens.try_into().ok());
        match &value {
            Value::Bool(false) => Ok(Self::Off),
            Value::Bool(true) => Ok(Self::Medium),
            Value::Number(number) => match tokens(number) {
                Some(0) => Ok(Self::Off),
                Some(tokens) => Ok(Self::Tokens(tokens)),
                None => Err(UnknownThinking(value.to_string())),
            },
            Value::String(word) => match word.as_str() {
                "off" => Ok(Self::Off),
                "low" => Ok(Self::Low),
                "medium" => Ok(Self::Medium),
                "high" => Ok(Self::High),
                _ => Err(UnknownThinking(word.clone())),
            },
            _ => Err(UnknownThinking(value.to_string())),
        }
    }
}

impl From<Thinking> for Value {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Off => Self::Bool(false),
            Thinking::Low => "low".into(),
            Thinking::Medium => "medium".into(),
            Thinking::High => "high".into(),
            Thinking::Tokens(tokens) => tokens.into(),
        }
    }
}
