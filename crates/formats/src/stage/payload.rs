//! The schema of a stage's payload: its validity, and what it declares.

use interlock_expr::nearest::nearest;
use serde_json::Value;

use crate::{
    diagnostic::Report,
    fit::schema_fault,
    node::{Kind, Node},
    source::Span,
};

/// The only supported dialect of JSON Schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Maximum depth to which a schema is examined.
const DEPTH_MAX: usize = 64;

/// Checks the schema of a completion tool, and returns it with an object as its root.
pub(super) fn checked(node: &Node, report: &mut Report) -> Value {
    let before = report.count();
    root(node, report);
    references(node, 0, report);
    let mut schema = node.to_value();
    if report.count() == before
        && let Some(fault) = schema_fault(&schema)
    {
        let at = place(node, &fault.path);
        let within = if fault.path.is_empty() {
            String::new()
        } else {
            format!("`{}`: ", fault.path)
        };
        report
            .error(
                at,
                "invalid_schema",
                format!("the schema is not a JSON Schema: {within}{}", fault.message),
            )
            .help("write a schema of draft 2020-12");
    }
    if let Value::Object(fields) = &mut schema
        && !fields.contains_key("type")
    {
        fields.insert("type".to_owned(), Value::from("object"));
    }
    schema
}

/// Checks what only the root of the schema has.
fn root(node: &Node, report: &mut Report) {
    if let Some(entry) = node.get("type")
        && entry.value.text() != Some("object")
    {
        report
            .error(
                entry.value.span,
                "invalid_schema",
                format!(
                    "the root of the schema is an object, not {}",
                    entry.value.describe()
                ),
            )
            .help("write `type: object`, or leave it out; put other values below `properties`");
    }
    if let Some(entry) = node.get("$schema") {
        let dialect = entry.value.text().unwrap_or_default();
        if dialect.trim_end_matches('#') != DIALECT {
            report
                .error(
                    entry.value.span,
                    "invalid_schema",
                    format!(
                        "{} is not the dialect that is read here",
                        entry.value.describe()
                    ),
                )
                .help(format!("leave `$schema` out, or write `{DIALECT}`"));
        }
    }
}

/// Refuses references to outside the schema.
fn references(node: &Node, depth: usize, report: &mut Report) {
    if depth > DEPTH_MAX {
        return;
    }
    for entry in node.entries() {
        let is_reference = matches!(entry.key.as_str(), "$ref" | "$dynamicRef");
        match entry.value.text() {
            Some(text) if is_reference && !text.starts_with('#') => {
                report
                    .error(
                        entry.value.span,
                        "remote_reference",
                        format!("`{text}` leads out of the schema"),
                    )
                    .help("put what it names below `$defs`, and write `#/$defs/NAME`");
            }
            // These contain values, not schemas.
            _ if matches!(
                entry.key.as_str(),
                "const" | "enum" | "default" | "examples"
            ) => {}
            _ => references(&entry.value, depth + 1, report),
        }
    }
    for item in node.items() {
        references(item, depth + 1, report);
    }
}

/// Returns the position of what a JSON Pointer names, or of what contains it.
fn place(node: &Node, pointer: &str) -> Span {
    let mut at = node;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match &at.kind {
            Kind::Map(_) => at.get(&part).map(|entry| &entry.value),
            Kind::List(items) => part
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    at.span
}

/// The target of a path in the values of a schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Declared<'s> {
    /// Values of this schema.
    Schema(&'s Value),
    /// Anything: the schema does not restrict it.
    Open,
    /// Nothing: this part of the path is not declared; with the one that was likely meant.
    Not(usize, Option<String>),
}

/// Follows `path` through `schema`.
///
/// A schema without `properties`, or with `additionalProperties`, declares everything; so does one that is composed of others.
pub(crate) fn declared<'s>(schema: &'s Value, path: &[String]) -> Declared<'s> {
    let mut at = schema;
    for (index, part) in path.iter().enumerate() {
        let Value::Object(keywords) = at else {
            return Declared::Open;
        };
        if COMPOSED
            .iter()
            .any(|keyword| keywords.contains_key(*keyword))
        {
            return Declared::Open;
        }
        let next = match keywords.get("type").and_then(Value::as_str) {
            Some("array") => item(keywords, part),
            Some("object") => property(keywords, part),
            Some(_) => Next::Not,
            None if keywords.contains_key("properties") => property(keywords, part),
            None => Next::Open,
        };
        match next {
            Next::Schema(schema) => at = schema,
            Next::Open => return Declared::Open,
            Next::Not => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let known = known.into_iter().flat_map(|known| known.keys());
                let near = nearest(part, known.map(String::as_str)).map(str::to_owned);
                return Declared::Not(index, near);
            }
        }
    }
    Declared::Schema(at)
}

/// Keywords that make everything uncertain.
const COMPOSED: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "patternProperties",
    "prefixItems",
];

enum Next<'s> {
    Schema(&'s Value),
    Open,
    Not,
}

fn property<'s>(keywords: &'s serde_json::Map<String, Value>, name: &str) -> Next<'s> {
    let Some(Value::Object(properties)) = keywords.get("properties") else {
        return match keywords.get("additionalProperties") {
            Some(Value::Bool(false)) => Next::Not,
            _ => Next::Open,
        };
    };
    match (properties.get(name), keywords.get("additionalProperties")) {
        (Some(schema), _) => Next::Schema(schema),
        (None, None | Some(Value::Bool(false))) => Next::Not,
        (None, Some(_)) => Next::Open,
    }
}

fn item<'s>(keywords: &'s serde_json::Map<String, Value>, index: &str) -> Next<'s> {
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    match keywords.get("items") {
        _ if !is_index => Next::Not,
        Some(schema) => Next::Schema(schema),
        None => Next::Open,
    }
}
