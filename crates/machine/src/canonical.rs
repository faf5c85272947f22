//! One way to write a value, so that its digest does not depend on who wrote it.

use serde_json::Value;

/// Orders the keys of every object: two clients may write them otherwise.
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
