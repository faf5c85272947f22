//! Results of calls: counting and cutting their bytes.

use serde_json::{Map, Value, json, value::RawValue};

use crate::message::INTERNAL_ERROR;

/// A partially parsed result.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Everything except the content.
    value: Map<String, Value>,
    content: Option<Vec<Value>>,
}

impl Outcome {
    /// Parses a `CallToolResult`; returns `None` if it is not one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut value: Map<String, Value> = serde_json::from_str(text).ok()?;
        let content = match value.get_mut("content") {
            Some(Value::Array(items)) => Some(std::mem::take(items)),
            _ => None,
        };
        Some(Self { value, content })
    }

    /// Returns whether the call is not over, because it asks for input or continues as a task.
    pub(super) fn goes_on(&self) -> bool {
        let kind = self.value.get("resultType").and_then(Value::as_str);
        matches!(kind, Some("input_required" | "task"))
            || self.value.get("task").is_some_and(Value::is_object) && self.content.is_none()
    }

    /// Returns whether the call continues once the client has given input.
    pub(super) fn wants_input(&self) -> bool {
        self.value.get("resultType").and_then(Value::as_str) == Some("input_required")
    }

    /// Returns the state with which the client continues, if input is requested.
    pub(super) fn request_state(&self) -> Option<&Value> {
        self.value.get("requestState")
    }

    /// Returns whether the tool reports success.
    pub(super) fn is_ok(&self) -> bool {
        self.value.get("isError") != Some(&Value::Bool(true))
    }

    /// Counts what an agent may read of it: text and structured content are alternatives, and the larger counts.
    pub(super) fn bytes(&self) -> u64 {
        let items = self.content.iter().flatten().map(item_bytes);
        let items = items.fold(0, u64::saturating_add);
        // Some clients show content even if it is not a list of items.
        let other = self.value.get("content").map_or(0, json_bytes);
        let structured = self.value.get("structuredContent");
        let items = if self.content.is_some() { items } else { other };
        items.max(structured.map_or(0, json_bytes))
    }

    /// Cuts it to `max` bytes, with a notice; returns how many bytes remain.
    ///
    /// Structured content cannot be cut and is left out; the result is then an error, for which no schema requires it.
    pub(super) fn cut(&mut self, max: u64, has_schema: bool, limit: u64) -> u64 {
        let whole = self.bytes();
        let mut left = max;
        let mut kept = Vec::new();
        for mut item in self.content.take().unwrap_or_default() {
            let bytes = item_bytes(&item);
            if bytes <= left {
                left -= bytes;
                kept.push(item);
            } else if let Some(Value::String(text)) = item.get_mut("text")
                && left > 0
            {
                let end = usize::try_from(left).unwrap_or(usize::MAX);
                text.truncate(text.floor_char_boundary(end));
                left -= u64::try_from(text.len()).unwrap_or(left);
                kept.push(item);
                break;
            } else {
                break;
            }
        }
        let passed = max - left;
        self.content = Some(kept);
        let structured = self.value.remove("structuredContent").is_some();
        if structured || has_schema {
            self.value.insert("isError".to_owned(), Value::Bool(true));
        }
        self.add(&format!(
            "[Interlock: cut here: {passed} of {whole} bytes are shown, {} are left out. This phase allows {limit} bytes of tool results and they are used up: decide on a transition now.]",
            whole.saturating_sub(passed)
        ));
        passed
    }

    /// Appends a text to the content.
    pub(super) fn add(&mut self, text: &str) {
        let item = json!({"type": "text", "text": text});
        self.content.get_or_insert_default().push(item);
    }

    pub(super) fn into_value(mut self) -> Value {
        if let Some(items) = self.content {
            // Keep its position if it exists.
            self.value.insert("content".to_owned(), items.into());
        }
        Value::Object(self.value)
    }
}

/// Counts what an agent may read of a JSON-RPC error, which is all of it.
pub(super) fn error_bytes(error: &RawValue) -> u64 {
    u64::try_from(error.get().len()).unwrap_or(u64::MAX)
}

/// Cuts the message of a JSON-RPC error to `max` bytes, with a notice; its data is left out.
pub(super) fn cut_error(error: &RawValue, max: u64, limit: u64) -> Value {
    let read: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let code = read.get("code").cloned().unwrap_or(json!(INTERNAL_ERROR));
    let message = read.get("message").and_then(Value::as_str);
    let mut message = message.unwrap_or_default().to_owned();
    let end = usize::try_from(max).unwrap_or(usize::MAX);
    message.truncate(message.floor_char_boundary(end));
    let (shown, whole) = (message.len(), error_bytes(error));
    message.push_str(&format!(
        " [Interlock: cut here: {shown} of {whole} bytes of the error are shown. This phase allows {limit} bytes of tool results and they are used up: decide on a transition now.]",
    ));
    json!({"code": code, "message": message})
}

/// Counts the bytes of a content item: its text or data, or else all of it.
fn item_bytes(item: &Value) -> u64 {
    let resource = item.get("resource").unwrap_or(&Value::Null);
    let held = [
        item.get("text"),
        item.get("data"),
        resource.get("text"),
        resource.get("blob"),
    ];
    let texts = held.into_iter().flatten().filter_map(Value::as_str);
    let sum: usize = texts.map(str::len).sum();
    if sum > 0 || item.get("text").is_some() {
        u64::try_from(sum).unwrap_or(u64::MAX)
    } else {
        json_bytes(item)
    }
}

fn json_bytes(value: &Value) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |text| {
        u64::try_from(text.len()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::Outcome;

    #[test]
    fn the_larger_of_text_and_structured_content_counts() {
        for (result, bytes) in [
            (r#"{"content": [{"type": "text", "text": "four"}]}"#, 4),
            (
                r#"{"content": [{"type": "text", "text": "four"}], "structuredContent": {}}"#,
                4,
            ),
            (
                r#"{"content": [{"type": "text", "text": "a"}], "structuredContent": {"k": "12345"}}"#,
                13,
            ),
            (
                r#"{"content": [], "structuredContent": {"k": "12345"}}"#,
                13,
            ),
            (
                r#"{"content": [{"type": "text", "text": "ab"}, {"type": "image", "data": "cdef"}]}"#,
                6,
            ),
            (r#"{"content": "no list"}"#, 9),
            ("{}", 0),
        ] {
            assert_eq!(Outcome::read(result).unwrap().bytes(), bytes, "{result}");
        }
    }
}
