//! Chat completions, of OpenAI and those compatible: `POST /chat/completions`, server-sent events to `[DONE]`.

pub(super) mod request;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Names, assembly::Assembly, broken, parse, raw};
use crate::{
    Answer, Call, FinishReason, Heard, Kind, Opaque, Part, Usage, error::Failure, refusal,
};

#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "or_default")]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    #[serde(default, deserialize_with = "or_default")]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Delta {
    content: Option<Value>,
    refusal: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tool_calls: Vec<Piece>,
    /// What some call `reasoning`: for whoever reads.
    reasoning: Option<Value>,
    /// What some want back.
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    reasoning_details: Vec<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
    /// Signatures of thoughts, where another provider stands behind.
    extra_content: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// Reads null as nothing.
fn or_default<'d, D: serde::Deserializer<'d>, T: Default + Deserialize<'d>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    names: Names,
    assembly: Assembly,
    /// Index and place of each call, in the order they began.
    calls: Vec<(u64, usize)>,
    reasoning: String,
    details: Vec<Box<RawValue>>,
    usage: Usage,
    reason: Option<String>,
    refused: bool,
    is_over: bool,
}

impl Decoder {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            assembly: Assembly::default(),
            calls: Vec::new(),
            reasoning: String::new(),
            details: Vec::new(),
            usage: Usage::default(),
            reason: None,
            refused: false,
            is_over: false,
        }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn event(
        &mut self,
        data: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        if data.trim_ascii() == b"[DONE]" {
            self.is_over = true;
            return Ok(());
        }
        let chunk: Chunk = parse(data)?;
        if let Some(error) = &chunk.error {
            return Err(refusal::in_stream(error));
        }
        if let Some(tokens) = chunk.usage {
            self.usage = tokens.usage();
        }
        for choice in chunk.choices {
            // One answer is asked for; another would not be ours.
            if choice.index == 0 {
                self.choice(choice, hear)?;
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, hear: &mut dyn FnMut(Heard<'_>)) -> Result<(), Failure> {
        self.reason = choice.finish_reason.or(self.reason.take());
        let delta = choice.delta;
        if let Some(thought) = delta
            .reasoning_content
            .filter(|thought| !thought.is_empty())
        {
            hear(Heard::Thinking(&thought));
            self.assembly.count(thought.len())?;
            self.reasoning.push_str(&thought);
        } else if let Some(Value::String(thought)) = &delta.reasoning
            && !thought.is_empty()
        {
            hear(Heard::Thinking(thought));
        }
        for detail in delta.reasoning_details {
            // More than its bytes, so that many empty ones are bounded, too.
            self.assembly.count(detail.get().len().saturating_add(16))?;
            self.details.push(detail);
        }
        for text in texts(delta.content) {
            hear(Heard::Text(&text));
            self.assembly.text(&text)?;
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            hear(Heard::Text(&refusal));
            self.assembly.text(&refusal)?;
        }
        for piece in delta.tool_calls {
            self.piece(piece, hear)?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, hear: &mut dyn FnMut(Heard<'_>)) -> Result<(), Failure> {
        let (name, arguments) = piece
            .function
            .map_or((None, None), |function| (function.name, function.arguments));
        let name = name.unwrap_or_default();
        let id = piece.id.filter(|id| !id.is_empty());
        let place = match self.place(piece.index, id.as_deref(), &name) {
            Some(place) => place,
            None => {
                hear(Heard::Calling(&self.names.back(&name)));
                let index = piece.index.unwrap_or(self.calls.len() as u64);
                let call = Call {
                    provider_id: id.clone(),
                    name: name.clone(),
                    ..Call::default()
                };
                let place = self.assembly.push(Part::Call(call))?;
                self.calls.push((index, place));
                place
            }
        };
        let arguments = arguments.map_or_else(String::new, |raw| raw::text_of(&raw));
        let extra = piece.extra_content.map(|raw| raw.get().to_owned());
        self.assembly.count(
            extra
                .as_ref()
                .map_or(0, String::len)
                .saturating_add(name.len()),
        )?;
        if let Some(call) = self.assembly.call_at(place) {
            if call.name.is_empty() {
                call.name = name;
            }
            call.provider_id = call.provider_id.take().or(id);
            if let Some(json) = extra.filter(|json| json.starts_with('{')) {
                call.opaque = Some(Opaque {
                    of: Kind::OpenAi,
                    json,
                });
            }
        }
        self.assembly.arguments_at(place, &arguments)
    }

    /// Returns the place of the call that a piece belongs to; `None`: it begins one.
    fn place(&mut self, index: Option<u64>, id: Option<&str>, name: &str) -> Option<usize> {
        let found = match index {
            Some(index) => self.calls.iter().rev().find(|(at, _)| *at == index),
            None => self.calls.last(),
        };
        let (_, place) = *found?;
        let known = self.assembly.call_at(place)?.provider_id.as_deref();
        // Some give every call of a message the same index.
        let begins = !name.is_empty() && id.is_some() && known.is_some() && id != known;
        (!begins).then_some(place)
    }

    pub(super) fn end(mut self) -> Result<Answer, Failure> {
        // Some end the stream without `[DONE]`; the reason is what says that the message is whole.
        let Some(reason) = self.reason else {
            return Err(broken());
        };
        if !self.reasoning.is_empty() || !self.details.is_empty() {
            let json = wanted_back(&self.reasoning, &self.details);
            self.assembly.push(Part::Opaque(Opaque {
                of: Kind::OpenAi,
                json,
            }))?;
        }
        let reason = match reason.as_str() {
            _ if self.refused => FinishReason::Refused,
            "stop" => FinishReason::Stop,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "length" => FinishReason::Length,
            "content_filter" => FinishReason::Refused,
            _ => FinishReason::Error,
        };
        Ok(self.assembly.answer(&self.names, reason, self.usage))
    }
}

/// Writes the fields that go back with the message.
fn wanted_back(reasoning: &str, details: &[Box<RawValue>]) -> String {
    let reasoning = serde_json::Value::from(reasoning);
    let details: Vec<&str> = details.iter().map(|detail| detail.get()).collect();
    let details = details.join(",");
    format!("{{\"reasoning_content\":{reasoning},\"reasoning_details\":[{details}]}}")
}

/// Returns the texts of what is a text or a list of parts.
fn texts(content: Option<Value>) -> Vec<String> {
    let texts = match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            let text = |part: Value| part.get("text")?.as_str().map(str::to_owned);
            parts.into_iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    };
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

impl Tokens {
    fn usage(self) -> Usage {
        Usage {
            input: self.prompt_tokens,
            output: self.completion_tokens,
            cached: self
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
            reasoning: self
                .completion_tokens_details
                .and_then(|details| details.reasoning_tokens),
        }
    }
}
