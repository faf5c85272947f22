//! `output_schema`: a JSON Schema, or only an example.

use serde_json::Value;

use super::{
    notes::Notes,
    syntax::{Schema, Shape},
};
use crate::{fit::schema_fault, node::Node, parse::typed_value, source::Span};

/// Keywords at the top of a JSON Schema, any of which makes an object one.
const WORDS: [&str; 22] = [
    "$schema",
    "$ref",
    "$defs",
    "definitions",
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "additionalProperties",
    "patternProperties",
    "minItems",
    "minProperties",
    "pattern",
    "format",
];

/// Maximum number of findings about an answer that a model is told.
const FINDINGS_MAX: usize = 10;

/// Types of JSON Schema.
const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// Parses the schema of a state's output.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<Schema> {
    let span = node.span;
    let value = match node.text() {
        Some(text) if text.contains("{{") || text.contains("{%") => {
            let shape = Shape::Later(text.to_owned());
            return Some(Schema { shape });
        }
        Some(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => value,
            Err(error) => {
                unreadable(span, text, &error, notes);
                let shape = Shape::Hint(text.to_owned());
                return Some(Schema { shape });
            }
        },
        None => typed_value(node),
    };
    if !is_schema(&value) {
        doubt(span, "is an example, not a JSON Schema", notes);
        let shape = Shape::Hint(node.text().map_or_else(|| value.to_string(), str::to_owned));
        return Some(Schema { shape });
    }
    if let Some(address) = remote(&value) {
        notes
            .report
            .error(
                span,
                "remote_reference",
                format!("the `output_schema` refers to `{address}`, which is not in it"),
            )
            .help("write what it refers to below `$defs`");
        return None;
    }
    let value = with_dialect(value);
    if let Some(fault) = schema_fault(&value) {
        let place = if fault.path.is_empty() {
            String::new()
        } else {
            format!(" at `{}`", fault.path)
        };
        notes
            .report
            .error(
                span,
                "invalid_schema",
                format!(
                    "the `output_schema` is not a JSON Schema{place}: {}",
                    fault.message
                ),
            )
            .help("correct it");
        return None;
    }
    let shape = Shape::Enforced(value);
    Some(Schema { shape })
}

/// Returns the JSON Schema in a text; `None` if it is only an example, or not a valid schema.
///
/// This is for an `output_schema` with templates, whose text is known when it is used.
#[must_use]
pub fn answer_schema(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    if !is_schema(&value) || remote(&value).is_some() {
        return None;
    }
    let value = with_dialect(value);
    schema_fault(&value).is_none().then_some(value)
}

/// Returns how an answer violates `schema`, including formats: location, actual and expected value.
///
/// Returns at most 10 findings, and none if it matches. Nothing matches an invalid schema.
#[must_use]
pub fn answer_findings(answer: &Value, schema: &Value) -> Vec<String> {
    let built = jsonschema::options()
        .should_validate_formats(true)
        .build(schema);
    let validator = match built {
        Ok(validator) => validator,
        Err(error) => return vec![format!("the schema is none: {error}")],
    };
    let finding = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "/" } else { &place };
        format!("at `{place}`: {error}")
    };
    validator
        .iter_errors(answer)
        .take(FINDINGS_MAX)
        .map(finding)
        .collect()
}

fn doubt(span: Span, what: &str, notes: &mut Notes<'_>) {
    notes
        .doubt(
            span,
            "schema_is_a_hint",
            format!("the `output_schema` {what}: the model sees it, nothing is checked against it"),
        )
        .help("write a JSON Schema: `type`, `properties`, `required`");
}

fn unreadable(span: Span, text: &str, error: &serde_json::Error, notes: &mut Notes<'_>) {
    if text.trim_start().starts_with('{') {
        let message = format!("is not JSON ({error})");
        doubt(span, &message, notes);
    } else {
        doubt(span, "is prose, not a JSON Schema", notes);
    }
}

/// Returns whether an object uses keywords of JSON Schema with their meaning.
///
/// `{"type": "invoice", "total": 12}` is an example that happens to have a key with such a name.
fn is_schema(value: &Value) -> bool {
    let Value::Object(object) = value else {
        return false;
    };
    let lawful = |name: &str, value: &Value| match name {
        "type" => match value {
            Value::String(name) => TYPES.contains(&name.as_str()),
            Value::Array(names) => names
                .iter()
                .all(|name| name.as_str().is_some_and(|name| TYPES.contains(&name))),
            _ => false,
        },
        "properties" | "$defs" | "definitions" | "patternProperties" => {
            let objects = |value: &Value| value.is_object() || value.is_boolean();
            value
                .as_object()
                .is_some_and(|parts| parts.values().all(objects))
        }
        "required" | "enum" => value.is_array(),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => value
            .as_array()
            .is_some_and(|parts| parts.iter().all(Value::is_object)),
        "not" | "if" => value.is_object() || value.is_boolean(),
        "$ref" | "$schema" | "pattern" => value.is_string(),
        // These alone are not sufficient: an example may well have such keys.
        _ => false,
    };
    let known = object
        .iter()
        .filter(|(name, _)| WORDS.contains(&name.as_str()));
    known.clone().any(|(name, value)| lawful(name, value))
}

/// Returns the first reference to outside the schema.
fn remote(value: &Value) -> Option<&str> {
    match value {
        Value::Object(object) => {
            let own = object.get("$ref").and_then(Value::as_str);
            own.filter(|address| !address.starts_with('#'))
                .or_else(|| object.values().find_map(remote))
        }
        Value::Array(items) => items.iter().find_map(remote),
        _ => None,
    }
}

/// Sets the dialect if the schema does not: a list below `items` is draft 7.
fn with_dialect(mut value: Value) -> Value {
    let old = has_list_of_items(&value);
    if let (Value::Object(object), true) = (&mut value, old) {
        object
            .entry("$schema")
            .or_insert_with(|| "http://json-schema.org/draft-07/schema#".into());
    }
    value
}

fn has_list_of_items(value: &Value) -> bool {
    match value {
        Value::Object(object) => {
            object.get("items").is_some_and(Value::is_array)
                || object.values().any(has_list_of_items)
        }
        Value::Array(items) => items.iter().any(has_list_of_items),
        _ => false,
    }
}
