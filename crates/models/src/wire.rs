//! The protocol of each kind of provider: requests and events.

mod anthropic;
mod assembly;
mod dialect;
mod gemini;
mod ids;
mod names;
mod ollama;
mod openai;
mod raw;
mod schema;

use reqwest::Url;

use crate::{Answer, Heard, Kind, Provider, Request, error::Failure};

pub(crate) use dialect::Dialect;
pub(crate) use names::Names;

/// An HTTP request to a provider.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Address.
    pub(crate) url: Url,
    /// Headers of the protocol, except the one with the key.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// JSON body.
    pub(crate) body: Vec<u8>,
}

/// Returns the HTTP request for `request`; deterministic, because digests depend on its bytes.
pub(crate) fn outgoing(
    provider: &Provider,
    request: &Request,
    names: &Names,
    dialect: Dialect,
) -> Result<Outgoing, Failure> {
    let base = &provider.base;
    let made = match provider.kind {
        Kind::Anthropic => anthropic::request::outgoing(base, request, names, dialect),
        Kind::OpenAi => openai::request::outgoing(base, request, names, dialect),
        Kind::Gemini => gemini::request::outgoing(base, request, names, dialect),
        Kind::Ollama => ollama::request::outgoing(base, request, names, dialect),
    };
    made.map_err(|error| Failure::lasting(format!("the request cannot be written: {error}")))
}

/// Parser of one answer's events.
#[derive(Debug)]
pub(crate) enum Decoder {
    Anthropic(anthropic::Decoder),
    OpenAi(openai::Decoder),
    Gemini(gemini::Decoder),
    Ollama(ollama::Decoder),
}

impl Decoder {
    pub(crate) fn new(kind: Kind, names: Names) -> Self {
        match kind {
            Kind::Anthropic => Self::Anthropic(anthropic::Decoder::new(names)),
            Kind::OpenAi => Self::OpenAi(openai::Decoder::new(names)),
            Kind::Gemini => Self::Gemini(gemini::Decoder::new(names)),
            Kind::Ollama => Self::Ollama(ollama::Decoder::new(names)),
        }
    }

    pub(crate) fn event(
        &mut self,
        data: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        match self {
            Self::Anthropic(decoder) => decoder.event(data, hear),
            Self::OpenAi(decoder) => decoder.event(data, hear),
            Self::Gemini(decoder) => decoder.event(data, hear),
            Self::Ollama(decoder) => decoder.event(data, hear),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.is_over(),
            Self::OpenAi(decoder) => decoder.is_over(),
            // The end of the stream is the only mark of its end.
            Self::Gemini(_) => false,
            Self::Ollama(decoder) => decoder.is_over(),
        }
    }

    pub(crate) fn end(self) -> Result<Answer, Failure> {
        match self {
            Self::Anthropic(decoder) => decoder.end(),
            Self::OpenAi(decoder) => decoder.end(),
            Self::Gemini(decoder) => decoder.end(),
            Self::Ollama(decoder) => decoder.end(),
        }
    }
}

/// Appends segments to the path of an address, unless it already ends with them.
fn join(base: &Url, version: &str, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty();
        let has_version = base
            .path_segments()
            .and_then(|all| all.rev().find(|segment| !segment.is_empty()))
            == Some(version);
        if !version.is_empty() && !has_version {
            segments.push(version);
        }
        segments.extend(path);
    }
    url
}

/// Parses the JSON of an event.
fn parse<'d, T: serde::Deserialize<'d>>(data: &'d [u8]) -> Result<T, Failure> {
    serde_json::from_slice(data).map_err(|error| {
        Failure::passing(format!(
            "the stream broke: an event is not what it should be ({error})"
        ))
    })
}

/// Creates the failure of a stream that ended too early.
fn broken() -> Failure {
    Failure::passing("the stream broke before the message was whole")
}

/// Returns the word for about this many tokens of thinking.
const fn effort_of(tokens: u32) -> &'static str {
    match tokens {
        0..=4_096 => "low",
        4_097..=16_384 => "medium",
        _ => "high",
    }
}
