//! From texts to the types that a schema asks for.

use interlock_core::machine::Object;
use serde_json::{Number, Value};

use super::fields::boolean;

/// References followed, one leading to the next.
const REFERENCES_MAX: usize = 16;

/// Converts the texts in `value` to what `schema` asks for, as far as they can be.
///
/// What cannot be stays text, and the schema refuses it. `root` is where `$ref` leads.
pub(super) fn convert(value: Value, schema: &Value, root: &Value) -> Value {
    let schema = referred(schema, root);
    match value {
        Value::String(text) => of_text(text, schema, root),
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .enumerate()
                .map(|(index, item)| convert(item, item_schema(schema, index), root))
                .collect(),
        ),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, field)| {
                    let converted = convert(field, field_schema(schema, &key), root);
                    (key, converted)
                })
                .collect(),
        ),
        other => other,
    }
}

/// Adds the defaults of the fields that are not given.
pub(super) fn fill_defaults(arguments: &mut Object, schema: &Value, root: &Value) {
    let schema = referred(schema, root);
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        if arguments.contains_key(name) {
            continue;
        }
        if let Some(default) = referred(property, root).get("default") {
            arguments.insert(name.clone(), default.clone());
        }
    }
}

fn referred<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..REFERENCES_MAX {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(pointer) = reference.and_then(|reference| reference.strip_prefix('#')) else {
            return schema;
        };
        let Some(found) = root.pointer(pointer) else {
            return schema;
        };
        schema = found;
    }
    schema
}

fn item_schema(schema: &Value, index: usize) -> &Value {
    schema
        .get("prefixItems")
        .and_then(|items| items.get(index))
        .or_else(|| schema.get("items"))
        .unwrap_or(&Value::Null)
}

fn field_schema<'a>(schema: &'a Value, key: &str) -> &'a Value {
    schema
        .get("properties")
        .and_then(|properties| properties.get(key))
        .or_else(|| schema.get("additionalProperties"))
        .unwrap_or(&Value::Null)
}

fn of_text(text: String, schema: &Value, root: &Value) -> Value {
    for choices in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(choices)) = schema.get(choices) else {
            continue;
        };
        // The first that makes something else of the text; a text stays one otherwise.
        for choice in choices {
            let converted = of_text(text.clone(), referred(choice, root), root);
            if !converted.is_string() {
                return converted;
            }
        }
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return of_enum(text, schema),
    };
    types
        .iter()
        .find_map(|kind| of_type(&text, kind))
        .unwrap_or(Value::String(text))
}

/// Takes the member of an `enum` or the `const` that is written like `text`.
fn of_enum(text: String, schema: &Value) -> Value {
    let typed: Option<Value> = serde_json::from_str(text.trim()).ok();
    let written = |member: &&Value| !member.is_string() && typed.as_ref() == Some(*member);
    let members = schema.get("enum").and_then(Value::as_array);
    let found = members
        .into_iter()
        .flatten()
        .chain(schema.get("const"))
        .find(written)
        .cloned();
    found.unwrap_or(Value::String(text))
}

fn of_type(text: &str, kind: &str) -> Option<Value> {
    let trimmed = text.trim();
    match kind {
        "boolean" => boolean(trimmed).map(Value::Bool),
        "null" => matches!(trimmed, "" | "~" | "null").then_some(Value::Null),
        "integer" => integer(trimmed),
        "number" => integer(trimmed).or_else(|| decimal(trimmed)),
        "array" => serde_json::from_str(trimmed).ok().filter(Value::is_array),
        "object" => serde_json::from_str(trimmed).ok().filter(Value::is_object),
        "string" => None,
        _ => None,
    }
}

fn integer(text: &str) -> Option<Value> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let plain = if digits.is_empty() {
        "0".to_owned()
    } else {
        format!("{sign}{digits}")
    };
    plain.parse::<Number>().ok().map(Value::Number)
}

fn decimal(text: &str) -> Option<Value> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    // JSON has no `.5` and no `5.`.
    let (before, after) = rest.split_once('.').unwrap_or((rest, ""));
    let rest = match (before, after.chars().next()) {
        ("", Some('0'..='9')) => format!("0{rest}"),
        (_, None | Some('e' | 'E')) if rest.contains('.') => rest.replacen('.', "", 1),
        _ => rest.to_owned(),
    };
    format!("{sign}{rest}")
        .parse::<Number>()
        .ok()
        .map(Value::Number)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::{Value, json};

    use super::{convert, fill_defaults};

    fn to(text: &str, schema: &Value) -> Value {
        convert(json!(text), schema, schema)
    }

    #[test]
    fn texts_become_what_the_schema_asks_for() {
        for (kind, text, wanted) in [
            ("integer", " 42 ", "42"),
            ("integer", "+007", "7"),
            ("integer", "-0", "0"),
            (
                "integer",
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("integer", "1.5", "\"1.5\""),
            ("number", "1.5", "1.5"),
            ("number", "-.5", "-0.5"),
            ("number", "2.", "2"),
            ("number", "3", "3"),
            ("number", "abc", "\"abc\""),
            ("boolean", "Yes", "true"),
            ("boolean", "off", "false"),
            ("boolean", "1", "\"1\""),
            ("null", "~", "null"),
            ("string", "42", "\"42\""),
            ("array", "[1,\"a\"]", "[1,\"a\"]"),
            ("array", "a", "\"a\""),
            ("object", "{\"a\":1}", "{\"a\":1}"),
        ] {
            assert_eq!(
                to(text, &json!({"type": kind})).to_string(),
                wanted,
                "{kind} {text}"
            );
        }
    }

    #[test]
    fn several_types_are_tried_in_order() {
        assert_eq!(to("5", &json!({"type": ["integer", "string"]})), json!(5));
        assert_eq!(to("x", &json!({"type": ["integer", "string"]})), json!("x"));
        assert_eq!(
            to(
                "5",
                &json!({"anyOf": [{"type": "boolean"}, {"type": "integer"}]})
            ),
            json!(5)
        );
        assert_eq!(to("2", &json!({"enum": [1, 2]})), json!(2));
        assert_eq!(to("2", &json!({})), json!("2"));
    }

    #[test]
    fn parts_and_references_are_converted_too() {
        let schema = json!({
            "$defs": {"count": {"type": "integer", "default": 3}},
            "properties": {
                "counts": {"type": "array", "items": {"$ref": "#/$defs/count"}},
                "map": {"additionalProperties": {"type": "boolean"}},
                "count": {"$ref": "#/$defs/count"},
                "name": {"type": "string"},
            },
        });
        let value = json!({"counts": ["1", "2"], "map": {"a": "no"}});
        let mut value = convert(value, &schema, &schema);
        fill_defaults(value.as_object_mut().unwrap(), &schema, &schema);
        assert_eq!(
            value,
            json!({"counts": [1, 2], "map": {"a": false}, "count": 3})
        );
    }

    #[test]
    fn references_in_a_circle_end() {
        let schema = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
        assert_eq!(to("5", &schema), json!("5"));
    }
}
