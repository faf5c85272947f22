//! Access to records of unknown form.

use std::borrow::Cow;

use serde_json::Value;

/// Maximum length of a line that is read, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Returns the text under a key; empty if there is none.
pub(crate) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text under a key as an owned string; `None` if there is none.
pub(crate) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the text at a pointer.
pub(crate) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_owned)
}

/// Returns the items under a key.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Concatenates all text of a result, which is a text or a list of blocks.
pub(crate) fn text_of(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(blocks) => {
            let parts: Vec<&str> = blocks.iter().map(|block| word(block, "text")).collect();
            Cow::Owned(parts.join("\n"))
        }
        _ => Cow::Borrowed(""),
    }
}

/// Counts the bytes of a text.
pub(crate) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Parses a text that contains JSON; any other text stays a text.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Parses one record per line; `Err` for a malformed line.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Result<Value, ()>> {
    // A text as a whole is split and parsed faster than its lines; in other files only some lines may be damaged.
    let (text, others) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, &[][..]),
        Err(_) => ("", bytes),
    };
    let text = text.split('\n').map(|line| (line.as_bytes(), Some(line)));
    let others = others.split(|byte| *byte == b'\n');
    let lines = text.chain(others.map(|line| (line, None)));
    let lines = lines.filter(|(line, _)| !line.iter().all(u8::is_ascii_whitespace));
    lines.map(|(line, text)| {
        if line.len() > LINE_BYTES_MAX {
            return Err(());
        }
        match text {
            Some(text) => serde_json::from_str(text),
            None => serde_json::from_slice(line),
        }
        .map_err(|_| ())
    })
}

/// Maximum number of characters shown of a call's arguments.
const SHOWN_MAX: usize = 120;

/// Formats the essential arguments of a call in one line, for people.
#[must_use]
pub fn one_line(input: &Value) -> String {
    let keys = [
        "command",
        "cmd",
        "file_path",
        "filePath",
        "path",
        "pattern",
        "query",
        "url",
    ];
    let found = keys.iter().find_map(|key| input.get(*key)?.as_str());
    let text = found.map_or_else(|| input.to_string(), str::to_owned);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    text.chars().take(SHOWN_MAX).chain("…".chars()).collect()
}
