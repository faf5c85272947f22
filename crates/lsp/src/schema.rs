//! Queries of the JSON Schemas of the formats: what is possible at a place.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cursor::Step;

/// The maximum number of references followed from one place.
const SCHEMAS_MAX: usize = 400;

/// The schema of one format.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
}

/// A key that an object may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Property<'s> {
    pub(crate) name: &'s str,
    schema: &'s Value,
}

impl Schema {
    /// Returns the schema of a format by its name; native for any other.
    pub(crate) fn of(format: &str) -> Self {
        let root = match format {
            "flowstate" => interlock_formats::flowstate_schema(),
            "codemie" => interlock_formats::codemie_schema(),
            "pipeline" => interlock_formats::pipeline_schema(),
            _ => interlock_formats::schema(),
        };
        Self { root }
    }

    /// Returns every schema that the value at `path` may follow.
    fn at(&self, path: &[Step]) -> Vec<&Value> {
        let mut found = self.choices(&self.root);
        for step in path {
            let mut next: Vec<&Value> = Vec::new();
            for schema in found {
                next.extend(
                    below(schema, step)
                        .into_iter()
                        .flat_map(|one| self.choices(one)),
                );
                if next.len() > SCHEMAS_MAX {
                    break;
                }
            }
            found = unique(next);
        }
        found
    }

    /// Returns the keys that an object at `path` may have.
    pub(crate) fn properties(&self, path: &[Step]) -> Vec<Property<'_>> {
        let mut names = BTreeSet::new();
        let schemas = self.at(path).into_iter();
        let objects = schemas.filter_map(|schema| schema.get("properties")?.as_object());
        objects
            .flatten()
            .filter(|(name, _)| names.insert(name.as_str()))
            .map(|(name, schema)| Property { name, schema })
            .collect()
    }

    /// Returns the words that a value at `path` may be.
    pub(crate) fn words(&self, path: &[Step]) -> Vec<String> {
        let mut words = Vec::new();
        for schema in self.at(path) {
            let listed = schema.get("enum").and_then(Value::as_array);
            let values = listed.into_iter().flatten().chain(schema.get("const"));
            words.extend(values.filter_map(|value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
                _ => None,
            }));
            if schema
                .get("type")
                .is_some_and(|kind| is_or_has(kind, "boolean"))
            {
                words.extend(["true", "false"].map(str::to_owned));
            }
        }
        let mut seen = BTreeSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words
    }

    /// Returns the description of a key of the object at `path`.
    pub(crate) fn describe(&self, path: &[Step], key: &str) -> Option<String> {
        let objects = self.at(path);
        let direct = objects
            .iter()
            .filter_map(|schema| schema.get("properties")?.get(key))
            .find_map(description);
        // A key that a person chose is described by its value.
        let of_value = || {
            let others = objects
                .iter()
                .filter_map(|one| one.get("additionalProperties"));
            let mut choices = others.flat_map(|one| self.choices(one));
            choices.find_map(description)
        };
        direct.or_else(of_value)
    }

    /// Returns whether a value of a property is always an object or a list.
    pub(crate) fn holds_lines(&self, property: &Property<'_>) -> bool {
        let kinds = self.choices(property.schema);
        let mut kinds = kinds
            .iter()
            .filter_map(|schema| schema.get("type"))
            .peekable();
        let is_plain = |kind: &Value| !(is_or_has(kind, "object") || is_or_has(kind, "array"));
        kinds.peek().is_some() && !kinds.any(is_plain)
    }

    /// Follows references and choices: every schema that may be meant.
    fn choices<'s>(&'s self, schema: &'s Value) -> Vec<&'s Value> {
        let mut found: Vec<&Value> = Vec::new();
        let mut open = vec![schema];
        while let Some(next) = open.pop() {
            if found.len() > SCHEMAS_MAX || found.iter().any(|seen| std::ptr::eq(*seen, next)) {
                continue;
            }
            found.push(next);
            if let Some(reference) = next.get("$ref").and_then(Value::as_str) {
                open.extend(self.root.pointer(reference.trim_start_matches('#')));
            }
            for choice in ["anyOf", "oneOf", "allOf"] {
                let choices = next.get(choice).and_then(Value::as_array);
                open.extend(choices.into_iter().flatten().rev());
            }
            open.extend(["else", "then"].iter().filter_map(|part| next.get(part)));
        }
        found
    }
}

impl Property<'_> {
    /// Returns what the property is for.
    pub(crate) fn description(&self) -> Option<String> {
        description(self.schema)
    }
}

/// Returns the schemas of what is inside a value.
fn below<'s>(schema: &'s Value, step: &Step) -> Vec<&'s Value> {
    match step {
        Step::Key(key) => {
            let own = schema.get("properties").and_then(|all| all.get(key));
            let other = || {
                schema
                    .get("additionalProperties")
                    .filter(|one| one.is_object())
            };
            own.or_else(other).into_iter().collect()
        }
        Step::Item => {
            let items = schema.get("items").filter(|items| items.is_object());
            let listed = schema.get("prefixItems").and_then(Value::as_array);
            items
                .into_iter()
                .chain(listed.into_iter().flatten())
                .collect()
        }
    }
}

fn unique(all: Vec<&Value>) -> Vec<&Value> {
    let mut seen = BTreeSet::new();
    all.into_iter()
        .filter(|one| seen.insert(std::ptr::from_ref(*one)))
        .collect()
}

fn is_or_has(kind: &Value, name: &str) -> bool {
    kind == name
        || kind
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|one| one == name))
}

fn description(schema: &Value) -> Option<String> {
    schema
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_owned)
}
