//! Converts values to the types that a schema names.

use serde_json::{Number, Value};

/// Converts the fields of an object to the types that the properties of `schema` name.
///
/// A value that cannot be converted stays as it is; validation then reports it.
pub(crate) fn fields(value: &mut Value, schema: &Value) {
    let (Value::Object(fields), Some(Value::Object(properties))) =
        (value, schema.get("properties"))
    else {
        return;
    };
    for (name, property) in properties {
        if let Some(value) = fields.get_mut(name) {
            convert(value, property);
            self::fields(value, property);
        }
    }
}

/// Converts one value to the type that its schema names.
pub(crate) fn convert(value: &mut Value, schema: &Value) {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else {
        return;
    };
    let made = match wanted {
        "string" => text(value),
        "integer" => integer(value),
        "number" => number(value),
        "boolean" => truth(value),
        _ => None,
    };
    if let Some(made) = made {
        *value = made;
    }
}

/// Converts a value to one of the types that its schema allows, if it is of none of them.
///
/// A text is parsed as the wanted type; a value that is not text is never converted to text.
pub(crate) fn fit(value: &mut Value, schema: &Value) {
    let wanted: Vec<&str> = match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    if wanted.iter().any(|word| is(value, word)) {
        return;
    }
    let made = wanted.iter().find_map(|word| match *word {
        "integer" => integer(value),
        "number" => number(value),
        "boolean" => truth(value),
        "array" | "object" => {
            let read = serde_json::from_str(value.as_str()?).ok()?;
            is(&read, word).then_some(read)
        }
        "null" => (value.as_str() == Some("null")).then_some(Value::Null),
        _ => None,
    });
    if let Some(made) = made {
        *value = made;
    }
}

fn is(value: &Value, word: &str) -> bool {
    match value {
        Value::Null => word == "null",
        Value::Bool(_) => word == "boolean",
        Value::Number(number) => {
            word == "number" || word == "integer" && whole(number.as_str()).is_some()
        }
        Value::String(_) => word == "string",
        Value::Array(_) => word == "array",
        Value::Object(_) => word == "object",
    }
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) | Value::Null => None,
        other => Some(Value::String(
            interlock_core::dialogue::Conversation::text_of(other),
        )),
    }
}

fn integer(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(flag) => Some(Value::from(u8::from(*flag))),
        Value::String(text) => whole(text.trim()),
        Value::Number(number) => whole(number.as_str()),
        _ => None,
    }
}

/// Parses a whole number, also if written with a fraction of zeros.
fn whole(text: &str) -> Option<Value> {
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => digits,
        Some(_) => return None,
        None => text,
    };
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let bare = digits.strip_prefix('-').unwrap_or(digits);
    if bare.is_empty() || !bare.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<Number>().ok().map(Value::Number)
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(flag) => Some(Value::from(u8::from(*flag))),
        Value::String(text) => {
            let text = text.trim();
            let text = text.strip_prefix('+').unwrap_or(text);
            text.parse::<Number>().ok().map(Value::Number)
        }
        _ => None,
    }
}

fn truth(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}
