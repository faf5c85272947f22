//! Functions.

use std::cmp::Ordering;

use indexmap::IndexMap;

use super::{
    Function,
    evaluate::{Evaluation, Failure},
    number,
    value::Value,
};

/// Calls a function.
pub(super) fn call(
    evaluation: &mut Evaluation<'_>,
    function: Function,
    arguments: Vec<Value>,
    named: &[(&str, Value)],
) -> Result<Value, Failure> {
    let by_name = |name: &str| {
        let found = named.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    };
    let count = |from: usize, to: usize| expect_count(function, arguments.len(), from, to);
    let first = || arguments.first().cloned().unwrap_or(Value::Null);
    let second = || arguments.get(1).cloned();
    match function {
        Function::Len => {
            count(1, 1)?;
            length(&first())
        }
        Function::Min | Function::Max => {
            count(1, usize::MAX)?;
            let items = match arguments.as_slice() {
                [only] => items(evaluation, only)?,
                many => many.to_vec(),
            };
            extreme(function, items, by_name("default"))
        }
        Function::Sum => {
            count(1, 2)?;
            let start = second().or_else(|| by_name("start"));
            sum(evaluation, &first(), start.unwrap_or(Value::Integer(0)))
        }
        Function::Abs => {
            count(1, 1)?;
            absolute(&first())
        }
        Function::Str => {
            count(0, 1)?;
            let shown = arguments.first().map(Value::shown).unwrap_or_default();
            evaluation.spend_bytes(shown.len())?;
            Ok(Value::text(shown))
        }
        Function::Int => {
            count(0, 1)?;
            arguments.first().map_or(Ok(Value::Integer(0)), to_integer)
        }
        Function::Float => {
            count(0, 1)?;
            arguments.first().map_or(Ok(Value::Float(0.0)), to_float)
        }
        Function::Bool => {
            count(0, 1)?;
            Ok(Value::Bool(first().is_true()))
        }
        Function::List | Function::Tuple => {
            count(0, 1)?;
            let all = arguments.first().map(|of| items(evaluation, of));
            Ok(Value::List(all.unwrap_or_else(|| Ok(Vec::new()))?))
        }
        Function::Dict => {
            count(0, 1)?;
            arguments.first().map_or_else(
                || Ok(Value::Map(IndexMap::new())),
                |of| to_map(evaluation, of),
            )
        }
        Function::Any | Function::All => {
            count(1, 1)?;
            let items = items(evaluation, &first())?;
            let mut truths = items.iter().map(Value::is_true);
            Ok(Value::Bool(if function == Function::Any {
                truths.any(|is| is)
            } else {
                truths.all(|is| is)
            }))
        }
        Function::Round => {
            count(1, 2)?;
            round(&first(), second())
        }
        Function::Sorted => {
            count(1, 1)?;
            let reverse = by_name("reverse").is_some_and(|value| value.is_true());
            sorted(evaluation, &first(), reverse)
        }
        Function::Reversed => {
            count(1, 1)?;
            let mut items = items(evaluation, &first())?;
            items.reverse();
            Ok(Value::List(items))
        }
        Function::Enumerate => {
            count(1, 2)?;
            let start = second().or_else(|| by_name("start"));
            enumerate(evaluation, &first(), start)
        }
        Function::Zip => zip(evaluation, &arguments),
    }
}

fn expect_count(function: Function, found: usize, from: usize, to: usize) -> Result<(), Failure> {
    if (from..=to).contains(&found) {
        return Ok(());
    }
    let wanted = if from == to {
        format!("{from}")
    } else if to == usize::MAX {
        format!("{from} or more")
    } else {
        format!("{from} to {to}")
    };
    Err(Failure::new(format!(
        "`{}` takes {wanted} values, not {found}",
        function.word()
    )))
}

fn length(of: &Value) -> Result<Value, Failure> {
    let length = match of {
        Value::Text { text, .. } => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(fields) => fields.len(),
        other => return Err(Failure::new(format!("{} has no length", other.kind()))),
    };
    Ok(Value::Integer(i128::try_from(length).unwrap_or(i128::MAX)))
}

/// Returns what a value consists of: items, letters or keys.
pub(super) fn items(evaluation: &mut Evaluation<'_>, of: &Value) -> Result<Vec<Value>, Failure> {
    let items: Vec<Value> = match of {
        Value::List(items) => items.clone(),
        Value::Text { text, data } => text
            .chars()
            .map(|letter| Value::Text {
                text: letter.to_string(),
                data: *data,
            })
            .collect(),
        Value::Map(fields) => fields.keys().map(|key| data(key)).collect(),
        other => return Err(Failure::new(format!("{} has no items", other.kind()))),
    };
    evaluation.spend(items.len())?;
    Ok(items)
}

fn data(text: &str) -> Value {
    Value::Text {
        text: text.to_owned(),
        data: true,
    }
}

fn extreme(
    function: Function,
    items: Vec<Value>,
    default: Option<Value>,
) -> Result<Value, Failure> {
    let wanted = if function == Function::Min {
        Ordering::Less
    } else {
        Ordering::Greater
    };
    let mut items = items.into_iter();
    let Some(mut found) = items.next() else {
        return default
            .ok_or_else(|| Failure::new(format!("`{}` of nothing has no value", function.word())));
    };
    for item in items {
        if item.order(&found)? == Some(wanted) {
            found = item;
        }
    }
    Ok(found.meant())
}

fn sum(evaluation: &mut Evaluation<'_>, of: &Value, start: Value) -> Result<Value, Failure> {
    let items = items(evaluation, of)?;
    items.iter().try_fold(start, |sum, item| {
        super::operator::reckon(evaluation, super::Operator::Add, &sum, item)
    })
}

fn absolute(of: &Value) -> Result<Value, Failure> {
    match of.meant() {
        Value::Float(value) => Ok(Value::Float(value.abs())),
        value => match number::whole(&value).and_then(i128::checked_abs) {
            Some(whole) => Ok(Value::Integer(whole)),
            None => Err(Failure::new(format!("{} has no size", value.kind()))),
        },
    }
}

fn to_integer(of: &Value) -> Result<Value, Failure> {
    match of {
        Value::Float(value) => Ok(Value::Integer(number::truncated(*value)?)),
        Value::Text { text, .. } => number::integer_of(text)
            .map(Value::Integer)
            .ok_or_else(|| Failure::new(format!("`{}` is not a whole number", short(text)))),
        other => match number::whole(other) {
            Some(whole) => Ok(Value::Integer(whole)),
            None => Err(Failure::new(format!(
                "{} is not a whole number",
                other.kind()
            ))),
        },
    }
}

fn to_float(of: &Value) -> Result<Value, Failure> {
    let read = match of {
        Value::Text { text, .. } => {
            let read = text.trim().parse::<f64>().ok();
            read.filter(|value| value.is_finite())
                .ok_or_else(|| Failure::new(format!("`{}` is not a number", short(text))))
        }
        other => number::float(other)
            .ok_or_else(|| Failure::new(format!("{} is not a number", other.kind()))),
    };
    read.map(Value::Float)
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn to_map(evaluation: &mut Evaluation<'_>, of: &Value) -> Result<Value, Failure> {
    if let Value::Map(_) = of {
        return Ok(of.clone());
    }
    let mut map = IndexMap::new();
    for pair in items(evaluation, of)? {
        match pair {
            Value::List(pair) => match pair.as_slice() {
                [Value::Text { text, .. }, value] => map.insert(text.clone(), value.clone()),
                _ => return Err(Failure::new("`dict` wants pairs of a text and a value")),
            },
            _ => return Err(Failure::new("`dict` wants pairs of a text and a value")),
        };
    }
    Ok(Value::Map(map))
}

fn round(of: &Value, digits: Option<Value>) -> Result<Value, Failure> {
    let of = of.meant();
    let digits = match digits.map(|digits| digits.meant()) {
        None | Some(Value::Null) => None,
        Some(digits) => Some(
            number::whole(&digits)
                .and_then(|digits| i32::try_from(digits).ok())
                .filter(|digits| (-30..=30).contains(digits))
                .ok_or_else(|| Failure::new("`round` wants a small number of digits"))?,
        ),
    };
    match (&of, digits) {
        (Value::Float(value), None) => {
            Ok(Value::Integer(number::truncated(value.round_ties_even())?))
        }
        (Value::Float(value), Some(digits)) if digits >= 0 => {
            // The decimal form is rounded, not a product that is inexact itself.
            let digits = usize::try_from(digits).unwrap_or_default();
            let text = format!("{value:.digits$}");
            Ok(Value::Float(text.parse().unwrap_or(*value)))
        }
        (Value::Float(value), Some(digits)) => {
            let unit = 10_f64.powi(-digits);
            Ok(Value::Float((value / unit).round_ties_even() * unit))
        }
        (whole, digits) => {
            let Some(whole) = number::whole(whole) else {
                return Err(Failure::new(format!("{} cannot be rounded", of.kind())));
            };
            Ok(Value::Integer(round_whole(whole, digits.unwrap_or(0))))
        }
    }
}

/// Rounds a whole number to tens, hundreds and so on; ties go to the even neighbour.
fn round_whole(value: i128, digits: i32) -> i128 {
    let unit = u32::try_from(-digits)
        .ok()
        .and_then(|digits| 10_i128.checked_pow(digits));
    let Some(unit) = unit.filter(|unit| *unit > 1) else {
        return value;
    };
    let (quotient, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    let up = match (rest * 2).cmp(&unit) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => quotient % 2 != 0,
    };
    (quotient + i128::from(up)) * unit
}

fn sorted(evaluation: &mut Evaluation<'_>, of: &Value, reverse: bool) -> Result<Value, Failure> {
    let mut items = items(evaluation, of)?;
    let weight = items.len().checked_ilog2().unwrap_or_default() as usize;
    evaluation.spend(items.len().saturating_mul(weight))?;
    let mut failure = None;
    items.sort_by(|left, right| {
        let (left, right) = if reverse {
            (right, left)
        } else {
            (left, right)
        };
        match left.order(right) {
            Ok(order) => order.unwrap_or(Ordering::Equal),
            Err(reason) => {
                failure.get_or_insert(reason);
                Ordering::Equal
            }
        }
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Value::List(items)),
    }
}

fn enumerate(
    evaluation: &mut Evaluation<'_>,
    of: &Value,
    start: Option<Value>,
) -> Result<Value, Failure> {
    let start = start.map_or(Some(0), |start| number::whole(&start.meant()));
    let start = start.ok_or_else(|| Failure::new("`enumerate` begins at a whole number"))?;
    let items = items(evaluation, of)?;
    let pairs = items
        .into_iter()
        .zip(start..)
        .map(|(item, number)| Value::List(vec![Value::Integer(number), item]));
    Ok(Value::List(pairs.collect()))
}

fn zip(evaluation: &mut Evaluation<'_>, lists: &[Value]) -> Result<Value, Failure> {
    let lists: Vec<Vec<Value>> = lists
        .iter()
        .map(|list| items(evaluation, list))
        .collect::<Result<_, _>>()?;
    let shortest = lists.iter().map(Vec::len).min().unwrap_or_default();
    let rows = (0..shortest).map(|at| {
        let row = lists.iter().filter_map(|list| list.get(at).cloned());
        Value::List(row.collect())
    });
    Ok(Value::List(rows.collect()))
}
