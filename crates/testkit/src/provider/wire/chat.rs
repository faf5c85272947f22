//! The chat completions protocol, which Copilot CLI and opencode use with custom providers.

use serde_json::{Value, json};

use super::{Message, Say, halves};

fn envelope(message: &Message<'_>, kind: &str, choices: Value, usage: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", message.turn), "object": kind, "created": 1,
        "model": message.model, "choices": choices, "usage": usage,
    })
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 14, "completion_tokens": 5, "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2},
    })
}

fn reason(message: &Message<'_>) -> &'static str {
    message.reason(["stop", "tool_calls", "length", "content_filter"])
}

/// Returns the calls in the message, each with its index, the call without arguments, and the arguments.
fn calls<'a>(message: &'a Message<'_>) -> impl Iterator<Item = (usize, Value, &'a str)> {
    let calls = message.said.iter().filter_map(|say| match say {
        Say::Call {
            name, arguments, ..
        } => Some((name, arguments)),
        Say::Text(_) | Say::Thinking(_) => None,
    });
    calls.enumerate().map(move |(index, (name, arguments))| {
        let call = json!({
            "index": index, "id": message.id("call", index), "type": "function",
            "function": {"name": name, "arguments": ""},
        });
        (index, call, arguments.as_str())
    })
}

pub(super) fn whole(message: &Message<'_>) -> Value {
    let mut said = json!({"role": "assistant", "content": message.text()});
    if message.has_calls() {
        let calls = calls(message).map(|(_, mut call, arguments)| {
            call["function"]["arguments"] = json!(arguments);
            call
        });
        said["tool_calls"] = calls.collect();
    }
    let choices = json!([{"index": 0, "message": said, "finish_reason": reason(message)}]);
    envelope(message, "chat.completion", choices, usage())
}

pub(super) fn stream(message: &Message<'_>) -> String {
    let mut all = String::new();
    let mut chunk = |choices: Value, usage: Value| {
        let chunk = envelope(message, "chat.completion.chunk", choices, usage);
        all += &format!("data: {chunk}\n\n");
    };
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let mut delta = |delta: Value| chunk(choice(delta, Value::Null), Value::Null);
    delta(json!({"role": "assistant", "content": ""}));
    let mut calls = calls(message);
    for say in message.said {
        match say {
            Say::Text(text) => halves(text).for_each(|text| delta(json!({"content": text}))),
            Say::Thinking(text) => {
                halves(text).for_each(|text| delta(json!({"reasoning_content": text})));
            }
            Say::Call { .. } => {
                let Some((index, call, arguments)) = calls.next() else {
                    continue;
                };
                delta(json!({"tool_calls": [call]}));
                for piece in halves(arguments) {
                    let piece = json!({"index": index, "function": {"arguments": piece}});
                    delta(json!({"tool_calls": [piece]}));
                }
            }
        }
    }
    chunk(choice(json!({}), json!(reason(message))), Value::Null);
    chunk(json!([]), usage());
    all + "data: [DONE]\n\n"
}
