//! The tree for both syntaxes: values with their positions.

use interlock_core::machine::Object;
use serde_json::{Number, Value};

use crate::source::Span;

mod pointers;

pub(crate) use pointers::Pointers;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Position; an empty value has that of its key.
    pub span: Span,
    /// Kind of the value.
    pub kind: Kind,
}

/// The kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Null, written or empty.
    Null,
    /// True or false.
    Bool(bool),
    /// A number exactly as written.
    Number(Number),
    /// A text; quoted, if its format keeps scalars as written.
    Text(String),
    /// An unquoted scalar as written; only where scalars are kept so.
    Plain(String),
    /// The items of a list.
    List(Vec<Node>),
    /// Entries in the order of the file, without duplicate keys.
    Map(Vec<Entry>),
}

/// One key of a map and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Position of the key, including its quotes.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) | Kind::Plain(text) => Some(text),
            _ => None,
        }
    }

    /// Converts numbers and booleans to their text as written.
    pub(crate) fn keep_as_written(&mut self, file: &str) {
        match &mut self.kind {
            Kind::Bool(_) | Kind::Number(_) => {
                let written = file.get(self.span.start..self.span.end);
                self.kind = Kind::Plain(written.unwrap_or_default().to_owned());
            }
            Kind::List(items) => {
                for item in items {
                    item.keep_as_written(file);
                }
            }
            Kind::Map(entries) => {
                for entry in entries {
                    entry.value.keep_as_written(file);
                }
            }
            Kind::Null | Kind::Text(_) | Kind::Plain(_) => {}
        }
    }

    /// Counts the values, this one included.
    pub(crate) fn count(&self) -> usize {
        let fields = self.entries().iter().map(|entry| entry.value.count());
        let items = self.items().iter().map(Self::count);
        1 + fields.chain(items).sum::<usize>()
    }

    /// Returns the items of a list; empty for anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map; empty for anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the entry of a map with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Returns the value without positions.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) | Kind::Plain(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(_) => Value::Object(self.to_object()),
        }
    }

    /// Returns a map without positions; empty for anything else.
    pub(crate) fn to_object(&self) -> Object {
        self.entries()
            .iter()
            .map(|entry| (entry.key.clone(), entry.value.to_value()))
            .collect()
    }

    /// Describes the value, with its text if that is short.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => format!("`{value}`"),
            Kind::Number(number) => format!("the number `{number}`"),
            Kind::Text(text) | Kind::Plain(text)
                if text.chars().count() <= 40 && !text.contains('\n') =>
            {
                format!("the text `{text}`")
            }
            Kind::Text(_) | Kind::Plain(_) => "text".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "an object".to_owned(),
        }
    }
}
