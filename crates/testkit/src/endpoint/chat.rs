//! The chat completions protocol, which Copilot CLI and opencode speak to a provider of one's own.

use serde_json::{Value, json};

use super::{Answer, HttpRequest, Said, Wire, items, text_of, text_said, word};

/// `…/chat/completions`, streamed or whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat;

impl Wire for Chat {
    fn asks(&self, asked: &HttpRequest) -> bool {
        asked.method == "POST" && asked.path.ends_with("/chat/completions")
    }

    fn aside(&self, asked: &HttpRequest) -> Answer {
        if asked.path.contains("/models") {
            return Answer::json(&json!({"object": "list", "data": []}));
        }
        Answer::missing(&json!({"error": {"message": "scripted"}}))
    }

    fn offers(&self, body: &Value) -> bool {
        !items(body, "tools").is_empty()
    }

    fn offers_call(&self, body: &Value, said: &Said) -> bool {
        let Said::Function { name, .. } = said else {
            return true;
        };
        let mut tools = items(body, "tools").iter();
        tools.any(|tool| tool.pointer("/function/name").and_then(Value::as_str) == Some(name))
    }

    fn results(&self, body: &Value) -> Vec<String> {
        let results = items(body, "messages").iter();
        let results = results.filter(|message| word(message, "role") == "tool");
        results
            .map(|message| text_of(message.get("content").unwrap_or(&Value::Null)))
            .collect()
    }

    fn say(&self, _asked: &HttpRequest, body: &Value, turn: usize, said: Option<&Said>) -> Answer {
        let (message, reason) = message(turn, said);
        let base = |kind: &str, choice: Value| {
            json!({
                "id": format!("chatcmpl-{turn}"), "object": kind, "created": 1,
                "model": word(body, "model"), "choices": [choice],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            })
        };
        if body.get("stream") != Some(&Value::Bool(true)) {
            let choice = json!({"index": 0, "message": message, "finish_reason": reason});
            return Answer::json(&base("chat.completion", choice));
        }
        let chunk = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            format!("data: {}\n\n", base("chat.completion.chunk", choice))
        };
        let said = chunk(message, Value::Null);
        let over = chunk(json!({}), json!(reason));
        Answer::events(format!("{said}{over}data: [DONE]\n\n"))
    }
}

/// The message and why it ends.
fn message(turn: usize, said: Option<&Said>) -> (Value, &'static str) {
    let Some(Said::Function {
        name, arguments, ..
    }) = said
    else {
        let text = text_said(said);
        return (json!({"role": "assistant", "content": text}), "stop");
    };
    let call = json!({
        "index": 0, "id": format!("call_{turn}"), "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()},
    });
    let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    (message, "tool_calls")
}
