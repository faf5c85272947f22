//! The protocol of the Gemini API.

use serde_json::{Value, json};

use super::{Answer, HttpRequest, Said, Wire, items, text_said, word};

/// Side requests want a decision in this shape.
const DECIDED: &str = r#"{"reasoning":"x","next_speaker":"user","model_choice":"flash","complexity_score":1,"complexity_reasoning":"x"}"#;

/// `…:generateContent` and `…:streamGenerateContent`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gemini;

impl Wire for Gemini {
    fn asks(&self, asked: &HttpRequest) -> bool {
        let path = asked.path.to_lowercase();
        asked.method == "POST" && path.contains("generatecontent")
    }

    fn aside(&self, asked: &HttpRequest) -> Answer {
        if asked.path.contains("countTokens") {
            return Answer::json(&json!({"totalTokens": 10}));
        }
        Answer::missing(&json!({}))
    }

    fn offers(&self, body: &Value) -> bool {
        let declared = |tool: &Value| !items(tool, "functionDeclarations").is_empty();
        items(body, "tools").iter().any(declared)
    }

    fn offers_call(&self, body: &Value, said: &Said) -> bool {
        let Said::Function { name, .. } = said else {
            return true;
        };
        let tools = items(body, "tools").iter();
        let mut declared = tools.flat_map(|tool| items(tool, "functionDeclarations"));
        declared.any(|tool| word(tool, "name") == name)
    }

    fn results(&self, body: &Value) -> Vec<String> {
        let parts = items(body, "contents")
            .iter()
            .flat_map(|content| items(content, "parts"));
        let responses = parts.filter_map(|part| part.pointer("/functionResponse/response"));
        responses.map(read).collect()
    }

    fn say(&self, asked: &HttpRequest, body: &Value, turn: usize, said: Option<&Said>) -> Answer {
        let part = match said {
            Some(Said::Function {
                name, arguments, ..
            }) => json!({"functionCall": {
                "id": format!("call_{turn}"), "name": name, "args": arguments,
            }}),
            _ if self.offers(body) => json!({"text": text_said(said)}),
            _ => json!({"text": DECIDED}),
        };
        let answer = json!({
            "candidates": [{
                "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
            }],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "scripted",
        });
        if asked.path.contains("alt=sse") {
            return Answer::events(format!("data: {answer}\n\n"));
        }
        Answer::json(&answer)
    }
}

/// What the model reads of a result: its output, or its error.
fn read(response: &Value) -> String {
    let text = |key: &str| response.get(key).and_then(Value::as_str);
    let text = text("output").or_else(|| text("error"));
    text.map_or_else(|| response.to_string(), str::to_owned)
}
