//! Providers of models: address, protocol and credentials.

use std::{fmt, str::FromStr, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use serde::{Deserialize, Serialize};

/// Default time limit of one attempt.
const TIMEOUT: Duration = Duration::from_mins(10);
/// Default idle timeout of a provider.
const SILENCE: Duration = Duration::from_mins(1);
/// Headers that this crate sets itself.
const RESERVED: [&str; 7] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
];

/// Protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions, of OpenAI and those compatible.
    OpenAi,
    /// Google's `generateContent`.
    #[serde(alias = "google")]
    Gemini,
    /// Ollama's own API.
    Ollama,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Ollama];

    /// Returns the word for it in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns its default address.
    #[must_use]
    pub const fn well_known_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// Returns the variable that overrides the address.
    #[must_use]
    pub const fn url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Gemini => "GOOGLE_GEMINI_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// Returns the variables that may contain its key, in order of precedence; empty if it needs none.
    #[must_use]
    pub const fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &[],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = BadProvider;

    fn from_str(word: &str) -> Result<Self, BadProvider> {
        match word {
            "google" => Ok(Self::Gemini),
            _ => Self::ALL
                .into_iter()
                .find(|kind| kind.as_str() == word)
                .ok_or_else(|| BadProvider::Kind(word.to_owned())),
        }
    }
}

/// A key, which is never printed or written.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Creates a key, trimming surrounding white space.
    ///
    /// # Errors
    /// It is empty, or cannot be sent.
    pub fn new(text: &str) -> Result<Self, BadProvider> {
        let text = text.trim();
        let plain = |byte: u8| byte.is_ascii_graphic();
        if text.is_empty() || !text.bytes().all(plain) {
            return Err(BadProvider::Key);
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A provider that cannot be used. It contains no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadProvider {
    /// Unknown protocol.
    #[error(
        "`{0}` is not a kind of provider: `anthropic`, `openai`, `gemini`, `google` or `ollama`"
    )]
    Kind(String),
    /// Invalid address.
    #[error(
        "`{0}` is not an address of a provider: it begins with `http://` or `https://`, and holds no name or password"
    )]
    Address(String),
    /// Invalid key.
    #[error("the key is empty, or holds what no key has")]
    Key,
    /// The header cannot be sent, or must not be configured.
    #[error("the header `{0}` cannot be set: take it out")]
    Header(String),
}

/// A provider: address, protocol and credentials.
#[derive(Clone)]
pub struct Provider {
    pub(crate) kind: Kind,
    pub(crate) base: Url,
    pub(crate) key: Option<Key>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) timeout: Duration,
    pub(crate) silence: Duration,
}

impl Provider {
    /// Creates a provider; `base_url` defaults to the well-known address.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn new(kind: Kind, base_url: Option<&str>, key: Option<Key>) -> Result<Self, BadProvider> {
        let text = base_url.unwrap_or(kind.well_known_url()).trim();
        let full = match kind {
            Kind::Ollama => full_host(text),
            _ => text.to_owned(),
        };
        let bad = || BadProvider::Address(without_user(text));
        let mut base: Url = full.parse().map_err(|_| bad())?;
        let named = !base.username().is_empty() || base.password().is_some();
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() || named {
            return Err(bad());
        }
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self {
            kind,
            base,
            key,
            headers: Vec::new(),
            timeout: TIMEOUT,
            silence: SILENCE,
        })
    }

    /// Sends a header with every request, replacing a protocol header of the same name.
    ///
    /// # Errors
    /// The header cannot be sent, or belongs to the request itself.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, BadProvider> {
        let bad = || BadProvider::Header(name.to_owned());
        let parsed: HeaderName = name.parse().map_err(|_| bad())?;
        if RESERVED.contains(&parsed.as_str()) {
            return Err(bad());
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        // Most are secrets: they are not printed.
        value.set_sensitive(true);
        self.headers.push((parsed, value));
        Ok(self)
    }

    /// Sets the time limit of one attempt; 10 minutes by default.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the idle timeout; 60 s by default.
    #[must_use]
    pub fn with_silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// Returns its protocol.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its address.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.base.as_str()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        f.debug_struct("Provider")
            .field("kind", &self.kind)
            .field("base", &self.base.as_str())
            .field("key", &self.key)
            .field("headers", &names.collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .field("silence", &self.silence)
            .finish()
    }
}

/// Converts a value of `OLLAMA_HOST` to an address: a host, a host and a port, a port alone, an address.
fn full_host(text: &str) -> String {
    if text.contains("://") {
        return text.replacen("://0.0.0.0", "://127.0.0.1", 1);
    }
    let text = text.trim_end_matches('/');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, "11434"),
    };
    // An address for listening cannot be called.
    let host = if matches!(host, "" | "0.0.0.0") {
        "127.0.0.1"
    } else {
        host
    };
    format!("http://{host}:{port}")
}

/// Removes name and password from what may be an address.
fn without_user(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => text.to_owned(),
    }
}
