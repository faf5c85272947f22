//! From an expression to its value, within a number of steps.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{At, Comparison, Expression, Node, Type, call, method, number, operator, value::Value};
use crate::nearest::nearest;

/// Steps that one evaluation may take.
pub const STEPS_MAX: usize = 100_000;

/// Bytes of a text that are handled in one step.
const BYTES_A_STEP: usize = 256;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One clause.
    pub reason: String,
}

impl Failure {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

/// What names mean while an expression is evaluated.
pub trait Names {
    /// Returns what `name` means; `None`: nothing.
    fn meaning(&self, name: &str) -> Option<Cow<'_, Json>>;

    /// Returns every name that means something, for messages.
    fn known(&self) -> Vec<&str>;
}

/// Returns the value of an expression.
///
/// # Errors
/// A name or a field means nothing, values are of the wrong types, or
/// [`STEPS_MAX`] is spent.
pub fn evaluate(expression: &Expression, names: &dyn Names) -> Result<Json, Failure> {
    Evaluation::new(expression, names).whole()?.give()
}

/// Returns whether an expression holds: whether its value counts as true.
///
/// # Errors
/// As [`evaluate`].
pub fn holds(expression: &Expression, names: &dyn Names) -> Result<bool, Failure> {
    Ok(Evaluation::new(expression, names).whole()?.is_true())
}

/// One evaluation and the steps that are left to it.
pub(super) struct Evaluation<'n> {
    expression: &'n Expression,
    names: &'n dyn Names,
    left: usize,
}

impl<'n> Evaluation<'n> {
    fn new(expression: &'n Expression, names: &'n dyn Names) -> Self {
        Self {
            expression,
            names,
            left: STEPS_MAX,
        }
    }

    /// Takes steps.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| {
            Failure::new(format!("the expression takes more than {STEPS_MAX} steps"))
        })?;
        Ok(())
    }

    /// Takes the steps that a text of so many bytes needs.
    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        self.spend(bytes / BYTES_A_STEP)
    }

    fn whole(&mut self) -> Result<Value, Failure> {
        let last = self.expression.nodes.len().checked_sub(1);
        let last = last.ok_or_else(|| Failure::new("the expression is empty"))?;
        self.value(At(last + 1), At(last))
    }

    /// Returns the value of the part `at`, of which the part `of` is made.
    fn value(&mut self, of: At, at: At) -> Result<Value, Failure> {
        self.spend(1)?;
        // A part stands before what is made of it: so an evaluation ends.
        let node = self.expression.nodes.get(at.0).filter(|_| at < of);
        let node = node.ok_or_else(|| Failure::new("the expression is damaged"))?;
        match node {
            Node::Literal(json) => Value::take(json, false),
            Node::Name(name) => self.name(name),
            Node::List(items) => Ok(Value::List(self.values(at, items)?)),
            Node::Map(fields) => self.map(at, fields),
            Node::Not(inner) => Ok(Value::Bool(!self.value(at, *inner)?.is_true())),
            Node::Negative(inner) => operator::negative(&self.value(at, *inner)?),
            Node::And(left, right) => {
                let left = self.value(at, *left)?;
                if left.is_true() {
                    self.value(at, *right)
                } else {
                    Ok(left)
                }
            }
            Node::Or(left, right) => {
                let left = self.value(at, *left)?;
                if left.is_true() {
                    Ok(left)
                } else {
                    self.value(at, *right)
                }
            }
            Node::Compare(first, rest) => self.compare(at, *first, rest),
            Node::Reckon(with, left, right) => {
                let left = self.value(at, *left)?;
                let right = self.value(at, *right)?;
                operator::reckon(self, *with, &left, &right)
            }
            Node::Choose {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.value(at, *condition)?.is_true();
                self.value(at, if holds { *then } else { *otherwise })
            }
            Node::Field(of, name) => {
                let of = self.value(at, *of)?;
                field(&of, name)
            }
            Node::Item(of, number) => {
                let of = self.value(at, *of)?;
                let number = self.value(at, *number)?;
                self.item(&of, &number)
            }
            Node::Part(of, [from, to, step]) => {
                let of = self.value(at, *of)?;
                let mut bound = |part: &Option<At>| -> Result<Option<i128>, Failure> {
                    part.map_or(Ok(None), |part| self.bound(at, part))
                };
                let bounds = [bound(from)?, bound(to)?, bound(step)?];
                self.part(&of, bounds)
            }
            Node::Is(of, types) => {
                let of = self.value(at, *of)?.meant();
                Ok(Value::Bool(types.iter().any(|kind| is_of(&of, *kind))))
            }
            Node::Call {
                function,
                arguments,
                named,
            } => {
                let arguments = self.values(at, arguments)?;
                let mut by_name = Vec::new();
                for (name, value) in named {
                    by_name.push((name.as_str(), self.value(at, *value)?));
                }
                call::call(self, *function, arguments, &by_name)
            }
            Node::Method {
                of,
                method,
                arguments,
            } => {
                let of = self.value(at, *of)?;
                let arguments = self.values(at, arguments)?;
                method::call(self, &of, *method, &arguments)
            }
        }
    }

    fn values(&mut self, of: At, parts: &[At]) -> Result<Vec<Value>, Failure> {
        parts.iter().map(|part| self.value(of, *part)).collect()
    }

    fn name(&mut self, name: &str) -> Result<Value, Failure> {
        if let Some(json) = self.names.meaning(name) {
            self.spend_bytes(size(&json))?;
            return Value::take(&json, true);
        }
        let near = nearest(name, self.names.known());
        let near = near
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        Err(Failure::new(format!("`{name}` has no value here{near}")))
    }

    fn map(&mut self, of: At, fields: &[(At, At)]) -> Result<Value, Failure> {
        let mut map = indexmap::IndexMap::new();
        for (key, value) in fields {
            let key = self.value(of, *key)?;
            let Value::Text { text, .. } = key else {
                return Err(Failure::new(format!(
                    "{} cannot be the key of a map",
                    key.kind()
                )));
            };
            map.insert(text, self.value(of, *value)?);
        }
        Ok(Value::Map(map))
    }

    fn compare(&mut self, of: At, first: At, rest: &[(Comparison, At)]) -> Result<Value, Failure> {
        let mut left = self.value(of, first)?;
        for (how, right) in rest {
            let right = self.value(of, *right)?;
            if !operator::compare(self, *how, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn item(&mut self, of: &Value, at: &Value) -> Result<Value, Failure> {
        if let Value::Map(fields) = of {
            let key = at.shown();
            return fields
                .get(&key)
                .cloned()
                .ok_or_else(|| lacking(&key, fields.keys()));
        }
        let Some(index) = number::whole(&at.meant()) else {
            return Err(Failure::new(format!(
                "{} is not a number of an item",
                at.kind()
            )));
        };
        let missing =
            |count: usize| Failure::new(format!("there is no item {index}: there are {count}"));
        match of {
            Value::List(items) => {
                let found = place(index, items.len()).and_then(|at| items.get(at));
                found.cloned().ok_or_else(|| missing(items.len()))
            }
            Value::Text { text, data } => {
                self.spend_bytes(text.len())?;
                let count = text.chars().count();
                let found = place(index, count).and_then(|at| text.chars().nth(at));
                let text = found.ok_or_else(|| missing(count))?.to_string();
                Ok(Value::Text { text, data: *data })
            }
            other => Err(Failure::new(format!("{} has no items", other.kind()))),
        }
    }

    fn bound(&mut self, of: At, at: At) -> Result<Option<i128>, Failure> {
        match self.value(of, at)?.meant() {
            Value::Null => Ok(None),
            value => match number::whole(&value) {
                Some(number) => Ok(Some(number)),
                None => Err(Failure::new(format!(
                    "{} cannot bound a part",
                    value.kind()
                ))),
            },
        }
    }

    fn part(&mut self, of: &Value, bounds: [Option<i128>; 3]) -> Result<Value, Failure> {
        match of {
            Value::List(items) => {
                let places = places(bounds, items.len())?;
                self.spend(places.len())?;
                let found = places.into_iter().filter_map(|at| items.get(at).cloned());
                Ok(Value::List(found.collect()))
            }
            Value::Text { text, data } => {
                self.spend_bytes(text.len())?;
                let letters: Vec<char> = text.chars().collect();
                let places = places(bounds, letters.len())?;
                let found = places.into_iter().filter_map(|at| letters.get(at));
                Ok(Value::Text {
                    text: found.collect(),
                    data: *data,
                })
            }
            other => Err(Failure::new(format!("{} has no parts", other.kind()))),
        }
    }
}

/// Returns the field of a map.
fn field(of: &Value, name: &str) -> Result<Value, Failure> {
    match of {
        Value::Map(fields) => fields
            .get(name)
            .cloned()
            .ok_or_else(|| lacking(name, fields.keys())),
        other => Err(Failure::new(format!(
            "{} has no field `{name}`",
            other.kind()
        ))),
    }
}

fn lacking<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> Failure {
    let near = nearest(name, known.map(String::as_str));
    let near = near
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    Failure::new(format!("there is no field `{name}`{near}"))
}

/// Returns the place of an item; a negative number counts from the end.
pub(super) fn place(index: i128, count: usize) -> Option<usize> {
    let count = i128::try_from(count).ok()?;
    let at = if index < 0 {
        index.checked_add(count)?
    } else {
        index
    };
    (0..count).contains(&at).then(|| usize::try_from(at).ok())?
}

/// Returns the places that a part takes, as Python's slices do.
fn places([from, to, step]: [Option<i128>; 3], count: usize) -> Result<Vec<usize>, Failure> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Failure::new("the step of a part cannot be 0"));
    }
    let count = i128::try_from(count).unwrap_or(i128::MAX);
    let (low, high) = if step > 0 {
        (0, count)
    } else {
        (-1, count - 1)
    };
    let bound = |at: Option<i128>, default: i128| {
        at.map_or(default, |at| {
            let at = if at < 0 { at.saturating_add(count) } else { at };
            at.clamp(low, high)
        })
    };
    let (mut at, end) = if step > 0 {
        (bound(from, 0), bound(to, count))
    } else {
        (bound(from, count - 1), bound(to, -1))
    };
    let mut places = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        places.extend(usize::try_from(at).ok());
        at = at.saturating_add(step);
    }
    Ok(places)
}

const fn is_of(value: &Value, kind: Type) -> bool {
    match kind {
        Type::Str => matches!(value, Value::Text { .. }),
        // A truth value is a whole number to Python.
        Type::Int => matches!(value, Value::Integer(_) | Value::Bool(_)),
        Type::Float => matches!(value, Value::Float(_)),
        Type::Bool => matches!(value, Value::Bool(_)),
        Type::List | Type::Tuple => matches!(value, Value::List(_)),
        Type::Dict => matches!(value, Value::Map(_)),
    }
}

/// Returns how many bytes of texts a value holds, and about one for each other value.
fn size(json: &Json) -> usize {
    match json {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(|item| 1 + size(item)).sum(),
        Json::Object(fields) => fields
            .iter()
            .map(|(key, item)| key.len() + size(item))
            .sum(),
        _ => 1,
    }
}
