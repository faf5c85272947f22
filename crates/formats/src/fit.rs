//! Converts arguments of custom tools to the types of their JSON Schema.

use interlock_core::machine::Object;
use serde_json::{Map, Value};

mod circle;

use crate::parse;

/// Maximum number of references that are followed.
const DEPTH_MAX: usize = 64;
/// Maximum nesting of alternatives that are tried; each level multiplies the work.
const CHOICES_MAX: usize = 3;

/// Why arguments do not match a schema, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// JSON Pointer; empty for the arguments as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// Converts `arguments` to the types of `schema`, adds its defaults and checks the result.
///
/// Texts become numbers, booleans, lists and objects if the schema has these types.
///
/// # Errors
/// Everything that does not match, or why the schema is invalid.
pub fn fit_arguments(schema: &Value, arguments: &Object) -> Result<Object, Vec<SchemaError>> {
    let fitted = converted(schema, arguments);
    let found = misfits(schema, &Value::Object(fitted.clone()))?;
    if found.is_empty() {
        Ok(fitted)
    } else {
        Err(found)
    }
}

/// Converts `arguments` to the types of `schema` and adds its defaults.
pub(crate) fn converted(schema: &Value, arguments: &Object) -> Object {
    let shape = Shape {
        root: schema,
        here: schema,
        depth: 0,
        choices: 0,
    };
    shape.object(arguments)
}

/// Returns what does not match.
pub(crate) fn misfits(schema: &Value, value: &Value) -> Result<Vec<SchemaError>, Vec<SchemaError>> {
    if let Some(fault) = circle::fault(schema) {
        return Err(vec![fault]);
    }
    let validator =
        jsonschema::validator_for(schema).map_err(|error| vec![SchemaError::of(&error)])?;
    Ok(validator
        .iter_errors(value)
        .map(|error| SchemaError::of(&error))
        .collect())
}

/// Returns why `schema` is not a valid JSON Schema.
#[must_use]
pub fn schema_fault(schema: &Value) -> Option<SchemaError> {
    if let Err(error) = jsonschema::meta::validate(schema) {
        return Some(SchemaError::of(&error));
    }
    if let Some(fault) = circle::fault(schema) {
        return Some(fault);
    }
    let built = jsonschema::validator_for(schema);
    built.err().map(|error| SchemaError {
        path: String::new(),
        message: error.to_string(),
    })
}

/// Returns the names of the arguments that a schema lists.
pub(crate) fn names(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// Returns whether a schema allows arguments that it does not list.
pub(crate) fn takes_others(schema: &Value) -> bool {
    let others = schema.get("additionalProperties");
    schema.get("patternProperties").is_some()
        || others.is_some_and(|others| *others != Value::Bool(false))
}

impl SchemaError {
    fn of(error: &jsonschema::ValidationError<'_>) -> Self {
        Self {
            path: error.instance_path().to_string(),
            message: error.to_string(),
        }
    }
}

/// A part of a schema.
#[derive(Clone, Copy)]
struct Shape<'s> {
    root: &'s Value,
    here: &'s Value,
    depth: usize,
    /// Number of enclosing alternatives.
    choices: usize,
}

impl<'s> Shape<'s> {
    fn at(self, here: &'s Value) -> Self {
        let next = Self {
            here,
            depth: self.depth + 1,
            ..self
        };
        next.followed()
    }

    /// Follows references within the schema.
    fn followed(mut self) -> Self {
        while let Some(to) = self.here.get("$ref").and_then(Value::as_str) {
            let target = to.strip_prefix('#').and_then(|to| self.root.pointer(to));
            match target {
                Some(target) if self.depth < DEPTH_MAX => {
                    self.here = target;
                    self.depth += 1;
                }
                _ => break,
            }
        }
        self
    }

    fn has_type(self, wanted: &str) -> bool {
        match self.here.get("type") {
            Some(Value::String(name)) => name == wanted,
            Some(Value::Array(names)) => names.iter().any(|name| name.as_str() == Some(wanted)),
            _ => false,
        }
    }

    fn value(self, value: &Value) -> Value {
        if self.depth > DEPTH_MAX {
            return value.clone();
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Null if self.has_type("string") && !self.has_type("null") => {
                Value::String(String::new())
            }
            Value::Array(items) => {
                let of = self.here.get("items");
                let first = self.here.get("prefixItems").and_then(Value::as_array);
                let items = items.iter().enumerate().map(|(index, item)| {
                    let own = first.and_then(|first| first.get(index)).or(of);
                    own.map_or_else(|| item.clone(), |own| self.at(own).value(item))
                });
                Value::Array(items.collect())
            }
            Value::Object(fields) => Value::Object(self.object(fields)),
            other => other.clone(),
        }
    }

    fn object(self, fields: &Map<String, Value>) -> Object {
        let properties = self.here.get("properties").and_then(Value::as_object);
        let others = self
            .here
            .get("additionalProperties")
            .filter(|others| others.is_object());
        let mut fitted = Object::new();
        for (name, value) in fields {
            let own = properties.and_then(|properties| properties.get(name));
            let Some(own) = own.or(others) else {
                fitted.insert(name.clone(), value.clone());
                continue;
            };
            let own = self.at(own);
            if value.is_null() && own.here.get("default").is_some() && !own.has_type("null") {
                continue;
            }
            fitted.insert(name.clone(), own.value(value));
        }
        for (name, own) in properties.into_iter().flatten() {
            if let Some(default) = self.at(own).here.get("default")
                && !fitted.contains_key(name)
            {
                fitted.insert(name.clone(), default.clone());
            }
        }
        fitted
    }

    fn text(self, text: &str) -> Value {
        let kept = || Value::String(text.to_owned());
        if let Some(chosen) = self.chosen(text) {
            return chosen;
        }
        if self.has_type("string") {
            return kept();
        }
        let read = parse::typed(text.trim()).to_value();
        let is_fit = match &read {
            Value::Number(_) => self.has_type("integer") || self.has_type("number"),
            Value::Null => self.has_type("null"),
            _ => false,
        };
        if is_fit {
            return read;
        }
        if let Some(truth) = truth(text).filter(|_| self.has_type("boolean")) {
            return Value::Bool(truth);
        }
        let structured: Option<Value> = serde_json::from_str(text).ok();
        match structured {
            Some(list @ Value::Array(_)) if self.has_type("array") => self.value(&list),
            Some(object @ Value::Object(_)) if self.has_type("object") => self.value(&object),
            _ if self.here.get("type").is_none() => self.listed(&read).unwrap_or_else(kept),
            _ => kept(),
        }
    }

    /// Converts a text by the first alternative that makes something else of it.
    fn chosen(self, text: &str) -> Option<Value> {
        if self.choices >= CHOICES_MAX {
            return None;
        }
        ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|name| self.here.get(name).and_then(Value::as_array))
            .flatten()
            .map(|choice| {
                let choices = self.choices + 1;
                Self { choices, ..self }.at(choice).text(text)
            })
            .find(|value| !value.is_string())
    }

    /// Converts a value to one of those in `enum` or `const`.
    fn listed(self, read: &Value) -> Option<Value> {
        let constant = self.here.get("const").into_iter();
        let listed = self.here.get("enum").and_then(Value::as_array);
        constant
            .chain(listed.into_iter().flatten())
            .find(|known| *known == read)
            .cloned()
    }
}

/// Parses a boolean, as people write it.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
