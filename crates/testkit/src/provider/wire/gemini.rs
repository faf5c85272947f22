//! The protocol of the Gemini API.

use serde_json::{Value, json};

use super::{Message, Say, halves, items};

/// The answer to side requests, which expect a decision in this form.
pub(super) const DECIDED: &str = r#"{"reasoning":"x","next_speaker":"user","model_choice":"flash","complexity_score":1,"complexity_reasoning":"x"}"#;

/// Returns the results in a content, each with the id of its call: the output, or the error.
pub(super) fn results(content: &Value) -> impl Iterator<Item = (&Value, String)> {
    let parts = items(content, "parts").iter();
    parts.filter_map(|part| {
        let result = part.get("functionResponse")?;
        let response = result.get("response")?;
        let text = |key: &str| response.get(key).and_then(Value::as_str);
        let text = text("output").or_else(|| text("error"));
        let text = text.map_or_else(|| response.to_string(), str::to_owned);
        Some((&result["id"], text))
    })
}

fn chunk(message: &Message<'_>, parts: &[Value], reason: Option<&str>) -> Value {
    let content = json!({"role": "model", "parts": parts});
    let mut candidate = json!({"content": content, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({
        "candidates": [candidate], "modelVersion": "scripted", "responseId": format!("r{}", message.turn),
        "usageMetadata": {"promptTokenCount": 14, "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 19},
    })
}

fn reason(message: &Message<'_>) -> &'static str {
    message.reason(["STOP", "STOP", "MAX_TOKENS", "SAFETY"])
}

/// Returns the parts of a message, with texts in pieces; a call is one part, and its arguments are an object.
fn parts(message: &Message<'_>) -> Vec<Value> {
    let said = message.said.iter().enumerate();
    let parts = said.flat_map(|(at, say)| match say {
        Say::Text(text) => halves(text).map(|text| json!({"text": text})).collect(),
        Say::Thinking(text) => vec![json!({"text": text, "thought": true})],
        Say::Call {
            name, arguments, ..
        } => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            let call = json!({"name": name, "args": arguments, "id": message.id("fc", at)});
            vec![json!({"functionCall": call, "thoughtSignature": "c2lnbmVk"})]
        }
    });
    parts.collect()
}

pub(super) fn whole(message: &Message<'_>) -> Value {
    chunk(message, &parts(message), Some(reason(message)))
}

pub(super) fn stream(message: &Message<'_>) -> String {
    let parts = parts(message).into_iter();
    let chunks = parts.map(|part| chunk(message, &[part], None));
    let last = chunk(message, &[json!({"text": ""})], Some(reason(message)));
    chunks
        .chain([last])
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}
