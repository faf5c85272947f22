//! Tool calls of states: resolves the written arguments, and makes the output from the result.

use interlock_expr::template::{Missing, Template, Values};
use serde_json::Value;

use crate::{Inputs, NodeError, NodeOutput, ToolWork, convert, path};
use interlock_core::{
    conversation::cut,
    data::parse_output,
    dialogue::{Conversation, pointed},
    machine::Object,
};

/// Error code: arguments cannot be resolved or do not fit the schema.
pub const ARGUMENTS: &str = "tool_arguments";
/// Error code: a block has no value, where that is an error.
pub const TEMPLATE: &str = "template_error";
/// Error code: the pointer matches nothing in the result.
pub const POINTER: &str = "pointer_missing";

/// Returns the arguments of the call.
///
/// `schema` is the tool's own, an object. A text that consists of one block keeps the value's type. Other text is
/// converted to the type that the schema names, if it parses; no value is converted to text. A written `null` takes the
/// context key of that name, or is left out. Without written arguments, parameters are filled from context keys of the
/// same name, with a warning. The caller checks whether the arguments fit the schema.
///
/// # Errors
/// `template_error` or `tool_arguments`.
pub fn arguments(work: &ToolWork, schema: &Value, given: &Inputs) -> Result<NodeOutput, NodeError> {
    let mut warnings = Vec::new();
    let scope = scope(work, given, &mut warnings)?;
    let mut making = Making {
        values: Values {
            context: &scope,
            beside: &given.beside,
        },
        strict: work.strict,
        warnings,
    };
    let made = match &work.arguments {
        None => making.of_context(schema),
        Some(written) => making.fields(written, schema)?,
    };
    Ok(NodeOutput {
        output: Value::Object(made),
        warnings: making.warnings,
    })
}

/// Returns the output of the state from the result of the call.
///
/// Applies, in this order: the pointer, templates, the limit.
///
/// # Errors
/// `pointer_missing` or `template_error`.
pub fn output(work: &ToolWork, result: &str, given: &Inputs) -> Result<NodeOutput, NodeError> {
    let mut text = result.to_owned();
    if let Some(pointer) = &work.pointer {
        text = Conversation::text_of(&part(result, pointer)?);
    }
    let mut making = Making {
        values: given.values(),
        strict: work.strict,
        warnings: Vec::new(),
    };
    if work.fills_response {
        text = match serde_json::from_str::<Value>(&text) {
            // Values that are filled in may contain quotes: filling the parsed value keeps the JSON valid.
            Ok(value @ (Value::Object(_) | Value::Array(_))) => {
                making.value(&value, &Value::Null)?.to_string()
            }
            _ => making.text(&text)?,
        };
    }
    if let Some(max) = work.tokens_max {
        text = cut(text, max);
    }
    Ok(NodeOutput {
        output: Value::String(text),
        warnings: making.warnings,
    })
}

fn part(result: &str, pointer: &str) -> Result<Value, NodeError> {
    let whole = parse_output(result);
    if pointer.is_empty() {
        return Ok(whole);
    }
    let place = pointer.strip_suffix('/').filter(|rest| !rest.is_empty());
    let found = pointer
        .starts_with('/')
        .then(|| pointed(&whole, place.unwrap_or(pointer)));
    found.flatten().ok_or_else(|| {
        let keys = whole.as_object().into_iter().flat_map(Object::keys);
        let keys: Vec<String> = keys.take(20).map(|key| format!("`{key}`")).collect();
        let known = match keys.is_empty() {
            true => String::new(),
            false => format!(": it has {}", keys.join(", ")),
        };
        NodeError::new(
            POINTER,
            format!("`{pointer}` leads nowhere in the result{known}"),
        )
    })
}

/// Returns the values that templates of the arguments can use.
fn scope(work: &ToolWork, given: &Inputs, warnings: &mut Vec<String>) -> Result<Object, NodeError> {
    let Some(key) = &work.input_key else {
        return Ok((*given.context).clone());
    };
    let context = Value::Object((*given.context).clone());
    let found = given.context.get(key).cloned();
    let found = found.or_else(|| path::find(&context, &path::steps(key)?));
    let found = found.map(|value| match value {
        Value::String(text) => parse_output(&text),
        other => other,
    });
    if let Some(Value::Object(fields)) = found {
        return Ok(fields);
    }
    let why = format!("the context has no object `{key}`, which is the `input_key`");
    if work.strict {
        return Err(NodeError::new(ARGUMENTS, why));
    }
    warnings.push(format!("{why}: `{{}}` is taken"));
    Ok(Object::new())
}

/// Arguments that are being resolved.
struct Making<'a> {
    values: Values<'a>,
    strict: bool,
    warnings: Vec<String>,
}

impl Making<'_> {
    /// Fills the parameters from context keys of the same name.
    fn of_context(&mut self, schema: &Value) -> Object {
        let mut made = Object::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(value) = self.values.context.get(name) {
                let mut value = value.clone();
                convert::fit(&mut value, property);
                made.insert(name.clone(), value);
            }
        }
        if !made.is_empty() {
            let names: Vec<String> = made.keys().map(|name| format!("`{name}`")).collect();
            self.warnings.push(format!(
                "no arguments are written: {} came from the context",
                names.join(", ")
            ));
        }
        made
    }

    /// Resolves written arguments.
    fn fields(&mut self, written: &Object, schema: &Value) -> Result<Object, NodeError> {
        let mut made = Object::new();
        for (name, value) in written {
            let property = property(schema, name);
            let value = match value {
                Value::Null => {
                    let Some(found) = self.values.context.get(name) else {
                        continue;
                    };
                    let mut found = found.clone();
                    convert::fit(&mut found, property);
                    found
                }
                value => self.value(value, property)?,
            };
            made.insert(name.clone(), value);
        }
        Ok(made)
    }

    fn value(&mut self, written: &Value, schema: &Value) -> Result<Value, NodeError> {
        let mut made = match written {
            Value::String(text) => self.typed(text)?,
            Value::Array(items) => {
                let of_items = schema.get("items").unwrap_or(&Value::Null);
                let items = items.iter().map(|item| self.value(item, of_items));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let mut made = Object::new();
                for (name, value) in fields {
                    let value = self.value(value, property(schema, name))?;
                    made.insert(name.clone(), value);
                }
                Value::Object(made)
            }
            other => other.clone(),
        };
        convert::fit(&mut made, schema);
        Ok(made)
    }

    fn typed(&mut self, text: &str) -> Result<Value, NodeError> {
        let template = Template::new(text);
        if !template.has_blocks() {
            return Ok(Value::String(text.to_owned()));
        }
        let rendered = template.value(self.values, self.missing());
        let rendered = rendered.map_err(|failure| NodeError::new(TEMPLATE, failure.reason))?;
        self.warn(rendered.left);
        Ok(rendered.result)
    }

    fn text(&mut self, text: &str) -> Result<String, NodeError> {
        let rendered = Template::new(text).render(self.values, self.missing());
        let rendered = rendered.map_err(|failure| NodeError::new(TEMPLATE, failure.reason))?;
        self.warn(rendered.left);
        Ok(rendered.result)
    }

    const fn missing(&self) -> Missing {
        match self.strict {
            true => Missing::Fails,
            false => Missing::Stays,
        }
    }

    fn warn(&mut self, left: Vec<interlock_expr::template::UnrenderedBlock>) {
        let left = left.into_iter();
        self.warnings.extend(
            left.map(|left| format!("`{}` stays as it is written: {}", left.block, left.reason)),
        );
    }
}

/// Fills a template, and describes the blocks that stay as they are written.
///
/// A block without a value stays, or is an error if `strict`.
///
/// # Errors
/// `template_error`.
pub fn fill(
    written: &Template,
    values: Values<'_>,
    strict: bool,
) -> Result<(String, Vec<String>), NodeError> {
    let mut making = Making {
        values,
        strict,
        warnings: Vec::new(),
    };
    let text = making.text(written.source())?;
    Ok((text, making.warnings))
}

fn property<'s>(schema: &'s Value, name: &str) -> &'s Value {
    let properties = schema.get("properties");
    let own = properties.and_then(|properties| properties.get(name));
    own.or_else(|| schema.get("additionalProperties"))
        .unwrap_or(&Value::Null)
}
