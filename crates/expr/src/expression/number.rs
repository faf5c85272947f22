//! Numbers: whole ones exactly, others as Python has them.

use std::cmp::Ordering;

use serde_json::Number;

use super::{evaluate::Failure, value::Value};

/// Reads a number of JSON.
pub(super) fn read(text: &str) -> Result<Value, Failure> {
    if text.contains(['.', 'e', 'E']) {
        let read = text.parse::<f64>().ok().filter(|value| value.is_finite());
        return read
            .map(Value::Float)
            .ok_or_else(|| Failure::new(format!("the number `{text}` is too large")));
    }
    match text.parse() {
        Ok(value) => Ok(Value::Integer(value)),
        Err(_) => Err(Failure::new("a whole number is too large to be exact")),
    }
}

/// Reads a text that is a number and nothing else, as JSON writes one.
pub(super) fn spelled(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let begins = digits.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let leading_zero = digits.len() > 1
        && digits.starts_with('0')
        && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let known =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !begins || leading_zero || !digits.bytes().all(known) {
        return None;
    }
    read(text).ok()
}

/// Reads a text as `int` does.
pub(super) fn integer_of(text: &str) -> Option<i128> {
    text.trim().parse().ok()
}

/// Returns a whole number of JSON.
pub(super) fn integer(value: i128) -> Result<Number, Failure> {
    value
        .to_string()
        .parse()
        .map_err(|_| Failure::new(format!("`{value}` is not a number of JSON")))
}

/// Returns whether a value is a number; truth values are.
pub(super) const fn is_one(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Integer(_) | Value::Float(_))
}

/// Compares two numbers by value; `None`: one is none, or not a number at all.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => Some(mixed(left, float(right)?)?),
        (None, Some(right)) => Some(mixed(right, float(left)?)?.reverse()),
        (None, None) => float(left)?.partial_cmp(&float(right)?),
    }
}

/// Compares a whole number with another one exactly.
fn mixed(left: i128, right: f64) -> Option<Ordering> {
    // Two to the 127th, the first number that is too large.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if right.is_nan() {
        return None;
    }
    if right >= END {
        return Some(Ordering::Less);
    }
    if right < -END {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number within the bounds looked at above"
    )]
    let floor = right.floor() as i128;
    let rest = if right > right.floor() {
        Ordering::Less
    } else {
        Ordering::Equal
    };
    Some(left.cmp(&floor).then(rest))
}

/// Returns a whole number; a truth value is 0 or 1.
pub(super) const fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(value) => Some(*value as i128),
        Value::Integer(value) => Some(*value),
        _ => None,
    }
}

/// Returns a number as one with a fraction.
#[expect(
    clippy::cast_precision_loss,
    reason = "so does Python where the two meet"
)]
pub(super) const fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        Value::Bool(value) => Some(*value as i128 as f64),
        Value::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

/// Returns the whole part of a number.
pub(super) fn truncated(value: f64) -> Result<i128, Failure> {
    // One step below two to the 127th, as far as such numbers go.
    const MAX: f64 = 1.0e38;
    if !value.is_finite() || value.abs() > MAX {
        return Err(Failure::new(format!("`{value}` is not a whole number")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within the bounds looked at above"
    )]
    Ok(value.trunc() as i128)
}

/// Writes a number with a fraction as Python does.
pub(super) fn shown(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let text = value.to_string();
    if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    }
}
