//! Fills the holes of a text.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ErrorPart, Expr, Files, Piece, Places, Text};
use crate::{
    Object,
    nearest::nearest,
    template::{Missing, Rendered, Template, UnrenderedBlock, Values},
};

/// Bytes that one filled text may have: one variable at its longest, and half of that beside it.
const BYTES_MAX: usize = 24 * 1024 * 1024;

/// The error that was handled last, as texts name its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caught {
    /// Its code, as a number.
    pub code: String,
    /// Its code as it was given, a name or a number; empty in logs that do not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The path of the state that failed.
    pub state: String,
    /// The end of what it wrote to standard error, trimmed.
    #[serde(default)]
    pub stderr: String,
    /// The end of what it wrote to standard output, trimmed.
    #[serde(default)]
    pub stdout: String,
    /// One sentence.
    pub message: String,
}

/// What holes are filled from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Values by key.
    pub context: &'a Object,
    /// The error that was handled last.
    pub caught: Option<&'a Caught>,
    /// What paths are resolved against.
    pub places: &'a Places,
    /// The files that were read so far.
    pub files: &'a Files,
    /// What templates see beside the context; `None`: nothing.
    pub beside: Option<&'a Beside>,
}

/// What templates see beside the context, and what becomes of their blocks without a value.
#[derive(Debug, Default)]
pub struct Beside {
    /// Values by name; a context key of the same name comes first.
    pub values: Object,
    /// Whether a block without a value is an error.
    pub strict: bool,
    /// Blocks that stayed as they are written so far.
    pub left: RefCell<Vec<UnrenderedBlock>>,
}

/// Why a text is not filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingInput {
    /// This file has to be read first; its absolute path.
    File(String),
    /// A hole cannot be filled.
    Wrong(TextError),
}

/// Why a hole cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// The argument the text stands in, as `variables.name`; empty where it stands alone.
    pub place: String,
    /// One clause.
    pub reason: String,
    /// Whether a template is to blame.
    pub in_template: bool,
}

impl MissingInput {
    /// Returns this, found below `key`.
    #[must_use]
    pub fn below(self, key: &str) -> Self {
        match self {
            Self::Wrong(mut error) => {
                error.place = if error.place.is_empty() {
                    key.to_owned()
                } else {
                    format!("{key}.{}", error.place)
                };
                Self::Wrong(error)
            }
            lack @ Self::File(_) => lack,
        }
    }

    fn wrong(reason: impl Into<String>) -> Self {
        Self::Wrong(TextError {
            place: String::new(),
            reason: reason.into(),
            in_template: false,
        })
    }
}

/// Renders a template to text.
fn text_of(template: &Template, sources: &Sources<'_>) -> Result<String, MissingInput> {
    render(sources, |values, missing| template.render(values, missing))
}

/// Renders a template to a value.
pub(super) fn value_of(template: &Template, sources: &Sources<'_>) -> Result<Value, MissingInput> {
    render(sources, |values, missing| template.value(values, missing))
}

fn render<T>(
    sources: &Sources<'_>,
    render: impl Fn(Values<'_>, Missing) -> Result<Rendered<T>, crate::template::Failure>,
) -> Result<T, MissingInput> {
    let none = Object::new();
    let beside = sources.beside;
    let values = Values {
        context: sources.context,
        beside: beside.map_or(&none, |beside| &beside.values),
    };
    let missing = match beside {
        Some(beside) if beside.strict => Missing::Fails,
        _ => Missing::Stays,
    };
    let rendered = render(values, missing).map_err(|failure| {
        MissingInput::Wrong(TextError {
            place: String::new(),
            reason: failure.reason,
            in_template: true,
        })
    })?;
    if let Some(beside) = beside {
        beside.left.borrow_mut().extend(rendered.left);
    }
    Ok(rendered.result)
}

pub(super) fn text(text: &Text, sources: &Sources<'_>) -> Result<String, MissingInput> {
    let mut filled = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Plain(plain) => push(&mut filled, plain)?,
            Piece::Hole(expr) => push(&mut filled, &value(expr, sources)?)?,
        }
    }
    Ok(filled)
}

/// Puts a part behind what is there, as far as a text may grow.
fn push(filled: &mut String, part: &str) -> Result<(), MissingInput> {
    if filled.len().saturating_add(part.len()) > BYTES_MAX {
        return Err(MissingInput::wrong(format!(
            "the text grows over {} MiB",
            BYTES_MAX / 1024 / 1024
        )));
    }
    filled.push_str(part);
    Ok(())
}

fn value(expr: &Expr, sources: &Sources<'_>) -> Result<String, MissingInput> {
    match expr {
        Expr::Key(key) => of_key(key, sources.context),
        Expr::Value(path) => Ok(of_path(path, sources.context)),
        Expr::Text(inner) => text(inner, sources),
        Expr::Error(part) => of_error(*part, sources.caught),
        Expr::File(path) => {
            let path = text(path, sources)?;
            let path = sources.places.absolute(&path, super::Base::RunDir);
            match sources.files.get(&path) {
                None => Err(MissingInput::File(path)),
                Some(Ok(bytes)) => Ok(bytes.clone()),
                Some(Err(why)) => Err(MissingInput::wrong(why.clone())),
            }
        }
        Expr::Path(path, base) => Ok(sources.places.absolute(&text(path, sources)?, *base)),
        Expr::Quote(inner) => Ok(quote(&value(inner, sources)?)),
        Expr::Integer(inner) => integer(value(inner, sources)?),
        Expr::Same(left, right) => Ok((value(left, sources)? == text(right, sources)?).to_string()),
        Expr::Differs(left, right) => {
            Ok((value(left, sources)? != text(right, sources)?).to_string())
        }
        Expr::Template(template) => text_of(template, sources),
    }
}

fn of_key(key: &str, context: &Object) -> Result<String, MissingInput> {
    match context.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Null) => Ok(String::new()),
        Some(value) => Ok(value.to_string()),
        None => {
            let near = nearest(key, context.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Err(MissingInput::wrong(format!(
                "`{key}` has no value here{near}"
            )))
        }
    }
}

fn of_path(path: &[String], context: &Object) -> String {
    let Some((first, rest)) = path.split_first() else {
        return String::new();
    };
    let found = context
        .get(first)
        .and_then(|value| rest.iter().try_fold(value, |value, part| step(value, part)));
    match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Returns the member of an object or the item of a list that `part` names.
fn step<'v>(value: &'v Value, part: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(part),
        // As in a JSON Pointer, an index has no sign and no leading zero.
        Value::Array(items) if part == "0" || !part.starts_with(['0', '+']) => {
            items.get(part.parse::<usize>().ok()?)
        }
        _ => None,
    }
}

fn of_error(part: ErrorPart, caught: Option<&Caught>) -> Result<String, MissingInput> {
    let Some(caught) = caught else {
        return Err(MissingInput::wrong(
            "`error` has no value before the first error was handled",
        ));
    };
    Ok(match part {
        ErrorPart::Code => &caught.code,
        ErrorPart::State => &caught.state,
        ErrorPart::Stderr => &caught.stderr,
        ErrorPart::Stdout => &caught.stdout,
        ErrorPart::Message => &caught.message,
    }
    .clone())
}

/// Writes `text` as one word that a POSIX shell reads as it is.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Takes a decimal integer; in arithmetic a shell would evaluate anything else again.
fn integer(text: String) -> Result<String, MissingInput> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    // A leading zero would make a shell read octal digits.
    let plain = digits == "0" || (!digits.starts_with('0') && !digits.is_empty());
    if plain && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(trimmed.to_owned());
    }
    let shown: String = text.chars().take(40).collect();
    Err(MissingInput::wrong(format!(
        "`{shown}` is not a decimal integer, and is used in shell arithmetic"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{BYTES_MAX, MissingInput, integer, of_path, push, quote};

    #[test]
    fn a_path_leads_into_objects_and_lists() {
        let context = json!({
            "task": "do ${ctx.this} {{ x }}",
            "n": null,
            "big": 9_007_199_254_740_993_u64,
            "yes": true,
            "upstream": { "Plan-1": { "steps": [{ "b": 1, "a": [] }, "two"], "0": "key" } },
        });
        let Value::Object(context) = context else {
            return;
        };
        for (path, wanted) in [
            ("task", "do ${ctx.this} {{ x }}"),
            ("n", ""),
            ("n.x", ""),
            ("none", ""),
            ("big", "9007199254740993"),
            ("yes", "true"),
            ("yes.x", ""),
            ("task.0", ""),
            ("upstream.Plan-1.steps", r#"[{"b":1,"a":[]},"two"]"#),
            ("upstream.Plan-1.steps.0", r#"{"b":1,"a":[]}"#),
            ("upstream.Plan-1.steps.1", "two"),
            ("upstream.Plan-1.steps.01", ""),
            ("upstream.Plan-1.steps.+1", ""),
            ("upstream.Plan-1.steps.2", ""),
            ("upstream.Plan-1.0", "key"),
        ] {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            assert_eq!(of_path(&path, &context), wanted, "{path:?}");
        }
        assert_eq!(of_path(&[], &context), "");
    }

    #[test]
    fn a_quoted_word_stays_one() {
        assert_eq!(quote("a'b $(x)"), r"'a'\''b $(x)'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn only_decimal_integers_reach_arithmetic() {
        for good in ["0", "42", "-7", "+3", " 5\n"] {
            assert_eq!(integer(good.to_owned()), Ok(good.trim().to_owned()));
        }
        for bad in ["", "-", "010", "1.5", "0x1f", "a", "x[$(touch y)]", "1 2"] {
            assert!(
                matches!(integer(bad.to_owned()), Err(MissingInput::Wrong(_))),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_text_ends_before_it_is_too_long() {
        let mut filled = "x".repeat(BYTES_MAX - 1);
        assert!(push(&mut filled, "y").is_ok());
        assert!(push(&mut filled, "z").is_err());
        assert_eq!(filled.len(), BYTES_MAX);
    }
}
