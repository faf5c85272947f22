//! Schemas of arguments, in the form that each provider accepts.
//!
//! Whatever is left out here is still checked by the caller: a schema that is sent only helps the model.

mod gemini;

use serde_json::{Map, Value, json};

pub(super) use gemini::gemini;

/// Keywords with one schema.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
/// Keywords with a list of schemas.
const LIST: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords with a map of schemas.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// Maximum length of a property name that Anthropic accepts.
const PROPERTY_CHARS_MAX: usize = 64;

/// Converts a schema for Anthropic: 2020-12, an object at the root without alternatives, plain names.
pub(super) fn anthropic(schema: &Value) -> Value {
    let mut schema = root(schema, &["anyOf", "oneOf", "allOf"]);
    each(&mut schema, &mut |schema| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let lawful = |name: &str| {
            !name.is_empty() && name.len() <= PROPERTY_CHARS_MAX && name.chars().all(plain)
        };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| lawful(name));
            if let Some(Value::Array(required)) = schema.get_mut("required") {
                required.retain(|name| name.as_str().is_none_or(lawful));
            }
        }
    });
    schema
}

/// Converts a schema for OpenAI, not strict: an object at the root without alternatives, lists with item types.
pub(super) fn openai(schema: &Value) -> Value {
    let mut schema = root(schema, &["anyOf", "oneOf", "allOf", "enum", "not"]);
    if let Some(root) = schema.as_object_mut() {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    each(&mut schema, &mut |schema| {
        let is_list = schema.get("type").is_some_and(|kind| {
            kind == "array"
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&json!("array")))
        });
        if is_list && !schema.contains_key("items") && !schema.contains_key("prefixItems") {
            schema.insert("items".to_owned(), json!({}));
        }
    });
    schema
}

/// Converts a schema for Ollama: every schema below the root is an object.
pub(super) fn ollama(schema: &Value) -> Value {
    let mut schema = root(schema, &[]);
    if let Some(root) = schema.as_object_mut() {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    each(&mut schema, &mut |schema| {
        let open = |schema: &mut Value| {
            if schema.is_boolean() {
                *schema = json!({});
            }
        };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.values_mut().for_each(open);
        }
        if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
            any.iter_mut().for_each(open);
        }
    });
    schema
}

/// Makes the root an object, and removes the keywords of `without` from it.
fn root(schema: &Value, without: &[&str]) -> Value {
    let mut made = Map::new();
    made.insert("type".to_owned(), json!("object"));
    if let Value::Object(schema) = schema {
        let kept = schema
            .iter()
            .filter(|(key, _)| !without.contains(&key.as_str()));
        made.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    }
    // A list of types at the root is refused; it can only be an object.
    made.insert("type".to_owned(), json!("object"));
    Value::Object(made)
}

/// Visits a schema and all schemas within it; the depth is that of the parsed JSON, which is bounded.
fn each(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    visit(map);
    for (key, value) in map {
        match value {
            Value::Object(named) if NAMED.contains(&key.as_str()) => {
                named.values_mut().for_each(|one| each(one, visit));
            }
            Value::Array(list) if LIST.contains(&key.as_str()) => {
                list.iter_mut().for_each(|one| each(one, visit));
            }
            Value::Object(_) if ONE.contains(&key.as_str()) => each(value, visit),
            _ => {}
        }
    }
}
