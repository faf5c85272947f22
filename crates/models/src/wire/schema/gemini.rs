//! Gemini's subset of OpenAPI 3.0: one type per schema, no references.

use serde_json::{Map, Value, json};

/// Maximum number of schemas of one declaration, with references expanded.
const SCHEMAS_MAX: usize = 5_000;
/// Maximum nesting of references.
const REFERENCES_MAX: usize = 4;
/// Keywords that are copied unchanged.
const KEPT: [&str; 8] = [
    "title",
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "default",
];

/// Returns the parameters; `None` if there are none, which must be left out.
pub(in crate::wire) fn gemini(schema: &Value) -> Option<Value> {
    let schema = &super::root(schema, &["anyOf", "oneOf"]);
    let mut writing = Writing {
        root: schema,
        left: SCHEMAS_MAX,
        within: 0,
    };
    let made = writing.schema(schema);
    let has_some = made.get("properties").and_then(Value::as_object);
    has_some.filter(|properties| !properties.is_empty())?;
    Some(made)
}

struct Writing<'s> {
    root: &'s Value,
    left: usize,
    within: usize,
}

impl Writing<'_> {
    fn schema(&mut self, schema: &Value) -> Value {
        let Value::Object(schema) = schema else {
            return anything();
        };
        if self.left == 0 {
            return anything();
        }
        self.left = self.left.saturating_sub(1);
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(to, schema);
        }
        let schema = merged(schema);
        if let Some(any) = self.alternatives(&schema) {
            return any;
        }
        let mut made = Map::new();
        let (kind, is_nullable) = kind(&schema);
        made.insert("type".to_owned(), json!(kind));
        for key in KEPT {
            if let Some(value) = schema.get(key) {
                made.insert(key.to_owned(), value.clone());
            }
        }
        if is_nullable {
            made.insert("nullable".to_owned(), json!(true));
        }
        if let Some(format) = format(kind, &schema) {
            made.insert("format".to_owned(), json!(format));
        }
        match kind {
            "STRING" => {
                if let Some(values) = values(&schema) {
                    made.insert("enum".to_owned(), values);
                }
            }
            "ARRAY" => {
                let items = schema
                    .get("items")
                    .map_or_else(anything, |items| self.schema(items));
                made.insert("items".to_owned(), items);
            }
            "OBJECT" => self.properties(&schema, &mut made),
            _ => {}
        }
        Value::Object(made)
    }

    fn properties(&mut self, schema: &Map<String, Value>, made: &mut Map<String, Value>) {
        let Some(Value::Object(named)) = schema.get("properties") else {
            return;
        };
        let mut properties = Map::new();
        for (name, one) in named {
            properties.insert(name.clone(), self.schema(one));
        }
        if properties.is_empty() {
            return;
        }
        // A required name without a description is refused.
        let known = |name: &&Value| {
            name.as_str()
                .is_some_and(|name| properties.contains_key(name))
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<Value> = required
            .into_iter()
            .flatten()
            .filter(known)
            .cloned()
            .collect();
        made.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            made.insert("required".to_owned(), Value::Array(required));
        }
    }

    /// Writes alternatives, of schemas or of types; returns `None` if there are none.
    fn alternatives(&mut self, schema: &Map<String, Value>) -> Option<Value> {
        let (list, is_nullable) = alternatives(schema)?;
        let mut any: Vec<Value> = list.iter().map(|one| self.schema(one)).collect();
        let mut made = match any.len() {
            0 | 1 => any.pop().unwrap_or_else(anything),
            _ => json!({ "anyOf": any }),
        };
        if let Some(made) = made.as_object_mut() {
            for key in ["title", "description"] {
                if let Some(value) = schema.get(key) {
                    made.insert(key.to_owned(), value.clone());
                }
            }
            if is_nullable {
                made.insert("nullable".to_owned(), json!(true));
            }
        }
        Some(made)
    }

    fn reference(&mut self, to: &str, beside: &Map<String, Value>) -> Value {
        let found = to
            .strip_prefix('#')
            .and_then(|path| self.root.pointer(path));
        let Some(found) = found.cloned() else {
            return anything();
        };
        if self.within >= REFERENCES_MAX {
            // A tree: below here any branch of it.
            let (kind, _) = found.as_object().map_or(("STRING", false), kind);
            return match kind {
                "ARRAY" => json!({ "type": kind, "items": anything() }),
                _ => json!({ "type": kind }),
            };
        }
        self.within = self.within.saturating_add(1);
        let mut made = self.schema(&found);
        self.within = self.within.saturating_sub(1);
        if let (Some(made), Some(text)) = (made.as_object_mut(), beside.get("description")) {
            made.insert("description".to_owned(), text.clone());
        }
        made
    }
}

/// Returns a schema for anything: a type must be named.
fn anything() -> Value {
    json!({ "type": "STRING" })
}

/// Merges the parts of `allOf` into a schema; existing keys stay, required names are united.
fn merged(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut made = schema.clone();
    let Some(Value::Array(parts)) = made.remove("allOf") else {
        return made;
    };
    for part in parts {
        let Value::Object(part) = part else { continue };
        for (key, value) in part {
            match (made.get_mut(&key), value) {
                (Some(Value::Object(all)), Value::Object(more)) if key == "properties" => {
                    for (name, one) in more {
                        all.entry(name).or_insert(one);
                    }
                }
                (Some(Value::Array(all)), Value::Array(more)) if key == "required" => {
                    all.extend(more)
                }
                (Some(_), _) => {}
                (None, value) => {
                    made.insert(key, value);
                }
            }
        }
    }
    made
}

fn is_null(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("null"))
}

/// Returns the alternatives of a schema, and whether null is one.
fn alternatives(schema: &Map<String, Value>) -> Option<(Vec<Value>, bool)> {
    // Next to a form of their own, they only restrict it.
    let has_shape = ["properties", "items", "enum", "const"]
        .iter()
        .any(|key| schema.contains_key(*key));
    let listed = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    let listed = listed.filter(|_| !has_shape && !schema.get("type").is_some_and(Value::is_string));
    let all: Vec<Value> = match (listed, schema.get("type")) {
        (Some(Value::Array(list)), _) => list.clone(),
        (_, Some(Value::Array(kinds)))
            if kinds.iter().filter(|kind| *kind != "null").count() > 1 =>
        {
            let of = |kind: &Value| {
                let mut one = schema.clone();
                one.insert("type".to_owned(), kind.clone());
                Value::Object(one)
            };
            kinds.iter().map(of).collect()
        }
        _ => return None,
    };
    let is_nullable = all.iter().any(is_null);
    Some((
        all.into_iter().filter(|one| !is_null(one)).collect(),
        is_nullable,
    ))
}

/// Returns the type of a schema, and whether null is allowed, too.
fn kind(schema: &Map<String, Value>) -> (&'static str, bool) {
    let word = |value: &Value| match value.as_str() {
        Some("string") => Some("STRING"),
        Some("number") => Some("NUMBER"),
        Some("integer") => Some("INTEGER"),
        Some("boolean") => Some("BOOLEAN"),
        Some("array") => Some("ARRAY"),
        Some("object") => Some("OBJECT"),
        _ => None,
    };
    let said = match schema.get("type") {
        Some(Value::Array(kinds)) => {
            let is_nullable = kinds.iter().any(|kind| kind == "null");
            (kinds.iter().find_map(word), is_nullable)
        }
        Some(kind) => (word(kind), false),
        None => (None, false),
    };
    let guessed = || {
        let holds = |key: &str| schema.contains_key(key);
        let one = schema.get("const").or_else(|| schema.get("enum")?.get(0));
        match one {
            _ if holds("properties") || holds("required") => "OBJECT",
            _ if holds("items") => "ARRAY",
            Some(Value::Bool(_)) => "BOOLEAN",
            Some(Value::Number(number)) if number.is_i64() => "INTEGER",
            Some(Value::Number(_)) => "NUMBER",
            _ => "STRING",
        }
    };
    (said.0.unwrap_or_else(guessed), said.1)
}

fn format(kind: &str, schema: &Map<String, Value>) -> Option<&'static str> {
    let known: &[&'static str] = match kind {
        "NUMBER" => &["float", "double"],
        "INTEGER" => &["int32", "int64"],
        "STRING" if schema.contains_key("enum") => &["enum"],
        "STRING" => &["date-time"],
        _ => &[],
    };
    let said = schema.get("format")?.as_str()?;
    known.iter().copied().find(|known| *known == said)
}

/// Returns the values of an enumeration of texts; only texts can be listed.
fn values(schema: &Map<String, Value>) -> Option<Value> {
    if let Some(one @ Value::String(_)) = schema.get("const") {
        return Some(json!([one]));
    }
    let texts: Vec<Value> = schema
        .get("enum")?
        .as_array()?
        .iter()
        .filter(|one| one.is_string())
        .cloned()
        .collect();
    (!texts.is_empty()).then_some(Value::Array(texts))
}
