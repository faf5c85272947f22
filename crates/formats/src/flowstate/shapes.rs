//! Allowed values of a FlowState file, as JSON Schema.
//!
//! An editor parses scalars with their types; here they are the text as written, so a text may be a number or a boolean in the
//! schema.

use serde_json::{Value, json};

pub(super) fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{}", key.replace(' ', "%20")) })
}

/// Describes any scalar, which is read as the text as written.
pub(super) fn text() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

/// Describes a scalar that names something, without templates.
pub(super) fn name() -> Value {
    json!({ "type": ["string", "number", "boolean"], "not": { "pattern": "\\{\\{" } })
}

pub(super) fn flag() -> Value {
    json!({ "type": ["boolean", "string"] })
}

pub(super) fn map_of(value: Value) -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": value })
}

/// Describes a value that may also be left empty.
pub(super) fn or_null(value: Value) -> Value {
    json!({ "anyOf": [value, { "type": "null" }] })
}

pub(super) fn word(words: &[&str]) -> Value {
    or_null(json!({ "enum": words }))
}

/// Describes an integer from 1 to `max`.
pub(super) fn count(max: u64) -> Value {
    json!({ "type": ["integer", "string"], "minimum": 1, "maximum": max })
}

pub(super) fn duration() -> Value {
    json!({ "type": "string", "pattern": "^\\s*[0-9]+[smh]\\s*$|\\{\\{" })
}

pub(super) fn environment() -> Value {
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
        "additionalProperties": text(),
    })
}

pub(super) fn states() -> Value {
    json!({
        "type": "object", "minProperties": 1,
        "propertyNames": { "pattern": "^[^/]+$" },
        "additionalProperties": reference("state"),
    })
}

pub(super) fn on_error() -> Value {
    let codes = "^(_|0*([1-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))$";
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": codes },
        "additionalProperties": name(),
    })
}

/// Describes one value, or a list of several.
pub(super) fn one_or_many(value: &Value) -> Value {
    json!({ "anyOf": [value, { "type": "array", "items": value }] })
}
