//! Values while an expression is evaluated.

use std::cmp::Ordering;

use indexmap::IndexMap;
use serde_json::{Map, Number, Value as Json};

use super::{evaluate::Failure, number};

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text {
        text: String,
        /// Whether it came with the data; then it may spell another value.
        data: bool,
    },
    List(Vec<Value>),
    Map(IndexMap<String, Value>),
}

impl Value {
    /// Returns a text that an expression made.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            data: false,
        }
    }

    /// Takes JSON in; its texts count as data, or as written.
    ///
    /// # Errors
    /// A whole number is too large to be exact.
    pub(super) fn take(json: &Json, data: bool) -> Result<Self, Failure> {
        Ok(match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => number::read(number.as_str())?,
            Json::String(text) => Self::Text {
                text: text.clone(),
                data,
            },
            Json::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| Self::take(item, data))
                    .collect::<Result<_, _>>()?,
            ),
            Json::Object(fields) => Self::Map(
                fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::take(value, data)?)))
                    .collect::<Result<_, Failure>>()?,
            ),
        })
    }

    /// Gives the value back as JSON.
    ///
    /// # Errors
    /// JSON has no such number.
    pub(super) fn give(self) -> Result<Json, Failure> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Integer(value) => Json::Number(number::integer(value)?),
            Self::Float(value) => match Number::from_f64(value) {
                Some(number) => Json::Number(number),
                None => return Err(Failure::new(format!("`{value}` is not a number of JSON"))),
            },
            Self::Text { text, .. } => Json::String(text),
            Self::List(items) => Json::Array(
                items
                    .into_iter()
                    .map(Self::give)
                    .collect::<Result<_, _>>()?,
            ),
            Self::Map(fields) => Json::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| Ok((key, value.give()?)))
                    .collect::<Result<Map<_, _>, Failure>>()?,
            ),
        })
    }

    /// Returns the value that a text of the data spells; any other value as it is.
    pub(super) fn meant(&self) -> Self {
        match self {
            Self::Text { text, data: true } => spelled(text).unwrap_or_else(|| self.clone()),
            _ => self.clone(),
        }
    }

    /// Returns whether this is a text that stands in the expression itself.
    const fn is_written(&self) -> bool {
        matches!(self, Self::Text { data: false, .. })
    }

    /// Returns what two values are beside each other.
    pub(super) fn beside(&self, other: &Self) -> (Self, Self) {
        if self.is_written() || other.is_written() {
            (self.clone(), other.clone())
        } else {
            (self.meant(), other.meant())
        }
    }

    /// Returns whether the value counts as true.
    pub(super) fn is_true(&self) -> bool {
        match self.meant() {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Integer(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Text { text, .. } => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(fields) => !fields.is_empty(),
        }
    }

    /// Names the type, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "None",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text { .. } => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// Returns whether two values are equal.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let (left, right) = self.beside(other);
        match (&left, &right) {
            (Self::Null, Self::Null) => true,
            (Self::Text { text: left, .. }, Self::Text { text: right, .. }) => left == right,
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.equals(r))
            }
            (Self::Map(left), Self::Map(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(key, value)| right.get(key).is_some_and(|other| value.equals(other)))
            }
            _ => number::compare(&left, &right) == Some(Ordering::Equal),
        }
    }

    /// Orders two values.
    ///
    /// # Errors
    /// They are of types that have no order between them.
    pub(super) fn order(&self, other: &Self) -> Result<Option<Ordering>, Failure> {
        let (left, right) = self.beside(other);
        match (&left, &right) {
            (Self::Text { text: left, .. }, Self::Text { text: right, .. }) => {
                Ok(Some(left.cmp(right)))
            }
            (Self::List(left), Self::List(right)) => {
                for (left, right) in left.iter().zip(right) {
                    if !left.equals(right) {
                        return left.order(right);
                    }
                }
                Ok(Some(left.len().cmp(&right.len())))
            }
            _ if number::is_one(&left) && number::is_one(&right) => {
                Ok(number::compare(&left, &right))
            }
            _ => Err(Failure::new(format!(
                "{} and {} have no order",
                left.kind(),
                right.kind()
            ))),
        }
    }

    /// Writes the value as `str` does.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text { text, .. } => text.clone(),
            other => other.repr(),
        }
    }

    fn repr(&self) -> String {
        match self {
            Self::Null => "None".to_owned(),
            Self::Bool(true) => "True".to_owned(),
            Self::Bool(false) => "False".to_owned(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => number::shown(*value),
            Self::Text { text, .. } => quoted(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::repr).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(key, value)| format!("{}: {}", quoted(key), value.repr()))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }
}

/// Writes a text as Python does where it shows one within another value.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut shown = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            letter if letter == quote => {
                shown.push('\\');
                shown.push(letter);
            }
            letter if letter.is_control() => {
                let code = u32::from(letter);
                shown.push_str(&format!("\\x{code:02x}"));
            }
            letter => shown.push(letter),
        }
    }
    shown.push(quote);
    shown
}

/// Returns the value that a text spells; `None`: it is only a text.
fn spelled(text: &str) -> Option<Value> {
    match text {
        "True" | "true" => Some(Value::Bool(true)),
        "False" | "false" => Some(Value::Bool(false)),
        "None" | "none" | "null" => Some(Value::Null),
        _ => number::spelled(text),
    }
}
