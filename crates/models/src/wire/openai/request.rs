//! What is posted for a chat completion.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, value::RawValue};

use crate::{
    Kind, Message, Opaque, Part, Request, Thinking,
    wire::{Dialect, Names, Outgoing, effort_of, ids, join, raw, schema},
};

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    messages: Vec<RequestMessage<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct RequestMessage<'r> {
    role: &'static str,
    /// Null: calls alone.
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'r RawValue>,
}

impl RequestMessage<'_> {
    const fn new(role: &'static str, content: Option<String>) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning_content: None,
            reasoning_details: None,
        }
    }
}

/// What some servers want back with a message of the model.
#[derive(Default, Deserialize)]
struct Back<'r> {
    #[serde(borrow)]
    reasoning_content: Option<&'r RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'r RawValue>,
}

#[derive(Serialize)]
struct ToolCall<'r> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'r RawValue>,
}

#[derive(Serialize)]
struct Function<'r> {
    name: &'r str,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'r> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Declared<'r>,
}

#[derive(Serialize)]
struct Declared<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'r str,
    parameters: Value,
}

pub(in crate::wire) fn outgoing(
    base: &Url,
    request: &Request,
    names: &Names,
    dialect: Dialect,
) -> serde_json::Result<Outgoing> {
    let options = &request.options;
    // The old name is the one that compatible servers know; OpenAI's own newer models refuse it.
    let is_own = base.host_str() == Some("api.openai.com");
    let is_new = is_own != dialect.other_limit;
    let room = options.max_output_tokens;
    let tools = request.tools.iter().map(|tool| Tool {
        kind: "function",
        function: Declared {
            name: names.out(&tool.name),
            description: &tool.description,
            parameters: schema::openai(&tool.schema),
        },
    });
    let mut messages = Vec::with_capacity(request.messages.len().saturating_add(1));
    if !request.system.is_empty() {
        messages.push(RequestMessage::new("system", Some(request.system.clone())));
    }
    messages.extend(lines(&request.messages, names));
    let effort = options.thinking.filter(|_| !dialect.no_thinking);
    let body = Body {
        model: &request.model,
        messages,
        tools: tools.collect(),
        temperature: options
            .temperature
            .as_ref()
            .filter(|_| !dialect.no_temperature),
        max_completion_tokens: room.filter(|_| is_new),
        max_tokens: room.filter(|_| !is_new),
        reasoning_effort: effort.and_then(word),
        stream: true,
        stream_options: (!dialect.no_usage).then_some(StreamOptions {
            include_usage: true,
        }),
    };
    Ok(Outgoing {
        url: join(base, "", &["chat", "completions"]),
        headers: &[],
        body: serde_json::to_vec(&body)?,
    })
}

const fn word(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        // There is no word for it that every server knows.
        Thinking::Off => None,
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
        Thinking::Tokens(tokens) => Some(effort_of(tokens)),
    }
}

fn lines<'r>(messages: &'r [Message], names: &'r Names) -> Vec<RequestMessage<'r>> {
    let ids = ids::all(messages);
    let mut lines = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User { text } => lines.push(RequestMessage::new("user", Some(text.clone()))),
            Message::Assistant { parts } => {
                lines.push(said(parts, ids.get(at).map_or(&[], Vec::as_slice), names));
            }
            Message::Results { results } => {
                let calls = at.checked_sub(1).and_then(|before| ids.get(before));
                lines.extend(results.iter().map(|result| {
                    let id = calls.and_then(|calls| calls.get(result.call));
                    RequestMessage {
                        tool_call_id: Some(id.cloned().unwrap_or_default()),
                        ..RequestMessage::new("tool", Some(result.content.clone()))
                    }
                }));
            }
        }
    }
    lines
}

fn said<'r>(parts: &'r [Part], ids: &[String], names: &'r Names) -> RequestMessage<'r> {
    let mut text = String::new();
    let mut line = RequestMessage::new("assistant", None);
    let mut ids = ids.iter();
    for part in parts {
        match part {
            Part::Text(more) => text.push_str(more),
            Part::Call(call) => line.tool_calls.push(ToolCall {
                id: ids.next().cloned().unwrap_or_default(),
                kind: "function",
                function: Function {
                    name: names.out(&call.name),
                    arguments: raw::arguments(&call.arguments).get().to_owned(),
                },
                extra_content: match &call.opaque {
                    Some(Opaque {
                        of: Kind::OpenAi,
                        json,
                    }) => raw::object(json),
                    _ => None,
                },
            }),
            Part::Opaque(Opaque {
                of: Kind::OpenAi,
                json,
            }) => {
                // What is empty was not there.
                let back: Back<'r> = serde_json::from_str(json).unwrap_or_default();
                line.reasoning_content = back.reasoning_content.filter(|raw| raw.get() != "\"\"");
                line.reasoning_details = back.reasoning_details.filter(|raw| raw.get() != "[]");
            }
            Part::Opaque(_) => {}
        }
    }
    if !text.is_empty() || line.tool_calls.is_empty() {
        line.content = Some(text);
    }
    line
}
