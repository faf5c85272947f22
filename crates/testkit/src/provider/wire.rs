//! The protocols between clients and model providers.

mod anthropic;
mod chat;
mod gemini;
mod ollama;
pub(super) mod responses;

use serde_json::{Value, json};

use super::request::ToolResult;
use super::{Say, Stop};
use crate::server::Answer;

/// A protocol between clients and model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// Chat completions.
    OpenAi,
    /// OpenAI's Responses, which Codex uses.
    Responses,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own protocol.
    Ollama,
}

/// A model's message, independent of the protocol.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) model: &'a str,
    /// A prefix for ids that distinguishes its conversation from others.
    pub(super) conversation: &'a str,
    /// Number of the model's messages before it.
    pub(super) turn: usize,
    pub(super) said: &'a [Say],
    pub(super) stop: Stop,
}

impl Message<'_> {
    /// Returns an id for the part at `index`.
    fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{}{}_{index}", self.conversation, self.turn)
    }

    fn text(&self) -> String {
        let texts = self.said.iter().filter_map(|say| match say {
            Say::Text(text) => Some(text.as_str()),
            Say::Thinking(_) | Say::Call { .. } => None,
        });
        texts.collect()
    }

    fn has_calls(&self) -> bool {
        let is_call = |say: &Say| matches!(say, Say::Call { .. });
        self.said.iter().any(is_call)
    }

    /// Returns the word for why it ends: done, waiting for tools, at the limit, refused.
    fn reason(&self, [done, calls, length, refused]: [&'static str; 4]) -> &'static str {
        match self.stop {
            Stop::Done if self.has_calls() => calls,
            Stop::Done => done,
            Stop::Length => length,
            Stop::Refused => refused,
        }
    }
}

impl Wire {
    pub(super) fn of(method: &str, path: &str) -> Option<Wire> {
        let plain = path.split('?').next().unwrap_or_default();
        match plain {
            _ if method != "POST" => None,
            _ if plain.ends_with("/v1/messages") => Some(Wire::Anthropic),
            _ if plain.ends_with("/chat/completions") => Some(Wire::OpenAi),
            _ if plain.ends_with("/responses") => Some(Wire::Responses),
            // `generateContent`, and `streamGenerateContent`.
            _ if plain.to_lowercase().ends_with("generatecontent") => Some(Wire::Gemini),
            _ if plain.ends_with("/api/chat") => Some(Wire::Ollama),
            _ => None,
        }
    }

    /// Returns the content type of streams.
    pub(super) fn stream_type(self) -> &'static str {
        match self {
            Wire::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// Writes a message, complete or as a stream; returns its content type and text.
    pub(super) fn write(self, streamed: bool, message: &Message<'_>) -> (&'static str, String) {
        let whole = match self {
            Wire::Anthropic if !streamed => anthropic::whole(message),
            Wire::OpenAi if !streamed => chat::whole(message),
            Wire::Gemini if !streamed => gemini::whole(message),
            _ => return (self.stream_type(), self.stream(message)),
        };
        ("application/json", whole.to_string())
    }

    fn stream(self, message: &Message<'_>) -> String {
        match self {
            Wire::Anthropic => anthropic::stream(message),
            Wire::OpenAi => chat::stream(message),
            Wire::Responses => responses::stream(message),
            Wire::Gemini => gemini::stream(message),
            Wire::Ollama => ollama::stream(message),
        }
    }

    /// Returns the answer to a side request, for a title, the next speaker and the like.
    pub(super) fn side_answer(self) -> &'static str {
        match self {
            Wire::Gemini => gemini::DECIDED,
            _ => "ok",
        }
    }

    /// Returns the messages of a request.
    pub(super) fn messages(self, body: &Value) -> &[Value] {
        match self {
            Wire::Gemini => items(body, "contents"),
            Wire::Responses => items(body, "input"),
            _ => items(body, "messages"),
        }
    }

    /// Returns whether the message is the model's.
    pub(super) fn is_by_model(self, message: &Value) -> bool {
        match self {
            Wire::Gemini => message["role"] == "model",
            Wire::Responses => responses::is_by_model(message),
            _ => message["role"] == "assistant",
        }
    }

    /// Returns the number of the model's messages in a request.
    pub(super) fn turn(self, body: &Value) -> usize {
        let messages = self.messages(body).iter();
        messages.filter(|message| self.is_by_model(message)).count()
    }

    /// Returns the results of calls in a message.
    pub(super) fn results(self, message: &Value) -> Vec<ToolResult> {
        let result = |id: &Value, text: String| ToolResult {
            id: id.as_str().unwrap_or_default().to_owned(),
            text,
            failed: false,
        };
        match self {
            Wire::Anthropic => anthropic::results(message),
            Wire::OpenAi | Wire::Ollama if message["role"] != "tool" => Vec::new(),
            Wire::OpenAi | Wire::Ollama => {
                let text = text_of(&message["content"]);
                vec![result(&message["tool_call_id"], text)]
            }
            Wire::Responses if !responses::is_result(message) => Vec::new(),
            Wire::Responses => vec![result(&message["call_id"], text_of(&message["output"]))],
            Wire::Gemini => gemini::results(message)
                .map(|(id, text)| result(id, text))
                .collect(),
        }
    }

    /// Returns the names of the tools that a request offers.
    pub(super) fn tools(self, body: &Value) -> Vec<&str> {
        let tools = items(body, "tools").iter();
        match self {
            Wire::Anthropic => tools.map(|tool| word(tool, "name")).collect(),
            Wire::OpenAi | Wire::Ollama => {
                tools.map(|tool| word(&tool["function"], "name")).collect()
            }
            Wire::Gemini => tools
                .flat_map(|tool| items(tool, "functionDeclarations"))
                .map(|tool| word(tool, "name"))
                .collect(),
            Wire::Responses => {
                let offered = responses::offered(body).into_iter();
                offered.map(|tool| word(tool, "name")).collect()
            }
        }
    }
}

/// Returns a complete message as a stream; `turn` is used in the ids of its calls.
pub fn stream(wire: Wire, turn: usize, said: &[Say], stop: Stop) -> String {
    wire.stream(&Message {
        model: "scripted",
        conversation: "",
        turn,
        said,
        stop,
    })
}

/// Returns the answer to a request that is not for a message.
pub(super) fn other_request(method: &str, path: &str) -> Answer {
    if method == "HEAD" {
        return Answer::empty();
    }
    if path.contains("/count_tokens") || path.contains(":countTokens") {
        return Answer::json(&json!({"input_tokens": 10, "totalTokens": 10}));
    }
    if method == "GET" && path.contains("/models") {
        return Answer::json(
            &json!({"object": "list", "data": [], "models": [], "has_more": false}),
        );
    }
    let error = json!({"type": "not_found_error", "message": "scripted: no such path"});
    Answer::missing(&json!({"type": "error", "error": error}))
}

/// Splits a text into two pieces at a character boundary.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (head, tail) = text.split_at(at);
    [head, tail].into_iter()
}

/// Returns all text in `content`, a string or a list of blocks, including tool results.
pub(super) fn text_of(content: &Value) -> String {
    let part = |block: &Value| match word(block, "type") {
        "tool_result" => text_of(&block["content"]),
        _ => word(block, "text").to_owned(),
    };
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(part).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let items = value.get(key).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
