//! What a message looks like in each of the four protocols.

use serde_json::{Value, json};

use super::{Say, Stop};

/// A protocol between clients and model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// Chat completions.
    OpenAi,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl Wire {
    pub(super) fn of(method: &str, path: &str) -> Option<Wire> {
        let plain = path.split('?').next().unwrap_or_default();
        match plain {
            _ if method != "POST" => None,
            _ if plain.ends_with("/v1/messages") => Some(Wire::Anthropic),
            _ if plain.ends_with("/chat/completions") => Some(Wire::OpenAi),
            _ if plain.ends_with(":streamGenerateContent") => Some(Wire::Gemini),
            _ if plain.ends_with("/api/chat") => Some(Wire::Ollama),
            _ => None,
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Wire::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }
}

/// Messages of the model in a request.
pub(super) fn turn(wire: Wire, body: &Value) -> usize {
    let (key, role) = match wire {
        Wire::Gemini => ("contents", "model"),
        _ => ("messages", "assistant"),
    };
    let messages = items(body, key).iter();
    messages.filter(|message| message["role"] == role).count()
}

/// Results in the newest messages of a request.
pub(super) fn results(wire: Wire, body: &Value) -> Vec<String> {
    let plain = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match wire {
        Wire::Anthropic => {
            let last = items(body, "messages")
                .iter()
                .rev()
                .find(|message| message["role"] == "user");
            let blocks = last
                .map(|message| items(message, "content"))
                .unwrap_or_default();
            let results = blocks.iter().filter(|block| block["type"] == "tool_result");
            results.map(|block| plain(&block["content"])).collect()
        }
        Wire::Gemini => {
            let last = items(body, "contents").last();
            let parts = last
                .map(|content| items(content, "parts"))
                .unwrap_or_default();
            let responses = parts
                .iter()
                .filter_map(|part| part.pointer("/functionResponse/response"));
            responses
                .map(|response| plain(response.get("output").unwrap_or(&response["error"])))
                .collect()
        }
        Wire::OpenAi | Wire::Ollama => {
            let messages = items(body, "messages");
            let since = messages
                .iter()
                .rposition(|message| message["role"] == "assistant");
            let newest = messages.iter().skip(since.map_or(0, |at| at + 1));
            let results = newest.filter(|message| message["role"] == "tool");
            results.map(|message| plain(&message["content"])).collect()
        }
    }
}

/// A whole message as it is streamed; `turn` names its calls.
pub fn stream(wire: Wire, turn: usize, said: &[Say], stop: Stop) -> String {
    match wire {
        Wire::Anthropic => anthropic(turn, said, stop),
        Wire::OpenAi => chat(turn, said, stop),
        Wire::Gemini => gemini(turn, said, stop),
        Wire::Ollama => ollama(said, stop),
    }
}

fn anthropic(turn: usize, said: &[Say], stop: Stop) -> String {
    let mut all = String::new();
    let mut event = |data: Value| {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
        all += &format!("event: {kind}\ndata: {data}\n\n");
    };
    event(json!({"type": "message_start", "message": {
        "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 4},
    }}));
    event(json!({"type": "ping"}));
    for (index, say) in said.iter().enumerate() {
        let mut begin = |block: Value| {
            event(json!({"type": "content_block_start", "index": index, "content_block": block}));
        };
        let mut deltas: Vec<Value> = Vec::new();
        match say {
            Say::Text(text) => {
                begin(json!({"type": "text", "text": ""}));
                let piece = |text: &str| json!({"type": "text_delta", "text": text});
                deltas.extend(halves(text).map(piece));
            }
            Say::Thinking(text) => {
                begin(json!({"type": "thinking", "thinking": "", "signature": ""}));
                let piece = |text: &str| json!({"type": "thinking_delta", "thinking": text});
                deltas.extend(halves(text).map(piece));
                deltas.push(json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
            }
            Say::Call { name, arguments } => {
                begin(json!({
                    "type": "tool_use", "id": format!("toolu_{turn}_{index}"), "name": name, "input": {},
                }));
                let piece = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
                deltas.extend(halves(arguments).map(piece));
            }
        }
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = match stop {
        Stop::Done if calls(said) => "tool_use",
        Stop::Done => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Refused => "refusal",
    };
    event(json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 5},
    }));
    event(json!({"type": "message_stop"}));
    all
}

fn chat(turn: usize, said: &[Say], stop: Stop) -> String {
    let mut all = String::new();
    let mut chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": format!("chatcmpl-{turn}"), "object": "chat.completion.chunk", "created": 1,
            "model": "scripted", "choices": choices, "usage": usage,
        });
        all += &format!("data: {chunk}\n\n");
    };
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    chunk(
        choice(json!({"role": "assistant", "content": ""}), Value::Null),
        Value::Null,
    );
    let mut index = 0;
    for say in said {
        let deltas: Vec<Value> = match say {
            Say::Text(text) => halves(text).map(|text| json!({"content": text})).collect(),
            Say::Thinking(text) => halves(text)
                .map(|text| json!({"reasoning_content": text}))
                .collect(),
            Say::Call { name, arguments } => {
                let id = format!("call_{turn}_{index}");
                let mut deltas = vec![json!({"tool_calls": [{
                    "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""},
                }]})];
                let piece = |text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
                deltas.extend(halves(arguments).map(piece));
                index += 1;
                deltas
            }
        };
        for delta in deltas {
            chunk(choice(delta, Value::Null), Value::Null);
        }
    }
    let reason = match stop {
        Stop::Done if calls(said) => "tool_calls",
        Stop::Done => "stop",
        Stop::Length => "length",
        Stop::Refused => "content_filter",
    };
    chunk(choice(json!({}), json!(reason)), Value::Null);
    let usage = json!({
        "prompt_tokens": 14, "completion_tokens": 5, "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2},
    });
    chunk(json!([]), usage);
    all + "data: [DONE]\n\n"
}

fn gemini(turn: usize, said: &[Say], stop: Stop) -> String {
    let mut all = String::new();
    let mut chunk = |parts: Value, reason: Option<&str>| {
        let content = json!({"role": "model", "parts": parts});
        let candidate = match reason {
            Some(reason) => json!({"content": content, "index": 0, "finishReason": reason}),
            None => json!({"content": content, "index": 0}),
        };
        let chunk = json!({
            "candidates": [candidate], "modelVersion": "scripted", "responseId": format!("r{turn}"),
            "usageMetadata": {"promptTokenCount": 14, "cachedContentTokenCount": 4,
                "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 19},
        });
        all += &format!("data: {chunk}\r\n\r\n");
    };
    for (at, say) in said.iter().enumerate() {
        match say {
            Say::Text(text) => {
                for text in halves(text) {
                    chunk(json!([{"text": text}]), None);
                }
            }
            Say::Thinking(text) => chunk(json!([{"text": text, "thought": true}]), None),
            Say::Call { name, arguments } => {
                // A call comes whole, and its arguments are an object.
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let call =
                    json!({"name": name, "args": arguments, "id": format!("fc_{turn}_{at}")});
                chunk(
                    json!([{"functionCall": call, "thoughtSignature": "c2lnbmVk"}]),
                    None,
                );
            }
        }
    }
    let reason = match stop {
        Stop::Done => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
    };
    chunk(json!([{"text": ""}]), Some(reason));
    all
}

fn ollama(said: &[Say], stop: Stop) -> String {
    let mut all = String::new();
    let mut line = |message: Value| {
        let line = json!({
            "model": "scripted", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false,
        });
        all += &format!("{line}\n");
    };
    for say in said {
        match say {
            Say::Text(text) => {
                for text in halves(text) {
                    line(json!({"role": "assistant", "content": text}));
                }
            }
            Say::Thinking(text) => {
                line(json!({"role": "assistant", "content": "", "thinking": text}))
            }
            Say::Call { name, arguments } => {
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let call = json!({"function": {"name": name, "arguments": arguments}});
                line(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
            }
        }
    }
    let reason = match stop {
        Stop::Done => "stop",
        Stop::Length => "length",
        Stop::Refused => "refused",
    };
    let end = json!({
        "model": "scripted", "created_at": "2026-01-01T00:00:01Z",
        "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 14, "eval_count": 5,
    });
    all + &format!("{end}\n")
}

fn calls(said: &[Say]) -> bool {
    said.iter().any(|say| matches!(say, Say::Call { .. }))
}

/// A text in two pieces, cut at a letter.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (head, tail) = text.split_at(at);
    [head, tail].into_iter()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let items = value.get(key).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}
