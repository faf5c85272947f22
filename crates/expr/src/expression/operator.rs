//! Comparing and reckoning.

use super::{
    Comparison, Operator,
    evaluate::{Evaluation, Failure},
    number,
    value::Value,
};

/// Items and bytes that a repeated list or text may grow to.
const GROWTH_MAX: usize = 10 * 1024 * 1024;

/// Returns whether a comparison holds.
pub(super) fn compare(
    evaluation: &mut Evaluation<'_>,
    how: Comparison,
    left: &Value,
    right: &Value,
) -> Result<bool, Failure> {
    Ok(match how {
        Comparison::Equal => left.equals(right),
        Comparison::NotEqual => !left.equals(right),
        Comparison::Less => left.order(right)?.is_some_and(std::cmp::Ordering::is_lt),
        Comparison::LessEqual => left.order(right)?.is_some_and(std::cmp::Ordering::is_le),
        Comparison::Greater => left.order(right)?.is_some_and(std::cmp::Ordering::is_gt),
        Comparison::GreaterEqual => left.order(right)?.is_some_and(std::cmp::Ordering::is_ge),
        Comparison::In => is_in(evaluation, left, right)?,
        Comparison::NotIn => !is_in(evaluation, left, right)?,
        Comparison::Is => is_same(left, right),
        Comparison::IsNot => !is_same(left, right),
    })
}

/// Returns whether a value is None, True or False itself.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left.meant(), right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == *right,
        _ => false,
    }
}

fn is_in(evaluation: &mut Evaluation<'_>, wanted: &Value, within: &Value) -> Result<bool, Failure> {
    match (wanted, within) {
        (_, Value::List(items)) => {
            evaluation.spend(items.len())?;
            Ok(items.iter().any(|item| wanted.equals(item)))
        }
        (_, Value::Map(fields)) => Ok(fields.contains_key(&wanted.shown())),
        (Value::Text { text: wanted, .. }, Value::Text { text, .. }) => {
            evaluation.spend_bytes(text.len())?;
            Ok(text.contains(wanted.as_str()))
        }
        (_, other) => Err(Failure::new(format!(
            "{} is not looked for in {}",
            wanted.kind(),
            other.kind()
        ))),
    }
}

/// Returns a number with the opposite sign.
pub(super) fn negative(value: &Value) -> Result<Value, Failure> {
    match value.meant() {
        Value::Float(value) => Ok(Value::Float(-value)),
        value => match number::whole(&value) {
            Some(whole) => whole
                .checked_neg()
                .map(Value::Integer)
                .ok_or_else(too_large),
            None => Err(Failure::new(format!("{} has no sign", value.kind()))),
        },
    }
}

/// Reckons two values together.
pub(super) fn reckon(
    evaluation: &mut Evaluation<'_>,
    with: Operator,
    left: &Value,
    right: &Value,
) -> Result<Value, Failure> {
    let (left, right) = left.beside(right);
    if let (Some(left), Some(right)) = (number::whole(&left), number::whole(&right)) {
        return whole(with, left, right);
    }
    if let (Some(left), Some(right)) = (number::float(&left), number::float(&right)) {
        return fraction(with, left, right);
    }
    match (with, &left, &right) {
        (
            Operator::Add,
            Value::Text {
                text: left,
                data: l,
            },
            Value::Text {
                text: right,
                data: r,
            },
        ) => {
            evaluation.spend_bytes(left.len() + right.len())?;
            Ok(Value::Text {
                text: format!("{left}{right}"),
                data: *l && *r,
            })
        }
        (Operator::Add, Value::List(left), Value::List(right)) => {
            evaluation.spend(left.len() + right.len())?;
            Ok(Value::List(left.iter().chain(right).cloned().collect()))
        }
        (Operator::Multiply, many, times) | (Operator::Multiply, times, many)
            if number::whole(times).is_some()
                && matches!(many, Value::Text { .. } | Value::List(_)) =>
        {
            let times = number::whole(times).unwrap_or_default().max(0);
            repeated(evaluation, many, times)
        }
        _ => Err(Failure::new(format!(
            "{} and {} cannot be reckoned together so",
            left.kind(),
            right.kind()
        ))),
    }
}

fn repeated(evaluation: &mut Evaluation<'_>, many: &Value, times: i128) -> Result<Value, Failure> {
    let length = match many {
        Value::Text { text, .. } => text.len(),
        Value::List(items) => items.len(),
        _ => 0,
    };
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    let grown = length
        .checked_mul(times)
        .filter(|grown| *grown <= GROWTH_MAX);
    let grown = grown.ok_or_else(|| Failure::new("the value grows too large"))?;
    match many {
        Value::Text { text, data } => {
            evaluation.spend_bytes(grown)?;
            Ok(Value::Text {
                text: text.repeat(times),
                data: *data,
            })
        }
        Value::List(items) => {
            evaluation.spend(grown)?;
            let all = items.iter().cycle().take(grown).cloned();
            Ok(Value::List(all.collect()))
        }
        other => Ok(other.clone()),
    }
}

fn too_large() -> Failure {
    Failure::new("a whole number grows too large to be exact")
}

fn by_zero() -> Failure {
    Failure::new("a number is divided by 0")
}

fn whole(with: Operator, left: i128, right: i128) -> Result<Value, Failure> {
    let exact = |value: Option<i128>| value.map(Value::Integer).ok_or_else(too_large);
    match with {
        Operator::Add => exact(left.checked_add(right)),
        Operator::Subtract => exact(left.checked_sub(right)),
        Operator::Multiply => exact(left.checked_mul(right)),
        Operator::Divide if right == 0 => Err(by_zero()),
        Operator::Divide => {
            #[expect(clippy::cast_precision_loss, reason = "so does Python")]
            let value = left as f64 / right as f64;
            Ok(Value::Float(value))
        }
        Operator::FloorDivide | Operator::Remainder if right == 0 => Err(by_zero()),
        Operator::FloorDivide => exact(floor_div(left, right)),
        Operator::Remainder => {
            let rest = left.checked_rem(right).ok_or_else(too_large)?;
            let other_sign = rest != 0 && (rest < 0) != (right < 0);
            Ok(Value::Integer(if other_sign { rest + right } else { rest }))
        }
        Operator::Power if right >= 0 => {
            let exponent = u32::try_from(right).map_err(|_| too_large());
            // Of these every power is known, however high.
            match left {
                0 | 1 => Ok(Value::Integer(if right == 0 { 1 } else { left })),
                -1 => Ok(Value::Integer(if right % 2 == 0 { 1 } else { -1 })),
                _ => exact(left.checked_pow(exponent?)),
            }
        }
        Operator::Power => {
            #[expect(clippy::cast_precision_loss, reason = "so does Python")]
            let (left, right) = (left as f64, right as f64);
            fraction(with, left, right)
        }
    }
}

const fn floor_div(left: i128, right: i128) -> Option<i128> {
    let Some(quotient) = left.checked_div(right) else {
        return None;
    };
    let is_below = left % right != 0 && (left < 0) != (right < 0);
    Some(if is_below { quotient - 1 } else { quotient })
}

fn fraction(with: Operator, left: f64, right: f64) -> Result<Value, Failure> {
    let divides = matches!(
        with,
        Operator::Divide | Operator::FloorDivide | Operator::Remainder
    );
    if divides && right == 0.0 {
        return Err(by_zero());
    }
    let value = match with {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::FloorDivide => floor_quotient(left, right),
        Operator::Remainder => remainder(left, right),
        Operator::Power if left == 0.0 && right < 0.0 => return Err(by_zero()),
        Operator::Power => left.powf(right),
    };
    if value.is_finite() {
        return Ok(Value::Float(value));
    }
    Err(Failure::new("a number grows too large, or is none"))
}

/// Returns the remainder with the sign of the divisor.
fn remainder(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) {
        rest + right
    } else if rest == 0.0 {
        0.0_f64.copysign(right)
    } else {
        rest
    }
}

/// Returns the quotient of whole multiples, as Python computes it.
fn floor_quotient(left: f64, right: f64) -> f64 {
    let quotient = (left - remainder(left, right)) / right;
    let floor = quotient.floor();
    if quotient - floor > 0.5 {
        floor + 1.0
    } else {
        floor
    }
}
