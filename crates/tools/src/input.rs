//! Arguments by name, after they were fitted to the tool's schema.

use serde_json::Value;

/// Returns a text; empty where it is not there.
pub(crate) fn text<'v>(input: &'v Value, name: &str) -> &'v str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a text that may be left out.
pub(crate) fn optional<'v>(input: &'v Value, name: &str) -> Option<&'v str> {
    input.get(name).and_then(Value::as_str)
}

/// Returns a number of things.
pub(crate) fn count(input: &Value, name: &str) -> Option<usize> {
    let count = input.get(name)?.as_f64()?;
    // Fitted to a schema with a least value; a huge one stands for all there is.
    format!("{count:.0}").parse().ok().or(Some(usize::MAX))
}

/// Tells whether a flag is set.
pub(crate) fn is_set(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or(false)
}
