//! Arguments by name, after conversion to the tool's schema.

use serde_json::Value;

/// Returns a text; empty if it is missing.
pub(crate) fn text<'v>(input: &'v Value, name: &str) -> &'v str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an optional text.
pub(crate) fn optional<'v>(input: &'v Value, name: &str) -> Option<&'v str> {
    input.get(name).and_then(Value::as_str)
}

/// Returns a count.
pub(crate) fn count(input: &Value, name: &str) -> Option<usize> {
    let count = input.get(name)?.as_f64()?;
    // Converted to a schema with a minimum; a huge value means everything.
    format!("{count:.0}").parse().ok().or(Some(usize::MAX))
}

/// Returns whether a flag is set.
pub(crate) fn is_set(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or(false)
}
