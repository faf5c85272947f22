//! Ollama's own protocol: one JSON document per line.

use serde_json::{Value, json};

use super::{Message, Say, halves};

pub(super) fn stream(message: &Message<'_>) -> String {
    let mut all = String::new();
    let mut line = |said: Value| {
        let line = json!({
            "model": message.model, "created_at": "2026-01-01T00:00:00Z", "message": said, "done": false,
        });
        all += &format!("{line}\n");
    };
    for say in message.said {
        match say {
            Say::Text(text) => {
                halves(text).for_each(|text| line(json!({"role": "assistant", "content": text})));
            }
            Say::Thinking(text) => {
                line(json!({"role": "assistant", "content": "", "thinking": text}));
            }
            Say::Call {
                name, arguments, ..
            } => {
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let call = json!({"function": {"name": name, "arguments": arguments}});
                line(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
            }
        }
    }
    let end = json!({
        "model": message.model, "created_at": "2026-01-01T00:00:01Z",
        "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": message.reason(["stop", "stop", "length", "refused"]),
        "prompt_eval_count": 14, "eval_count": 5,
    });
    all + &format!("{end}\n")
}
