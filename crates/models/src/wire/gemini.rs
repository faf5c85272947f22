//! Google's `generateContent`: `POST /v1beta/models/M:streamGenerateContent?alt=sse`.

pub(super) mod request;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Names, assembly::Assembly, broken, parse};
use crate::{
    Answer, Call, FinishReason, Heard, Kind, Opaque, Part, Usage, error::Failure, refusal,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    index: Option<u64>,
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Content {
    parts: Option<Vec<Piece>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Debug, Deserialize)]
struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    names: Names,
    assembly: Assembly,
    usage: Usage,
    reason: Option<FinishReason>,
}

impl Decoder {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            assembly: Assembly::default(),
            usage: Usage::default(),
            reason: None,
        }
    }

    pub(super) fn event(
        &mut self,
        data: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        let chunk: Chunk = parse(data)?;
        if let Some(error) = &chunk.error {
            return Err(refusal::in_stream(error));
        }
        if let Some(tokens) = chunk.usage_metadata {
            self.usage = tokens.usage();
        }
        let blocked = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        if blocked.is_some() {
            self.reason = Some(FinishReason::Refused);
        }
        for candidate in chunk.candidates.unwrap_or_default() {
            if candidate.index.unwrap_or(0) != 0 {
                continue;
            }
            let pieces = candidate.content.and_then(|content| content.parts);
            for piece in pieces.unwrap_or_default() {
                self.piece(piece, hear)?;
            }
            if let Some(reason) = candidate.finish_reason {
                self.reason = Some(finish(&reason));
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, hear: &mut dyn FnMut(Heard<'_>)) -> Result<(), Failure> {
        let text = piece.text.unwrap_or_default();
        if piece.thought == Some(true) && piece.function_call.is_none() {
            // A summary for whoever reads; what counts of it is the signature of what follows.
            hear(Heard::Thinking(&text));
            return Ok(());
        }
        if !text.is_empty() {
            hear(Heard::Text(&text));
            self.assembly.text(&text)?;
        }
        let signature = piece.thought_signature.map(|signature| Opaque {
            of: Kind::Gemini,
            json: serde_json::json!({ "thoughtSignature": signature }).to_string(),
        });
        let Some(call) = piece.function_call else {
            // Signs the text before it; ends it, so that what follows stays another part.
            return signature.map_or(Ok(()), |opaque| {
                self.assembly.push(Part::Opaque(opaque)).map(drop)
            });
        };
        let name = call.name.unwrap_or_default();
        hear(Heard::Calling(&self.names.back(&name)));
        let call = Call {
            provider_id: call.id,
            name,
            arguments: call.args.map_or_else(String::new, |args| match args.get() {
                "null" => String::new(),
                args => args.to_owned(),
            }),
            incomplete: false,
            opaque: signature,
        };
        self.assembly.push(Part::Call(call)).map(drop)
    }

    pub(super) fn end(self) -> Result<Answer, Failure> {
        // Its stream has no other mark of an end.
        let reason = self.reason.ok_or_else(broken)?;
        Ok(self.assembly.answer(&self.names, reason, self.usage))
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            FinishReason::Refused
        }
        _ => FinishReason::Error,
    }
}

impl Tokens {
    fn usage(self) -> Usage {
        let add = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
        Usage {
            input: add(self.prompt_token_count, self.tool_use_prompt_token_count),
            // Its own count of the answer leaves out the thoughts.
            output: add(self.candidates_token_count, self.thoughts_token_count),
            cached: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
        }
    }
}
