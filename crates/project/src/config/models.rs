//! `[providers.NAME]`, `[models]`, `default_model`, `[prices]`: where models are, what they are called, what they cost.

use std::{fmt, num::NonZeroU32, path::PathBuf, str::FromStr as _};

use indexmap::IndexMap;
use interlock_models::{Kind, Price, Rate};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

use super::Config;

/// Longest name of a provider, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Providers by name, in the order written.
pub type Providers = IndexMap<ProviderName, ProviderConfig>;

/// The name of a provider: letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderName(String);

impl ProviderName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProviderName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(plain) {
            return Err(format!(
                "`{name}` cannot be the name of a provider: it may contain letters, digits, `-`, `_` and `.`, at most {NAME_CHARS_MAX}"
            ));
        }
        Ok(Self(name))
    }
}

impl std::borrow::Borrow<str> for ProviderName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Where models are, and where the key lies.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its protocol. Default: the one of that name.
    pub kind: Option<Kind>,
    /// Its address. Default: the well-known address of the kind.
    pub base_url: Option<String>,
    /// The environment variable with its key.
    pub api_key_env: Option<String>,
    /// The file with its key: an absolute path, or one below `~/`.
    pub api_key_file: Option<PathBuf>,
    /// Headers that are sent to it. A value may contain `${NAME}`.
    pub headers: IndexMap<String, String>,
    /// Maximum time of one attempt, in seconds. Default: 600.
    pub timeout: Option<NonZeroU32>,
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers are secrets as a rule.
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("ProviderConfig")
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("api_key_env", &self.api_key_env)
            .field("api_key_file", &self.api_key_file)
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Price of a million input tokens; at most six decimals.
    #[serde(deserialize_with = "rate")]
    input: Rate,
    /// Price of a million output tokens.
    #[serde(deserialize_with = "rate")]
    output: Rate,
    /// Price of a million cached input tokens. Default: that of `input`.
    #[serde(default, deserialize_with = "some_rate")]
    cached_input: Option<Rate>,
}

impl PriceConfig {
    /// Returns it as one of a model.
    #[must_use]
    pub const fn price(&self) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cached_input: self.cached_input,
        }
    }
}

fn some_rate<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Rate>, D::Error> {
    rate(from).map(Some)
}

/// Reads a number or a text that holds one.
fn rate<'d, D: Deserializer<'d>>(from: D) -> Result<Rate, D::Error> {
    struct Reading;
    impl Visitor<'_> for Reading {
        type Value = Rate;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("US dollars per million tokens, such as 2.5")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Rate, E> {
            Rate::from_str(text).map_err(E::custom)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Rate, E> {
            self.visit_str(&number.to_string())
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Rate, E> {
            // The shortest text that means this number is the one that was written.
            self.visit_str(&number.to_string())
        }
    }
    from.deserialize_any(Reading)
}

/// Returns the first problem of these tables apart from their shape; `None` if there is none.
pub(super) fn flaw(config: &Config) -> Option<String> {
    let provider = |(name, one): (&ProviderName, &ProviderConfig)| {
        let name = name.as_str();
        if one.kind.is_none() && Kind::from_str(name).is_err() {
            return Some(format!(
                "`[providers.{name}]` has no `kind`: `anthropic`, `openai`, `gemini` or `ollama`"
            ));
        }
        if one.api_key_env.is_some() && one.api_key_file.is_some() {
            return Some(format!(
                "`[providers.{name}]` has both `api_key_env` and `api_key_file`: take one out"
            ));
        }
        let own = Kind::from_str(name).ok();
        if own.is_some() && one.kind.is_some() && own != one.kind {
            return Some(format!(
                "`[providers.{name}]` has another `kind` than its name implies: choose another name"
            ));
        }
        let file = one.api_key_file.as_ref()?;
        let is_placed = file.is_absolute() || file.starts_with("~");
        (!is_placed).then(|| {
            format!(
                "`api_key_file` of `[providers.{name}]` is neither absolute nor below `~/`: `{}`",
                file.display()
            )
        })
    };
    let alias = |(alias, name): (&String, &String)| {
        let whole = name.split_once('/');
        let is_whole = whole.is_some_and(|(one, two)| !one.is_empty() && !two.is_empty());
        (!is_whole)
            .then(|| format!("`{alias}` of `[models]` is `{name}`: it has to be `provider/name`"))
    };
    config
        .providers
        .iter()
        .find_map(provider)
        .or_else(|| config.models.iter().find_map(alias))
}
