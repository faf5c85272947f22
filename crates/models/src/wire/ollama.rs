//! Ollama's own: `POST /api/chat`, one JSON document a line.

pub(super) mod request;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Names, assembly::Assembly, broken, parse, raw};
use crate::{
    Answer, Call, FinishReason, Heard, Kind, Opaque, Part, Usage, error::Failure, refusal,
};

#[derive(Debug, Deserialize)]
struct ResponseLine {
    message: Option<Message>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall {
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

/// Reads the lines of one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    names: Names,
    assembly: Assembly,
    thinking: String,
    usage: Usage,
    reason: Option<FinishReason>,
}

impl Decoder {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            assembly: Assembly::default(),
            thinking: String::new(),
            usage: Usage::default(),
            reason: None,
        }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.reason.is_some()
    }

    pub(super) fn event(
        &mut self,
        data: &[u8],
        hear: &mut dyn FnMut(Heard<'_>),
    ) -> Result<(), Failure> {
        if self.is_over() {
            return Ok(());
        }
        let line: ResponseLine = parse(data)?;
        if let Some(error) = &line.error {
            return Err(refusal::in_stream(error));
        }
        if let Some(message) = line.message {
            self.message(message, hear)?;
        }
        if line.done == Some(true) {
            self.usage.input = line.prompt_eval_count;
            self.usage.output = line.eval_count;
            self.reason = Some(match line.done_reason.as_deref() {
                Some("stop") | None => FinishReason::Stop,
                Some("length") => FinishReason::Length,
                Some(_) => FinishReason::Error,
            });
        }
        Ok(())
    }

    fn message(&mut self, said: Message, hear: &mut dyn FnMut(Heard<'_>)) -> Result<(), Failure> {
        if let Some(thought) = said.thinking.filter(|thought| !thought.is_empty()) {
            hear(Heard::Thinking(&thought));
            self.assembly.count(thought.len())?;
            self.thinking.push_str(&thought);
        }
        if let Some(text) = said.content.filter(|text| !text.is_empty()) {
            hear(Heard::Text(&text));
            self.assembly.text(&text)?;
        }
        for call in said.tool_calls.unwrap_or_default() {
            let (name, arguments) = call
                .function
                .map_or((None, None), |function| (function.name, function.arguments));
            let name = name.unwrap_or_default();
            hear(Heard::Calling(&self.names.back(&name)));
            self.assembly.push(Part::Call(Call {
                provider_id: call.id,
                name,
                arguments: arguments.map_or_else(String::new, |raw| raw::text_of(&raw)),
                ..Call::default()
            }))?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<Answer, Failure> {
        let reason = self.reason.ok_or_else(broken)?;
        if !self.thinking.is_empty() {
            let json = serde_json::json!({ "thinking": self.thinking }).to_string();
            self.assembly.push(Part::Opaque(Opaque {
                of: Kind::Ollama,
                json,
            }))?;
        }
        Ok(self.assembly.answer(&self.names, reason, self.usage))
    }
}
