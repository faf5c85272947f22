//! Anthropic's Messages: `POST /v1/messages`, server-sent events.

pub(super) mod request;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Names, assembly::Assembly, broken, parse};
use crate::{
    Answer, Call, FinishReason, Heard, Kind, Opaque, Part, Usage,
    error::{Code, Failure},
    refusal,
};

/// An event, with what is read of any.
#[derive(Debug, Deserialize)]
struct Event<'e> {
    #[serde(rename = "type")]
    kind: String,
    index: Option<u64>,
    message: Option<Message>,
    #[serde(borrow)]
    content_block: Option<&'e RawValue>,
    delta: Option<Delta>,
    usage: Option<Tokens>,
    error: Option<Trouble>,
}

#[derive(Debug, Deserialize)]
struct Message {
    usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
struct Details {
    thinking_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Trouble {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

/// A block that is arriving, and the place of its part.
#[derive(Debug)]
enum Growing {
    Text,
    Call {
        written: bool,
        whole: String,
    },
    Thinking {
        text: String,
        signature: Option<String>,
    },
    /// Nothing of it is kept.
    Other,
}

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    names: Names,
    assembly: Assembly,
    /// By index, in the order they began.
    blocks: Vec<(u64, usize, Growing)>,
    usage: Tokens,
    reason: Option<String>,
    is_over: bool,
}

impl Decoder {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            assembly: Assembly::default(),
            blocks: Vec::new(),
            usage: Tokens::default(),
            reason: None,
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
        let event: Event<'_> = parse(data)?;
        match event.kind.as_str() {
            "message_start" => {
                let usage = event.message.and_then(|message| message.usage);
                self.usage.take(usage.unwrap_or_default());
            }
            "content_block_start" => {
                let block = event.content_block.map_or("{}", RawValue::get);
                self.begin(event.index.unwrap_or(0), block, hear)?;
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.grow(event.index.unwrap_or(0), delta, hear)?;
                }
            }
            "content_block_stop" => self.close(event.index.unwrap_or(0))?,
            "message_delta" => {
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.reason = reason.or(self.reason.take());
                self.usage.take(event.usage.unwrap_or_default());
            }
            "message_stop" => self.is_over = true,
            "error" => return Err(trouble(event.error)),
            // `ping`, and what is yet to be invented.
            _ => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: u64,
        json: &str,
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        let block: Block = parse(json.as_bytes())?;
        let opaque = |json: &str| {
            Part::Opaque(Opaque {
                of: Kind::Anthropic,
                json: json.to_owned(),
            })
        };
        let (part, growing) = match block.kind.as_str() {
            "text" => {
                let text = block.text.unwrap_or_default();
                if !text.is_empty() {
                    hear(Heard::Text(&text));
                }
                (Part::Text(text), Growing::Text)
            }
            "tool_use" => {
                let name = block.name.unwrap_or_default();
                hear(Heard::Calling(&self.names.back(&name)));
                let call = Call {
                    provider_id: block.id,
                    name,
                    ..Call::default()
                };
                let whole = block
                    .input
                    .map_or_else(String::new, |raw| raw.get().to_owned());
                let written = false;
                (Part::Call(call), Growing::Call { written, whole })
            }
            "thinking" => {
                let text = block.thinking.unwrap_or_default();
                let signature = block.signature.filter(|signature| !signature.is_empty());
                (opaque(""), Growing::Thinking { text, signature })
            }
            "redacted_thinking" => (opaque(json), Growing::Other),
            _ => return Ok(()),
        };
        let place = self.assembly.push(part)?;
        self.blocks.push((index, place, growing));
        Ok(())
    }

    fn grow(
        &mut self,
        index: u64,
        delta: Delta,
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        let block = self.blocks.iter_mut().rev().find(|(at, _, _)| *at == index);
        let Some((_, place, growing)) = block else {
            return Ok(());
        };
        match (delta.kind.as_deref(), growing) {
            (Some("text_delta"), Growing::Text) => {
                let text = delta.text.unwrap_or_default();
                hear(Heard::Text(&text));
                self.assembly.text_at(*place, &text)?;
            }
            (Some("input_json_delta"), Growing::Call { written, .. }) => {
                let piece = delta.partial_json.unwrap_or_default();
                *written |= !piece.is_empty();
                self.assembly.arguments_at(*place, &piece)?;
            }
            (Some("thinking_delta"), Growing::Thinking { text, .. }) => {
                let piece = delta.thinking.unwrap_or_default();
                hear(Heard::Thinking(&piece));
                self.assembly.count(piece.len())?;
                text.push_str(&piece);
            }
            (Some("signature_delta"), Growing::Thinking { signature, .. }) => {
                let piece = delta.signature.unwrap_or_default();
                self.assembly.count(piece.len())?;
                signature.get_or_insert_default().push_str(&piece);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends a block: what came whole at its start counts where nothing followed.
    fn close(&mut self, index: u64) -> Result<(), Failure> {
        let at = self.blocks.iter().rposition(|(at, _, _)| *at == index);
        let Some((_, place, growing)) = at.map(|at| self.blocks.remove(at)) else {
            return Ok(());
        };
        match growing {
            Growing::Call {
                written: false,
                whole,
            } => self.assembly.arguments_at(place, &whole),
            Growing::Thinking { text, signature } => {
                // Thinking that was cut has no signature, and would not be taken back.
                if let Some(signature) = signature {
                    self.assembly.opaque_at(place, thinking(&text, &signature));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn end(self) -> Result<Answer, Failure> {
        let Some(reason) = self.reason.filter(|_| self.is_over) else {
            return Err(broken());
        };
        let reason = match reason.as_str() {
            "end_turn" | "stop_sequence" | "pause_turn" => FinishReason::Stop,
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" => FinishReason::Refused,
            _ => FinishReason::Error,
        };
        let usage = self.usage.usage();
        Ok(self.assembly.answer(&self.names, reason, usage))
    }
}

/// A block of thinking as it is sent back.
fn thinking(text: &str, signature: &str) -> Opaque {
    let block = serde_json::json!({"type": "thinking", "thinking": text, "signature": signature});
    Opaque {
        of: Kind::Anthropic,
        json: block.to_string(),
    }
}

impl Tokens {
    /// Takes newer counts; they are sums, not differences.
    fn take(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        let created = newer.cache_creation_input_tokens;
        self.cache_creation_input_tokens = created.or(self.cache_creation_input_tokens);
        let read = newer.cache_read_input_tokens;
        self.cache_read_input_tokens = read.or(self.cache_read_input_tokens);
        if newer.output_tokens_details.is_some() {
            self.output_tokens_details = newer.output_tokens_details;
        }
    }

    fn usage(&self) -> Usage {
        let beside = [
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        ];
        let beside = beside.into_iter().flatten().fold(0, u64::saturating_add);
        let details = self.output_tokens_details.as_ref();
        Usage {
            // Its own count leaves out what was in a cache.
            input: self.input_tokens.map(|fresh| fresh.saturating_add(beside)),
            output: self.output_tokens,
            cached: self.cache_read_input_tokens,
            reasoning: details.and_then(|details| details.thinking_tokens),
        }
    }
}

/// An error in the middle of a stream.
fn trouble(error: Option<Trouble>) -> Failure {
    let (kind, message) = error.map_or((None, None), |error| (error.kind, error.message));
    let kind = kind.unwrap_or_else(|| "error".to_owned());
    let said = message.unwrap_or_default();
    let is_passing = !matches!(
        kind.as_str(),
        "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "request_too_large"
            | "billing_error"
    );
    let is_too_long = refusal::is_overflow(&kind, &said);
    Failure {
        code: if is_too_long {
            Code::ContextOverflow
        } else {
            Code::ModelError
        },
        is_passing: is_passing && !is_too_long,
        ..Failure::passing(format!("the provider ended the answer ({kind}): {said}"))
    }
}
