//! The arguments of a control call, parsed strictly.

use interlock_core::machine::Object;
use serde_json::Value;

use crate::{
    refused::Refused,
    tools::{Field, Kind, ToolText},
};

/// Maximum number of characters of an event, a branch or a name.
const NAME_CHARS_MAX: usize = 200;
/// Maximum number of characters of a reason.
const TEXT_CHARS_MAX: usize = 2_000;

/// The checked arguments of one call: all are known and have the right type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    object: &'a Object,
}

impl<'a> Arguments<'a> {
    /// Checks the arguments against the tool's definition.
    pub(crate) fn check(tool: &ToolText, object: &'a Object) -> Result<Self, Refused> {
        for key in object.keys() {
            if tool.fields.iter().all(|field| field.name != key) {
                let known: Vec<String> = tool
                    .fields
                    .iter()
                    .map(|field| format!("`{}`", field.name))
                    .collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                return Err(Refused::arguments(format!(
                    "`{key}` is not an argument of `{}`; it takes {known}",
                    tool.name
                )));
            }
        }
        for field in tool.fields {
            check_field(tool, field, object.get(field.name).unwrap_or(&Value::Null))?;
        }
        Ok(Self { object })
    }

    /// Returns a text, or `None` if it is not given.
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.object.get(name).and_then(Value::as_str)
    }

    /// Returns an object, which is empty if none is given.
    pub(crate) fn object(self, name: &str) -> Object {
        self.object
            .get(name)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    }
}

fn check_field(tool: &ToolText, field: &Field, value: &Value) -> Result<(), Refused> {
    let wrong = |what: &str| {
        let Field { name, .. } = field;
        Err(Refused::arguments(format!(
            "`{name}` of `{}` must be {what}",
            tool.name
        )))
    };
    match (field.kind, value) {
        (_, Value::Null) if field.required => wrong(&format!("given: {}", field.kind.words())),
        (_, Value::Null) | (Kind::Object, Value::Object(_)) => Ok(()),
        (Kind::Name, Value::String(text)) if text.chars().count() > NAME_CHARS_MAX => {
            wrong(&format!("at most {NAME_CHARS_MAX} characters long"))
        }
        (Kind::Text, Value::String(text)) if text.chars().count() > TEXT_CHARS_MAX => {
            wrong(&format!("at most {TEXT_CHARS_MAX} characters long"))
        }
        (Kind::Name, Value::String(text)) if text.is_empty() => wrong("given: it is empty"),
        (Kind::Name | Kind::Text, Value::String(_)) => Ok(()),
        (Kind::Object, Value::String(_)) => wrong("a JSON object, not a text that holds one"),
        _ => wrong(field.kind.words()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_as_long_as_their_characters_are_many() {
        for tool in &crate::tools::TOOLS {
            for field in tool.fields {
                let most = match field.kind {
                    Kind::Name => NAME_CHARS_MAX,
                    Kind::Text => TEXT_CHARS_MAX,
                    Kind::Object => continue,
                };
                for (count, fits) in [(most, true), (most + 1, false)] {
                    let text = json!("ü".repeat(count));
                    let checked = check_field(tool, field, &text);
                    assert_eq!(checked.is_ok(), fits, "{}: {count}", field.name);
                }
            }
        }
    }
}
