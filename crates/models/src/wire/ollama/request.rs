//! What is posted to Ollama.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, value::RawValue};

use crate::{
    Kind, Message, Opaque, Part, Request, Thinking,
    wire::{Dialect, Names, Outgoing, join, raw, schema},
};

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    messages: Vec<RequestMessage<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Settings<'r>>,
    stream: bool,
    /// A conversation that is too long is to be refused, not shortened in silence; older servers pass over it.
    truncate: bool,
    /// Nor is its beginning to be forgotten while the model answers.
    shift: bool,
}

#[derive(Serialize)]
struct Settings<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
}

#[derive(Default, Serialize)]
struct RequestMessage<'r> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'r str>,
}

#[derive(Serialize)]
struct ToolCall<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    function: Function<'r>,
}

#[derive(Serialize)]
struct Function<'r> {
    name: &'r str,
    arguments: Box<RawValue>,
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
    description: &'r str,
    parameters: Value,
}

#[derive(Deserialize)]
struct Thought {
    thinking: Option<String>,
}

pub(in crate::wire) fn outgoing(
    base: &Url,
    request: &Request,
    names: &Names,
    dialect: Dialect,
) -> serde_json::Result<Outgoing> {
    let options = &request.options;
    let settings = Settings {
        temperature: options
            .temperature
            .as_ref()
            .filter(|_| !dialect.no_temperature),
        num_predict: options.max_output_tokens,
    };
    let is_empty = settings.temperature.is_none() && settings.num_predict.is_none();
    let tools = request.tools.iter().map(|tool| Tool {
        kind: "function",
        function: Declared {
            name: names.out(&tool.name),
            description: &tool.description,
            parameters: schema::ollama(&tool.schema),
        },
    });
    let mut messages = Vec::with_capacity(request.messages.len().saturating_add(1));
    if !request.system.is_empty() {
        messages.push(line("system", request.system.clone()));
    }
    messages.extend(lines(&request.messages, names));
    let body = Body {
        model: &request.model,
        messages,
        tools: tools.collect(),
        think: options.thinking.filter(|_| !dialect.no_thinking).map(think),
        options: (!is_empty).then_some(settings),
        stream: true,
        truncate: false,
        shift: false,
    };
    Ok(Outgoing {
        url: join(base, "", &["api", "chat"]),
        headers: &[],
        body: serde_json::to_vec(&body)?,
    })
}

/// Few models know how hard; each that thinks at all knows that it is to.
fn think(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Off => false.into(),
        Thinking::Low => "low".into(),
        Thinking::Medium | Thinking::Tokens(_) => true.into(),
        Thinking::High => "high".into(),
    }
}

fn line<'r>(role: &'static str, content: String) -> RequestMessage<'r> {
    RequestMessage {
        role,
        content,
        ..RequestMessage::default()
    }
}

fn lines<'r>(messages: &'r [Message], names: &'r Names) -> Vec<RequestMessage<'r>> {
    let mut lines = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::User { text } => lines.push(line("user", text.clone())),
            Message::Assistant { parts } => lines.push(said(parts, names)),
            Message::Results { results } => {
                let before = at.checked_sub(1).and_then(|before| messages.get(before));
                let calls: Vec<_> = before.into_iter().flat_map(Message::calls).collect();
                lines.extend(results.iter().map(|result| {
                    let call = calls.get(result.call);
                    RequestMessage {
                        tool_name: call.map(|call| names.out(&call.name)),
                        tool_call_id: call.and_then(|call| call.provider_id.as_deref()),
                        ..line("tool", result.content.clone())
                    }
                }));
            }
        }
    }
    lines
}

fn said<'r>(parts: &'r [Part], names: &'r Names) -> RequestMessage<'r> {
    let mut said = line("assistant", String::new());
    for part in parts {
        match part {
            Part::Text(text) => said.content.push_str(text),
            Part::Call(call) => said.tool_calls.push(ToolCall {
                id: call.provider_id.as_deref(),
                function: Function {
                    name: names.out(&call.name),
                    arguments: raw::arguments(&call.arguments),
                },
            }),
            Part::Opaque(Opaque {
                of: Kind::Ollama,
                json,
            }) => {
                let thought: Option<Thought> = serde_json::from_str(json).ok();
                said.thinking = thought.and_then(|thought| thought.thinking);
            }
            Part::Opaque(_) => {}
        }
    }
    said
}
