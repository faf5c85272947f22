//! The JSON Schemas of the formats, made of the tables that drive their reading.

use serde_json::{Map, Value, json};

use crate::{
    native::{GATEWAY, TABLES, WORKFLOW, WRAPPER},
    table::{Choice, Field, Shape, Table},
};

/// Returns the JSON Schema (draft 2020-12) of a FlowState file.
#[must_use]
pub fn flowstate_schema() -> Value {
    crate::flowstate::schema()
}

/// Returns the JSON Schema (draft 2020-12) of a CodeMie file.
#[must_use]
pub fn codemie_schema() -> Value {
    crate::codemie::schema()
}

/// Returns the JSON Schema (draft 2020-12) of a workflow file in the native format.
#[must_use]
pub fn schema() -> Value {
    let mut definitions: Map<String, Value> = TABLES
        .iter()
        .map(|table| (table.key.to_owned(), object(table)))
        .collect();
    for (name, definition) in by_hand() {
        definitions.insert(name.to_owned(), definition);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock workflow",
        "oneOf": [reference(WORKFLOW.key), reference(WRAPPER.key), reference(GATEWAY.key)],
        "$defs": definitions,
    })
}

fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{key}") })
}

/// The shapes that are read by hand.
fn by_hand() -> [(&'static str, Value); 3] {
    [
        ("state_type", json!({ "enum": ["final"] })),
        (
            "guard_ref",
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, reference("guard")] }),
        ),
        (
            "transition",
            json!({ "anyOf": [
                { "type": "string", "minLength": 1 },
                reference("transition_object"),
                { "type": "array", "minItems": 1, "items": reference("transition_object") },
            ] }),
        ),
    ]
}

fn object(table: &Table) -> Value {
    let mut properties = Map::new();
    for field in table.fields {
        for name in std::iter::once(&field.name).chain(field.aliases) {
            properties.insert((*name).to_owned(), property(field));
        }
    }
    let required: Vec<&str> = table
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    let mut object = Map::from_iter([
        ("description".to_owned(), json!(table.doc)),
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), json!(table.open)),
    ]);
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    let excluded: Vec<Value> = table
        .fields
        .iter()
        .flat_map(|field| {
            field
                .aliases
                .iter()
                .map(|alias| json!({ "not": { "required": [field.name, alias] } }))
        })
        .collect();
    if !excluded.is_empty() {
        object.insert("allOf".to_owned(), Value::Array(excluded));
    }
    if let Choice::OneOf(ways) = table.choice {
        let ways: Vec<Value> = ways
            .iter()
            .map(|names| json!({ "required": names }))
            .collect();
        object.insert("oneOf".to_owned(), Value::Array(ways));
    }
    Value::Object(object)
}

fn property(field: &Field) -> Value {
    let mut value = shape(field.shape);
    if let Value::Object(object) = &mut value {
        object.insert("description".to_owned(), json!(field.doc));
    }
    value
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Object => json!({ "type": "object" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Name => json!({ "type": "string", "minLength": 1 }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Count => json!({ "type": "integer", "minimum": 1 }),
        Shape::CountTo(max) => json!({ "type": "integer", "minimum": 1, "maximum": max }),
        Shape::Number => json!({ "type": "number", "minimum": 0 }),
        Shape::Time => json!({ "type": "string", "pattern": "^[0-9]+[smh]$" }),
        Shape::OneOf(words) => json!({ "enum": words }),
        Shape::Names => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Shape::List("guards") => json!({ "type": "array", "items": reference("guard_ref") }),
        Shape::List(_) => json!({ "type": "array" }),
        Shape::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Shape::Of(table) => reference(table.key),
        Shape::MapOf(table) => {
            json!({ "type": "object", "additionalProperties": reference(table.key) })
        }
        Shape::By(key) => reference(key),
        Shape::MapBy(key) => json!({ "type": "object", "additionalProperties": reference(key) }),
    }
}
