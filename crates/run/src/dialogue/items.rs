//! The items of a state's output.

use serde_json::Value;

use crate::machine::Object;

/// The key or place of the items does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoItems {
    /// The keys that exist.
    pub known: Vec<String>,
}

/// Returns the items that `key` names in `output`, or in `context` if the output has no such key.
///
/// A list consists of its items. The value of an object's key may be a list, a text that parses to one, or a
/// single item. Null gives no items. Any other value is a single item.
///
/// # Errors
/// The key or the place does not exist.
pub fn items(output: &Value, context: &Object, key: &str) -> Result<Vec<Value>, NoItems> {
    if key.starts_with('/') {
        let place = key.strip_suffix('/').filter(|rest| !rest.is_empty());
        let found = pointed(output, place.unwrap_or(key))
            .or_else(|| pointed(&Value::Object(context.clone()), place.unwrap_or(key)));
        return found.map(listed).ok_or_else(|| missing(output, context));
    }
    match output {
        Value::Array(items) => Ok(items.clone()),
        Value::Object(fields) if key != "." => {
            let found = fields.get(key).or_else(|| context.get(key));
            found
                .cloned()
                .map(listed)
                .ok_or_else(|| missing(output, context))
        }
        Value::Null => Ok(Vec::new()),
        whole => Ok(vec![whole.clone()]),
    }
}

/// Converts a value to a list.
fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            _ => vec![Value::String(text)],
        },
        one => vec![one],
    }
}

/// Follows a JSON Pointer; texts that contain JSON are parsed on the way, and `-1` counts from the end.
#[must_use]
pub fn pointed(value: &Value, pointer: &str) -> Option<Value> {
    let mut here = value.clone();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if let Value::String(text) = &here {
            here = serde_json::from_str(text).ok()?;
        }
        here = match &here {
            Value::Object(fields) => fields.get(&part)?.clone(),
            Value::Array(items) => {
                let index = match part.strip_prefix('-') {
                    Some(back) => items.len().checked_sub(back.parse().ok()?)?,
                    None => part.parse().ok()?,
                };
                items.get(index)?.clone()
            }
            _ => return None,
        };
    }
    Some(here)
}

fn missing(output: &Value, context: &Object) -> NoItems {
    let of_output = output.as_object().into_iter().flat_map(Object::keys);
    let mut known: Vec<String> = Vec::new();
    for key in of_output.chain(context.keys()) {
        if !known.contains(key) {
            known.push(key.clone());
        }
    }
    NoItems { known }
}

#[cfg(test)]
mod tests {
    use super::items;
    use serde_json::{Value, json};

    #[test]
    fn items_are_found_by_every_row_of_the_table() {
        let context = json!({"k": [7], "s": "x"});
        let Value::Object(context) = context else {
            return;
        };
        for (output, key, wanted) in [
            (json!([1, 2]), ".", json!([1, 2])),
            (json!([1, 2]), "any", json!([1, 2])),
            (json!({"f": ["a"]}), "f", json!(["a"])),
            (json!({"f": "[1,2]"}), "f", json!([1, 2])),
            (json!({"f": "[1,"}), "f", json!(["[1,"])),
            (json!({"f": null}), "f", json!([])),
            (json!({"f": 3}), "f", json!([3])),
            (json!({"f": {"a": 1}}), "f", json!([{"a": 1}])),
            (json!({}), "k", json!([7])),
            (json!("text"), "f", json!(["text"])),
            (json!({"a": 1}), ".", json!([{"a": 1}])),
            (json!({"a": [{"b": [1]}]}), "/a/0/b", json!([1])),
            (json!({"a": [1, [2]]}), "/a/-1/", json!([2])),
            (json!({"a": "{\"b\": [5]}"}), "/a/b", json!([5])),
        ] {
            let found = items(&output, &context, key).map(Value::Array);
            assert_eq!(found, Ok(wanted), "{output} by {key}");
        }
        for (output, key) in [
            (json!({"a": 1}), "b"),
            (json!({"a": []}), "/a/0"),
            (json!({"a": [1]}), "/a/-2"),
        ] {
            assert!(items(&output, &context, key).is_err(), "{output} by {key}");
        }
    }
}
