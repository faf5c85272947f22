//! The tree that both syntaxes are read into: values, each with its place.

use interlock_core::machine::Object;
use serde_json::{Number, Value};

use crate::source::Span;

mod pointers;

pub(crate) use pointers::Pointers;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it was written; a value that is left out stands at its key.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Nothing, written or left out.
    Null,
    /// True or false.
    Bool(bool),
    /// Exactly as written.
    Number(Number),
    /// Text, in quotes where its format keeps scalars as written.
    Text(String),
    /// A scalar without quotes, as written; only where scalars are kept so.
    Plain(String),
    /// The items of a list.
    List(Vec<Node>),
    /// In the order written, every key once.
    Map(Vec<Entry>),
}

/// One key of a map and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written, its quotes included.
    pub key_span: Span,
    /// What stands there.
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

    /// Turns numbers and truth values into the text they are written as.
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

    /// Returns the items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map; none of anything else.
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

    /// Returns the value without its places.
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

    /// Returns a map without its places; empty for anything else.
    pub(crate) fn to_object(&self) -> Object {
        self.entries()
            .iter()
            .map(|entry| (entry.key.clone(), entry.value.to_value()))
            .collect()
    }

    /// Names what the value is, with its text where that is short.
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
