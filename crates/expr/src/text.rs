//! Text with holes: literal pieces and expressions over a run's context.
//!
//! Formats make it at load; the engine fills the holes when a state is
//! entered. What is on the disk comes with a command: [`Text::fill`] says
//! which file it lacks, and is asked again with its bytes.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::template::Template;

mod fill;
mod path;

pub use fill::{Beside, Caught, MissingInput, Sources, TextError};
pub use path::{Base, Places};

/// Text with holes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text {
    /// In the order written.
    pub pieces: Vec<Piece>,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Literal text.
    Plain(String),
    /// A hole.
    Hole(Expr),
}

/// What fills a hole. Every value is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// The value of this context key.
    Key(String),
    /// What this path of names and indexes leads to in the context; nothing where it leads nowhere.
    ///
    /// Null is nothing too, text as it is, anything else compact JSON.
    Value(Vec<String>),
    /// A text, which may have holes itself.
    Text(Text),
    /// A part of the error that was handled last.
    Error(ErrorPart),
    /// The bytes of a file.
    File(Text),
    /// The absolute path of what the text names.
    Path(Text, Base),
    /// The value as one shell word.
    Quote(Box<Expr>),
    /// The value, which must be a decimal integer.
    Integer(Box<Expr>),
    /// `true` when both are the same bytes, else `false`.
    Same(Box<Expr>, Text),
    /// The opposite.
    Differs(Box<Expr>, Text),
    /// What a template becomes.
    Template(Template),
}

/// A part of the error that was handled last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorPart {
    /// Its code.
    Code,
    /// The path of the state that failed.
    State,
    /// The end of what it wrote to standard error.
    Stderr,
    /// The end of what it wrote to standard output.
    Stdout,
    /// One sentence.
    Message,
}

/// A value with texts in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueTemplate {
    /// A literal value.
    Plain(Value),
    /// A text to be filled.
    Text(Text),
    /// A template; one block alone keeps the type of its value.
    Template(Template),
    /// A list.
    List(Vec<ValueTemplate>),
    /// An object, in the order written.
    Object(IndexMap<String, ValueTemplate>),
}

/// The bytes of files by absolute path, or why one cannot be read.
pub type Files = BTreeMap<String, Result<String, String>>;

impl Default for ValueTemplate {
    fn default() -> Self {
        Self::Plain(Value::Null)
    }
}

impl From<Value> for ValueTemplate {
    fn from(value: Value) -> Self {
        Self::Plain(value)
    }
}

impl Text {
    /// Makes a text without holes.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            pieces: if text.is_empty() {
                Vec::new()
            } else {
                vec![Piece::Plain(text)]
            },
        }
    }

    /// Returns the text when it has no holes.
    #[must_use]
    pub fn as_plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// Fills the holes.
    ///
    /// # Errors
    /// A file is not among `sources.files` yet, or a hole cannot be filled.
    pub fn fill(&self, sources: &Sources<'_>) -> Result<String, MissingInput> {
        fill::text(self, sources)
    }
}

impl ValueTemplate {
    /// Fills the holes of every text, at any depth.
    ///
    /// # Errors
    /// As [`Text::fill`]; the error names the way to the text.
    pub fn fill(&self, sources: &Sources<'_>) -> Result<Value, MissingInput> {
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Text(text) => Value::String(text.fill(sources)?),
            Self::Template(template) => fill::value_of(template, sources)?,
            Self::List(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        item.fill(sources)
                            .map_err(|lack| lack.below(&index.to_string()))
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Self::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(key, field)| {
                        let value = field.fill(sources).map_err(|lack| lack.below(key))?;
                        Ok((key.clone(), value))
                    })
                    .collect::<Result<Map<_, _>, MissingInput>>()?,
            ),
        })
    }
}
