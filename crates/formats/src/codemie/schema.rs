//! The JSON Schema of CodeMie files, for editors, generated from the tables of keys.
//!
//! An editor parses scalars with their types; here the type is that of the key, so a text may be a number or a boolean in the
//! schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    keys::{DEAD, SILENT, TABLES, WORKFLOW},
    nodes::TYPES,
    table::{Key, Kind, Standing, Table},
};

/// Returns the JSON Schema (draft 2020-12) of a CodeMie file.
pub(crate) fn schema() -> Value {
    let mut definitions = BTreeMap::new();
    for table in TABLES.iter().chain(TYPES.iter().map(|(_, table)| table)) {
        define(table, &mut definitions);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": crate::schema::id("codemie"),
        "title": "CodeMie workflow",
        "oneOf": [reference(&WORKFLOW), { "$ref": "#/$defs/package" }],
        "$defs": definitions,
    })
}

/// Adds a table and those of its keys.
fn define(table: &'static Table, definitions: &mut BTreeMap<&'static str, Value>) {
    if definitions.contains_key(table.key) {
        return;
    }
    definitions.insert(table.key, object(table));
    for key in table.keys {
        if let Kind::One(inner) | Kind::List(inner) = key.kind {
            define(inner, definitions);
        }
    }
}

fn reference(table: &Table) -> Value {
    json!({ "$ref": format!("#/$defs/{}", table.key) })
}

fn object(table: &Table) -> Value {
    let mut properties = Map::new();
    for name in SILENT
        .iter()
        .copied()
        .chain(DEAD.iter().map(|(name, _)| *name))
    {
        properties.insert(
            name.to_owned(),
            json!({ "description": "Accepted; it has no effect.", "deprecated": true }),
        );
    }
    for key in table.keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    let required: Vec<&str> = table
        .keys
        .iter()
        .filter(|key| key.standing == Standing::Required)
        .map(|key| key.name)
        .collect();
    let mut object = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if let (Value::Object(object), false) = (&mut object, required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn property(key: &Key) -> Value {
    let mut value = kind(key.kind);
    let is_free = value.as_object().is_some_and(Map::is_empty);
    // A required key must have a value; any other may be left empty.
    if key.standing != Standing::Required && !is_free {
        value = json!({ "anyOf": [value, { "type": "null" }] });
    }
    if let Value::Object(object) = &mut value {
        object.insert("description".to_owned(), json!(key.doc));
    }
    value
}

fn kind(kind: Kind) -> Value {
    let text = json!({ "type": ["string", "number", "boolean"] });
    let flag = json!({ "anyOf": [
        { "type": "boolean" },
        { "type": "string", "pattern": "^([Yy]es|[Nn]o|[Oo]n|[Oo]ff|[Tt]rue|[Ff]alse)$" },
    ] });
    match kind {
        Kind::Text => text,
        Kind::Flag => flag,
        Kind::Clear => json!({ "anyOf": [flag, { "const": "keep_current" }] }),
        Kind::Integer(from, u64::MAX) => json!({ "type": "integer", "minimum": from }),
        Kind::Integer(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
        Kind::Decimal(from, to) => json!({ "type": "number", "minimum": from, "maximum": to }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Texts => json!({ "type": "array", "items": text }),
        Kind::Lines => json!({ "anyOf": [text, { "type": "array", "items": text }] }),
        Kind::TextMap => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "number", "boolean", "null"] },
        }),
        Kind::Map => json!({ "type": "object" }),
        Kind::Any => json!({}),
        Kind::Schema => json!({ "type": ["string", "object"] }),
        Kind::One(table) => reference(table),
        Kind::List(table) => json!({ "type": "array", "items": reference(table) }),
    }
}
