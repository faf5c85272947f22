//! Results of server tools, as text for a model.

use std::time::Duration;

use interlock_mcp::message::{AWAY, Outcome};
use serde_json::Value;

/// Result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Whether the tool reports success.
    pub ok: bool,
    /// Complete content as text; other items with their kind and size.
    ///
    /// If there is only structured content, that content as JSON.
    pub text: String,
    /// Structured content.
    pub structured: Option<Value>,
    /// Content items as received.
    pub content: Vec<Value>,
}

/// Why there is no result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No available tool has the name.
    #[error("{0}")]
    Unknown(String),
    /// The definition differs from the one that the run saw first; a person can accept it.
    #[error("{0}")]
    Changed(String),
    /// The server refused.
    #[error("{0}")]
    Refused(String),
    /// The server is not available, or went away before it answered.
    #[error("{0}")]
    Away(String),
    /// The call took too long and was cancelled.
    #[error("it did not end within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// Interlock failed, or the servers have ended.
    #[error("{0}")]
    Unavailable(String),
}

impl CallError {
    /// Returns a stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown_tool",
            Self::Changed(_) => "protected",
            Self::Refused(_) | Self::Away(_) => "server_error",
            Self::TimedOut(_) => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unavailable(_) => "unavailable",
        }
    }
}

impl CallError {
    /// Determines why a server did not do what it was asked.
    pub(super) fn of_outcome(outcome: &Outcome) -> Self {
        let said: Value = match outcome {
            Outcome::Error(error) => serde_json::from_str(error.get()).unwrap_or_default(),
            Outcome::Result(_) => Value::Null,
        };
        let message = said.get("message").and_then(Value::as_str);
        let message = message.unwrap_or("the server gave an error without a message");
        if is_away(&said) {
            Self::Away(message.to_owned())
        } else {
            Self::Refused(message.to_owned())
        }
    }

    /// Returns whether the same call may succeed later.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_) | Self::TimedOut(_))
    }
}

impl ToolResult {
    /// Converts the outcome of a call.
    pub(super) fn of_outcome(outcome: &Outcome) -> Result<Self, CallError> {
        match outcome {
            Outcome::Result(result) => {
                let read = serde_json::from_str(result.get());
                Self::of(&read.map_err(|error| {
                    CallError::Refused(format!("the answer cannot be read: {error}"))
                })?)
            }
            Outcome::Error(_) => Err(CallError::of_outcome(outcome)),
        }
    }

    /// Parses a `CallToolResult`.
    fn of(result: &Value) -> Result<Self, CallError> {
        let written = result.get("content");
        let structured = result.get("structuredContent").cloned();
        let listed = written.and_then(Value::as_array);
        let content = listed.cloned().unwrap_or_default();
        if listed.is_none() && (written.is_some() || structured.is_none()) {
            let kind = result.get("resultType").and_then(Value::as_str);
            let what = kind.unwrap_or("nothing that is a result of a tool");
            return Err(CallError::Refused(format!(
                "the server answered with {what}"
            )));
        }
        let texts: Vec<String> = content.iter().map(text_of).collect();
        let text = match (&structured, texts.is_empty()) {
            (Some(structured), true) => structured.to_string(),
            _ => texts.join("\n"),
        };
        Ok(Self {
            ok: result.get("isError") != Some(&Value::Bool(true)),
            text,
            structured,
            content,
        })
    }
}

/// Returns whether an error says that its server may answer later.
fn is_away(error: &Value) -> bool {
    let data = error.get("data");
    let status = data.and_then(|data| data.get("status")?.as_u64());
    let away = data.and_then(|data| data.get(AWAY));
    away == Some(&Value::Bool(true)) || matches!(status, Some(408 | 429 | 500..=599))
}

/// Describes the contents of a content item as text.
fn text_of(item: &Value) -> String {
    let text = |at: &str| item.pointer(at).and_then(Value::as_str);
    let kind = text("/type").unwrap_or("item");
    if let Some(text) = text("/text").or_else(|| text("/resource/text")) {
        return text.to_owned();
    }
    let named = text("/uri").or_else(|| text("/resource/uri"));
    let media = text("/mimeType").or_else(|| text("/resource/mimeType"));
    let data = text("/data").or_else(|| text("/resource/blob"));
    let mut said = vec![kind.to_owned()];
    said.extend(named.map(str::to_owned));
    said.extend(media.map(str::to_owned));
    said.extend(data.map(|data| format!("{} bytes", data.len() / 4 * 3)));
    format!("[{}]", said.join(", "))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_server_that_is_away_is_called_again() {
        for (error, code, is_passing) in [
            (json!({"message": "no"}), "server_error", false),
            (
                json!({"message": "no", "data": {"status": 404}}),
                "server_error",
                false,
            ),
            (
                json!({"message": "no", "data": {"status": 429}}),
                "server_error",
                true,
            ),
            (
                json!({"message": "no", "data": {"status": 500}}),
                "server_error",
                true,
            ),
            (
                json!({"message": "no", "data": {"status": 600}}),
                "server_error",
                false,
            ),
            (
                json!({"message": "no", "data": {AWAY: true}}),
                "server_error",
                true,
            ),
            (
                json!({"message": "no", "data": {AWAY: "true"}}),
                "server_error",
                false,
            ),
        ] {
            let outcome = Outcome::Error(serde_json::value::to_raw_value(&error).unwrap());
            let failed = ToolResult::of_outcome(&outcome).unwrap_err();
            assert_eq!(
                (failed.code(), failed.is_passing()),
                (code, is_passing),
                "{error}"
            );
            assert_eq!(failed.to_string(), "no", "{error}");
        }
        let why = || "why".to_owned();
        for (failed, code, is_passing) in [
            (CallError::Unknown(why()), "unknown_tool", false),
            (CallError::Changed(why()), "protected", false),
            (
                CallError::TimedOut(Duration::from_millis(7)),
                "timeout",
                true,
            ),
            (CallError::Cancelled, "cancelled", false),
            (CallError::Unavailable(why()), "unavailable", false),
        ] {
            assert_eq!(
                (failed.code(), failed.is_passing()),
                (code, is_passing),
                "{failed:?}"
            );
        }
    }

    #[test]
    fn a_result_is_text_structured_content_or_an_error() {
        let read = |result: &Value| ToolResult::of(result);
        for (result, ok, text) in [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                true,
                "a\nb",
            ),
            (json!({"content": [], "isError": true}), false, ""),
            (
                json!({"content": [], "structuredContent": {"n": 1}}),
                true,
                r#"{"n":1}"#,
            ),
            (json!({"structuredContent": {"n": 1}}), true, r#"{"n":1}"#),
            (
                json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}}),
                true,
                "a",
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAABBBB"}]}),
                true,
                "[image, image/png, 6 bytes]",
            ),
        ] {
            let read = read(&result).unwrap();
            assert_eq!((read.ok, read.text.as_str()), (ok, text), "{result}");
        }
        for result in [
            json!({}),
            json!({"resultType": "input_required"}),
            json!({"content": "a", "structuredContent": {"n": 1}}),
        ] {
            assert_eq!(
                read(&result).unwrap_err().code(),
                "server_error",
                "{result}"
            );
        }
    }
}
