//! Comparison of results with the patterns of a case.

use serde_json::Value;

/// Returns whether a value fits a pattern.
///
/// An object fits if it has at least the pattern's members, a list if each element fits, a text also if the pattern is
/// `{has: PART}` and it contains the part; anything else must be equal.
pub(crate) fn fits(pattern: &Value, found: &Value) -> bool {
    match (pattern, found) {
        (Value::Object(members), Value::String(text)) => {
            let parts: Vec<&str> = members.values().filter_map(Value::as_str).collect();
            members.keys().all(|key| key == "has") && parts.iter().all(|part| text.contains(part))
        }
        (Value::Object(wanted), Value::Object(found)) => wanted
            .iter()
            .all(|(key, wanted)| fits(wanted, found.get(key).unwrap_or(&Value::Null))),
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len()
                && wanted
                    .iter()
                    .zip(found)
                    .all(|(wanted, found)| fits(wanted, found))
        }
        _ => pattern == found,
    }
}

/// Returns whether an event fits a pattern of events, or has its name.
fn is_like(pattern: &Value, event: &Value) -> bool {
    match pattern {
        Value::String(name) => event["event"] == name.as_str(),
        _ => fits(pattern, event),
    }
}

/// Returns the first pattern that no event fits after the events of the patterns before it; `None` if all fit.
pub(crate) fn missing<'a>(patterns: &'a [Value], events: &[Value]) -> Option<&'a Value> {
    let mut events = events.iter();
    patterns
        .iter()
        .find(|pattern| !events.any(|event| is_like(pattern, event)))
}

/// Returns the first event that fits one of the patterns.
pub(crate) fn unwanted<'a>(patterns: &[Value], events: &'a [Value]) -> Option<&'a Value> {
    events
        .iter()
        .find(|event| patterns.iter().any(|pattern| is_like(pattern, event)))
}
