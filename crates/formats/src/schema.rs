//! The JSON Schemas of the formats, generated from the tables that determine their parsing.

mod id;

pub(crate) use id::id;

use serde_json::{Map, Value, json};

use crate::{
    native::{GATEWAY, TABLES, WORKFLOW, WRAPPER},
    pipeline,
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

/// Returns the JSON Schema (draft 2020-12) of a pipeline.
#[must_use]
pub fn pipeline_schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let by_hand = [
        ("guard_ref", guard_ref()),
        ("report_ref", report_ref()),
        ("passed_at_least", passed_at_least()),
        (
            "gate",
            json!({ "anyOf": [
                reference("guard_ref"),
                { "type": "array", "items": reference("guard_ref") },
            ] }),
        ),
        (
            "assertion_ref",
            json!({ "anyOf": [text, reference("assertion")] }),
        ),
        (
            "next",
            json!({ "anyOf": [
                text,
                { "type": "array", "minItems": 1, "items": reference("branch") },
                reference("parallel"),
                reference("stages"),
            ] }),
        ),
    ];
    let tables = pipeline::tables();
    document(
        ("pipeline", "Interlock pipeline"),
        tables,
        by_hand,
        reference("pipeline"),
    )
}

/// Returns the JSON Schema (draft 2020-12) of a workflow file in the native format.
#[must_use]
pub fn schema() -> Value {
    let any = json!([
        reference(WORKFLOW.key),
        reference(WRAPPER.key),
        reference(GATEWAY.key)
    ]);
    document(
        ("native", "Interlock workflow"),
        TABLES,
        by_hand(),
        json!({ "oneOf": any }),
    )
}

/// Combines a schema from tables and from forms that are parsed by hand.
fn document<const N: usize>(
    (format, title): (&str, &str),
    tables: &[&Table],
    by_hand: [(&str, Value); N],
    root: Value,
) -> Value {
    let mut definitions: Map<String, Value> = tables
        .iter()
        .map(|table| (table.key.to_owned(), object(table)))
        .collect();
    for (name, definition) in by_hand {
        definitions.insert(name.to_owned(), definition);
    }
    let mut document = Map::from_iter([
        (
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("$id".to_owned(), json!(id(format))),
        ("title".to_owned(), json!(title)),
    ]);
    if let Value::Object(root) = root {
        document.extend(root);
    }
    document.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(document)
}

fn guard_ref() -> Value {
    json!({ "anyOf": [{ "type": "string", "minLength": 1 }, reference("guard")] })
}

fn report_ref() -> Value {
    json!({ "anyOf": [{ "type": "string", "minLength": 1 }, reference("report")] })
}

fn passed_at_least() -> Value {
    json!({ "anyOf": [{ "const": "start" }, { "type": "integer", "minimum": 1 }] })
}

fn reference(key: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{key}") })
}

/// Describes the forms that are parsed by hand.
fn by_hand() -> [(&'static str, Value); 8] {
    let is_stage = json!({ "properties": { "type": { "const": "stage" } }, "required": ["type"] });
    [
        ("state_type", json!({ "enum": ["final", "stage"] })),
        (
            "any_state",
            json!({ "if": is_stage, "then": reference("stage"), "else": reference("state") }),
        ),
        ("guard_ref", guard_ref()),
        ("report_ref", report_ref()),
        ("passed_at_least", passed_at_least()),
        (
            "gate",
            json!({ "anyOf": [
                reference("guard_ref"),
                { "type": "array", "items": reference("guard_ref") },
            ] }),
        ),
        (
            "assertion_ref",
            json!({ "anyOf": [{ "type": "string", "minLength": 1 }, reference("assertion")] }),
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
        .filter(|field| field.required && field.aliases.is_empty())
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
    let spelled: Vec<Value> = table.fields.iter().flat_map(spellings).collect();
    if !spelled.is_empty() {
        object.insert("allOf".to_owned(), Value::Array(spelled));
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

/// Requires one spelling of a field at a time, and at least one if it is required.
fn spellings(field: &Field) -> Vec<Value> {
    let mut said: Vec<Value> = Vec::new();
    let names: Vec<&str> = std::iter::once(field.name)
        .chain(field.aliases.iter().copied())
        .collect();
    for (at, name) in names.iter().enumerate() {
        let others = names.iter().skip(at + 1);
        said.extend(others.map(|other| json!({ "not": { "required": [name, other] } })));
    }
    if field.required && names.len() > 1 {
        let ways: Vec<Value> = names
            .iter()
            .map(|name| json!({ "required": [name] }))
            .collect();
        said.push(json!({ "anyOf": ways }));
    }
    said
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
        Shape::CountTo(Shape::ANY) => json!({ "type": "integer", "minimum": 1 }),
        Shape::CountTo(max) => json!({ "type": "integer", "minimum": 1, "maximum": max }),
        Shape::Number => json!({ "type": "number", "minimum": 0 }),
        Shape::Time => json!({ "type": "string", "pattern": "^[0-9]+[smh]$" }),
        Shape::OneOf(words) => json!({ "enum": words }),
        Shape::Names => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Shape::List("assertions") => {
            json!({ "type": "array", "items": reference("assertion_ref") })
        }
        Shape::List("guards") => json!({ "type": "array", "items": reference("guard_ref") }),
        Shape::List(_) => json!({ "type": "array" }),
        Shape::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Shape::Of(table) => reference(table.key),
        // A state of a native workflow may be a stage.
        Shape::MapOf(table) if table.key == "state" => {
            json!({ "type": "object", "additionalProperties": reference("any_state") })
        }
        Shape::MapOf(table) => {
            json!({ "type": "object", "additionalProperties": reference(table.key) })
        }
        Shape::By(key) => reference(key),
        Shape::MapBy(key) => json!({ "type": "object", "additionalProperties": reference(key) }),
    }
}

#[cfg(test)]
mod tests;
