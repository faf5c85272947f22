//! The canonical form of a JSON value, so that equal values have equal digests.

use serde_json::Value;

/// Sorts the keys of every object, because clients write them in different orders.
#[must_use]
pub fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_unstable();
            let ordered = keys
                .into_iter()
                .filter_map(|key| Some((key.clone(), canonical(object.get(key)?))));
            Value::Object(ordered.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}
