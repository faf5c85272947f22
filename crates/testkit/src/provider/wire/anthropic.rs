//! Anthropic's Messages protocol.

use serde_json::{Value, json};

use super::super::request::ToolResult;
use super::{Message, Say, halves, items, text_of, word};

/// The fixed signature of thinking blocks.
const SIGNATURE: &str = "c2lnbmVk";

pub(super) fn results(message: &Value) -> Vec<ToolResult> {
    let blocks = items(message, "content").iter();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    let result = |block: &Value| ToolResult {
        id: word(block, "tool_use_id").to_owned(),
        text: text_of(&block["content"]),
        failed: block["is_error"] == true,
    };
    results.map(result).collect()
}

pub(super) fn whole(message: &Message<'_>) -> Value {
    let said = message.said.iter().enumerate();
    let content = said.map(|(index, say)| match say {
        Say::Text(text) => json!({"type": "text", "text": text}),
        Say::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": SIGNATURE})
        }
        Say::Call { arguments, .. } => {
            let mut block = opened(message, index, say);
            block["input"] = serde_json::from_str(arguments).unwrap_or_default();
            block
        }
    });
    json!({
        "id": format!("msg_{}{}", message.conversation, message.turn), "type": "message",
        "role": "assistant", "model": message.model, "content": content.collect::<Vec<_>>(),
        "stop_reason": message.reason(["end_turn", "tool_use", "max_tokens", "refusal"]),
        "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 4},
    })
}

/// Returns an empty block, as at its start.
fn opened(message: &Message<'_>, index: usize, say: &Say) -> Value {
    match say {
        Say::Text(_) => json!({"type": "text", "text": ""}),
        Say::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Say::Call { name, .. } => {
            json!({"type": "tool_use", "id": message.id("toolu", index), "name": name, "input": {}})
        }
    }
}

pub(super) fn stream(message: &Message<'_>) -> String {
    let mut all = String::new();
    let mut event = |data: Value| {
        let kind = word(&data, "type");
        all += &format!("event: {kind}\ndata: {data}\n\n");
    };
    let mut start = whole(message);
    let reason = start["stop_reason"].take();
    start["content"] = json!([]);
    start["usage"]["output_tokens"] = json!(1);
    event(json!({"type": "message_start", "message": start}));
    event(json!({"type": "ping"}));
    for (index, say) in message.said.iter().enumerate() {
        let block = opened(message, index, say);
        event(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let (kind, key, text) = match say {
            Say::Text(text) => ("text_delta", "text", text),
            Say::Thinking(text) => ("thinking_delta", "thinking", text),
            Say::Call { arguments, .. } => ("input_json_delta", "partial_json", arguments),
        };
        let mut deltas: Vec<Value> = halves(text)
            .map(|piece| json!({"type": kind, (key): piece}))
            .collect();
        if matches!(say, Say::Thinking(_)) {
            deltas.push(json!({"type": "signature_delta", "signature": SIGNATURE}));
        }
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    event(json!({
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 5},
    }));
    event(json!({"type": "message_stop"}));
    all
}
