//! The answer as the API writes it: one message, or the same message as a stream of events.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::{Block, Request};

/// The message that says `blocks`.
pub(super) fn message(request: &Request, blocks: &[Block], turn: usize) -> Value {
    // The same request gets the same ids, another conversation other ones: clients repeat requests, and sub-agents of
    // one session must not share ids.
    let mut hasher = DefaultHasher::new();
    request.prompt().hash(&mut hasher);
    request.results().len().hash(&mut hasher);
    let mark = hasher.finish();
    let content: Vec<Value> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::ToolUse { name, input } => json!({
                "type": "tool_use", "id": format!("toolu_{mark:016x}_{turn}_{index}"),
                "name": name, "input": input,
            }),
        })
        .collect();
    let calls = blocks
        .iter()
        .any(|block| matches!(block, Block::ToolUse { .. }));
    json!({
        "id": format!("msg_{mark:016x}_{turn}"), "type": "message", "role": "assistant",
        "model": request.model(), "content": content,
        "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    })
}

/// The server-sent events that carry `message`.
pub(super) fn events(message: &Value) -> String {
    let mut start = message.clone();
    if let Some(start) = start.as_object_mut() {
        start.insert("content".to_owned(), json!([]));
        start.insert("stop_reason".to_owned(), Value::Null);
    }
    let mut events = event("message_start", json!({"message": start}));
    let content = message.get("content").and_then(Value::as_array);
    for (index, block) in content.into_iter().flatten().enumerate() {
        let (opened, delta) = halves(block);
        events += &event(
            "content_block_start",
            json!({"index": index, "content_block": opened}),
        );
        events += &event(
            "content_block_delta",
            json!({"index": index, "delta": delta}),
        );
        events += &event("content_block_stop", json!({"index": index}));
    }
    let stop = message.get("stop_reason").unwrap_or(&Value::Null);
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events += &event(
        "message_delta",
        json!({"delta": delta, "usage": {"output_tokens": 5}}),
    );
    events + &event("message_stop", json!({}))
}

/// A block as it opens, empty, and the one delta that fills it.
fn halves(block: &Value) -> (Value, Value) {
    let mut opened = block.clone();
    if let Some(input) = block.get("input") {
        if let Some(opened) = opened.as_object_mut() {
            opened.insert("input".to_owned(), json!({}));
        }
        let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
        return (opened, delta);
    }
    if let Some(opened) = opened.as_object_mut() {
        opened.insert("text".to_owned(), json!(""));
    }
    let text = block.get("text").unwrap_or(&Value::Null);
    (opened, json!({"type": "text_delta", "text": text}))
}

fn event(kind: &str, fields: Value) -> String {
    let mut data = json!({"type": kind});
    if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
        data.extend(fields);
    }
    format!("event: {kind}\ndata: {data}\n\n")
}
