//! Values between JSON and MiniJinja.

use minijinja::{
    Error, ErrorKind,
    value::{Value as Inner, ValueKind},
};
use serde_json::{Map, Number, Value};

/// Takes JSON in.
pub(super) fn take(json: &Value) -> Inner {
    match json {
        Value::Null => Inner::from(()),
        Value::Bool(value) => Inner::from(*value),
        Value::String(text) => Inner::from(text.as_str()),
        Value::Number(number) => take_number(number),
        Value::Array(items) => items.iter().map(take).collect(),
        Value::Object(fields) => Inner::from_pairs(
            fields
                .iter()
                .map(|(key, value)| (key.as_str(), take(value))),
        ),
    }
}

fn take_number(number: &Number) -> Inner {
    let text = number.as_str();
    if let Ok(whole) = text.parse::<i64>() {
        return Inner::from(whole);
    }
    if let Ok(whole) = text.parse::<i128>() {
        return Inner::from(whole);
    }
    let is_whole = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    match text.parse::<f64>() {
        Ok(value) if !is_whole && value.is_finite() => Inner::from(value),
        // Too large to reckon with, yet printed as it came.
        _ => Inner::from(text),
    }
}

/// Gives a value back as JSON.
pub(super) fn give(value: &Inner) -> Result<Value, Error> {
    Ok(match value.kind() {
        ValueKind::Undefined => {
            return Err(Error::new(ErrorKind::UndefinedError, "it has no value"));
        }
        ValueKind::None => Value::Null,
        ValueKind::Bool => Value::Bool(value.is_true()),
        ValueKind::Number => Value::Number(give_number(value)?),
        ValueKind::String => Value::String(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?;
            Value::Array(items.map(|item| give(&item)).collect::<Result<_, _>>()?)
        }
        ValueKind::Map => {
            let mut fields = Map::new();
            for key in value.try_iter()? {
                let field = value.get_item(&key)?;
                fields.insert(key.to_string(), give(&field)?);
            }
            Value::Object(fields)
        }
        _ => Value::String(value.to_string()),
    })
}

fn give_number(value: &Inner) -> Result<Number, Error> {
    let no_number = || Error::new(ErrorKind::InvalidOperation, "JSON has no such number");
    if value.is_integer() {
        return value.to_string().parse().map_err(|_| no_number());
    }
    let float = f64::try_from(value.clone())?;
    Number::from_f64(float).ok_or_else(no_number)
}
