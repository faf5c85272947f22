//! What is posted to Gemini.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json, value::RawValue};

use crate::{
    Kind, Message, Opaque, Part, Request, Thinking, ToolResult,
    wire::{Dialect, Names, Outgoing, effort_of, join, raw, schema},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    contents: Vec<Content<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Config<'r>>,
}

#[derive(Serialize)]
struct Content<'r> {
    role: &'static str,
    parts: Vec<Piece<'r>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Serialize)]
struct FunctionCall<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    name: &'r str,
    args: Box<RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r str>,
    name: &'r str,
    response: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'r> {
    function_declarations: Vec<Declared<'r>>,
}

#[derive(Serialize)]
struct Declared<'r> {
    name: &'r str,
    description: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Signed {
    thought_signature: Option<String>,
}

pub(in crate::wire) fn outgoing(
    base: &Url,
    request: &Request,
    names: &Names,
    dialect: Dialect,
) -> serde_json::Result<Outgoing> {
    let options = &request.options;
    let config = Config {
        temperature: options
            .temperature
            .as_ref()
            .filter(|_| !dialect.no_temperature),
        max_output_tokens: options.max_output_tokens,
        thinking_config: options
            .thinking
            .filter(|_| !dialect.no_thinking)
            .map(|thinking| thinking_config(&request.model, thinking)),
    };
    let is_empty = config.temperature.is_none()
        && config.max_output_tokens.is_none()
        && config.thinking_config.is_none();
    let declared = request.tools.iter().map(|tool| Declared {
        name: names.out(&tool.name),
        // Wanted of every function.
        description: if tool.description.is_empty() {
            &tool.name
        } else {
            &tool.description
        },
        parameters: schema::gemini(&tool.schema),
    });
    let declared: Vec<Declared<'_>> = declared.collect();
    let system = &request.system;
    let body = Body {
        system_instruction: (!system.is_empty()).then(|| json!({"parts": [{"text": system}]})),
        contents: contents(&request.messages, names),
        tools: if declared.is_empty() {
            Vec::new()
        } else {
            vec![Tools {
                function_declarations: declared,
            }]
        },
        generation_config: (!is_empty).then_some(config),
    };
    let mut url = model_url(base, &request.model);
    url.set_query(Some("alt=sse"));
    Ok(Outgoing {
        url,
        headers: &[],
        body: serde_json::to_vec(&body)?,
    })
}

/// A tuned model says itself that it is one.
fn model_url(base: &Url, model: &str) -> Url {
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    join(
        base,
        "v1beta",
        &[folder, &format!("{name}:streamGenerateContent")],
    )
}

/// From the third generation on a model is told how hard to think, before how many tokens to take.
fn thinking_config(model: &str, thinking: Thinking) -> Value {
    let old = ["gemini-1", "gemini-2"];
    let is_old = old.iter().any(|begin| model.starts_with(begin));
    let budget = |tokens: u32| json!({"includeThoughts": true, "thinkingBudget": tokens});
    let level = |word: &str| {
        let word = word.to_ascii_uppercase();
        json!({"includeThoughts": true, "thinkingLevel": word})
    };
    match thinking {
        Thinking::Off if is_old => json!({"thinkingBudget": 0}),
        Thinking::Off => json!({"thinkingLevel": "LOW"}),
        Thinking::Low if is_old => budget(2_048),
        Thinking::Medium if is_old => budget(8_192),
        Thinking::High if is_old => budget(24_576),
        Thinking::Tokens(tokens) if is_old => budget(tokens),
        Thinking::Low => level("low"),
        Thinking::Medium => level("medium"),
        Thinking::High => level("high"),
        Thinking::Tokens(tokens) => level(effort_of(tokens)),
    }
}

/// Puts messages of one side that follow each other into one: results and what is said beside them.
fn contents<'r>(messages: &'r [Message], names: &'r Names) -> Vec<Content<'r>> {
    let mut contents: Vec<Content<'r>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let (role, parts) = match message {
            Message::User { text } => ("user", text_piece(text).into_iter().collect()),
            Message::Assistant { parts } => ("model", pieces(parts, names)),
            Message::Results { results } => {
                let before = at.checked_sub(1).and_then(|before| messages.get(before));
                ("user", responses(results, before, names))
            }
        };
        match contents.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            // A message without any part is refused.
            _ if parts.is_empty() => {}
            _ => contents.push(Content { role, parts }),
        }
    }
    contents
}

fn text_piece(text: &str) -> Option<Piece<'_>> {
    (!text.is_empty()).then(|| Piece {
        text: Some(text),
        ..Piece::default()
    })
}

fn pieces<'r>(parts: &'r [Part], names: &'r Names) -> Vec<Piece<'r>> {
    let mut pieces: Vec<Piece<'r>> = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => pieces.extend(text_piece(text)),
            Part::Call(call) => pieces.push(Piece {
                function_call: Some(FunctionCall {
                    id: call.provider_id.as_deref(),
                    name: names.out(&call.name),
                    args: raw::arguments(&call.arguments),
                }),
                thought_signature: call.opaque.as_ref().and_then(signature),
                ..Piece::default()
            }),
            Part::Opaque(opaque) => sign(&mut pieces, signature(opaque)),
        }
    }
    pieces
}

/// Puts a signature at the text before it, or at a text of its own.
fn sign(pieces: &mut Vec<Piece<'_>>, signature: Option<String>) {
    let Some(signature) = signature else { return };
    match pieces.last_mut() {
        Some(last) if last.text.is_some() && last.thought_signature.is_none() => {
            last.thought_signature = Some(signature);
        }
        _ => pieces.push(Piece {
            text: Some(""),
            thought_signature: Some(signature),
            ..Piece::default()
        }),
    }
}

fn signature(opaque: &Opaque) -> Option<String> {
    if opaque.of != Kind::Gemini {
        return None;
    }
    let signed: Signed = serde_json::from_str(&opaque.json).ok()?;
    signed.thought_signature
}

fn responses<'r>(
    results: &'r [ToolResult],
    before: Option<&'r Message>,
    names: &'r Names,
) -> Vec<Piece<'r>> {
    let calls: Vec<_> = before.into_iter().flat_map(Message::calls).collect();
    let responses = results.iter().map(|result| {
        let call = calls.get(result.call);
        let key = if result.is_error { "error" } else { "output" };
        Piece {
            function_response: Some(FunctionResponse {
                id: call.and_then(|call| call.provider_id.as_deref()),
                name: call.map_or("", |call| names.out(&call.name)),
                response: json!({ key: result.content }),
            }),
            ..Piece::default()
        }
    });
    responses.collect()
}
