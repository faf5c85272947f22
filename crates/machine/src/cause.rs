//! The cause of a failure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The cause of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Stable code, or the exit code of a program.
    pub code: Value,
    /// One sentence that describes the failure.
    pub message: String,
    /// Path of the state that failed, if another state reports it; empty: unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// End of standard error, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// End of standard output, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Whether the activity was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Whether the failure is transient; `None`: it is not, or nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passing: Option<Passing>,
}

/// A transient failure: a busy server, a lost connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// Requested delay before the next attempt, in milliseconds; `None`: none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

impl Cause {
    /// Creates a cause from a code and its sentence.
    pub fn new(code: impl Into<Value>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Returns the cause with only the end of each stream, trimmed.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        for stream in [&mut self.stderr, &mut self.stdout] {
            let end = end_of(stream);
            if end.len() < stream.len() {
                *stream = end.to_owned();
            }
        }
        self
    }

    /// Returns the code as text: a name, or a number.
    #[must_use]
    pub fn code_text(&self) -> String {
        let name = self.code.as_str().map(str::to_owned);
        name.unwrap_or_else(|| self.code.to_string())
    }

    /// Returns the code as a number, from 1 to 255; a code that is a name counts as 1.
    #[must_use]
    pub fn number(&self) -> u8 {
        let number = self.code.as_i64().and_then(|code| u8::try_from(code).ok());
        number.filter(|code| *code != 0).unwrap_or(1)
    }
}

/// Maximum number of bytes kept of each stream of a failed program.
const END_BYTES: usize = 64 * 1024;

/// Returns the end of a program's output, trimmed.
fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.ceil_char_boundary(text.len().saturating_sub(END_BYTES));
    text.get(from..).unwrap_or_default().trim_start()
}
