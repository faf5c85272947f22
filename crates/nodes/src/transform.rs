//! `transform_node`: makes an object from another, field by field, without a model.

use interlock_expr::{
    expression::{evaluate, holds},
    template::{Missing, Template, Values},
};
use serde_json::Value;

use crate::{
    FieldRule, Inputs, Mapping, NodeError, NodeOutput, OnError, TransformNode, TransformSource,
    convert, path,
};
use interlock_core::{
    data::parse_output,
    dialogue::{Conversation, Speaker},
    machine::Object,
};

/// Error code of every failure of a transform.
const FAILED: &str = "transform_error";

/// Returns the output of a transform.
///
/// `faults` returns the violations of a schema by a value, empty if it fits.
///
/// # Errors
/// A mapping fails or the output does not fit, and `on_error` is [`OnError::Fail`]; or the input is missing, and the
/// node is strict.
pub fn transform(
    node: &TransformNode,
    given: &Inputs,
    faults: impl Fn(&Value, &Value) -> Vec<String>,
) -> Result<NodeOutput, NodeError> {
    let mut made = Made {
        node,
        output: Object::new(),
        warnings: Vec::new(),
    };
    let output = match made.whole(given, faults) {
        Ok(()) => made.output,
        Err(error) => match node.on_error {
            OnError::Fail | OnError::Partial => return Err(error),
            OnError::Skip => made.instead(&error, Object::new()),
            OnError::Default => made.instead(&error, node.default_output.clone()),
        },
    };
    Ok(NodeOutput {
        output: Value::Object(output),
        warnings: made.warnings,
    })
}

/// A transform being computed.
struct Made<'n> {
    node: &'n TransformNode,
    output: Object,
    warnings: Vec<String>,
}

impl Made<'_> {
    fn whole(
        &mut self,
        given: &Inputs,
        faults: impl Fn(&Value, &Value) -> Vec<String>,
    ) -> Result<(), NodeError> {
        let source = self.source(given)?;
        // Names of fields made so far take precedence over those of the source; the values in `beside` come last.
        let mut names = source;
        for mapping in &self.node.mappings {
            match self.value(mapping, &names, &given.beside) {
                Ok(value) => {
                    names.insert(mapping.field.clone(), value.clone());
                    self.output.insert(mapping.field.clone(), value);
                }
                Err(why) => {
                    let why = format!("`{}` has no value: {why}", mapping.field);
                    if self.node.on_error != OnError::Partial {
                        return Err(NodeError::new(FAILED, why));
                    }
                    self.warnings.push(why);
                }
            }
        }
        let Some(schema) = &self.node.output_schema else {
            return Ok(());
        };
        let mut output = Value::Object(std::mem::take(&mut self.output));
        convert::fields(&mut output, schema);
        let faults = faults(&output, schema);
        if let Value::Object(fields) = output {
            self.output = fields;
        }
        if faults.is_empty() {
            return Ok(());
        }
        let why = format!("the output does not fit: {}", faults.join("; "));
        if self.node.on_error == OnError::Partial {
            self.warnings.push(why);
            return Ok(());
        }
        Err(NodeError::new(FAILED, why))
    }

    fn instead(&mut self, error: &NodeError, output: Object) -> Object {
        self.warnings.push(error.message.clone());
        output
    }

    /// Returns the object that mappings can use.
    fn source(&mut self, given: &Inputs) -> Result<Object, NodeError> {
        let (all, bare) = whole_source(self.node.source, given);
        let Some(key) = &self.node.input_key else {
            return match (all.is_empty(), bare) {
                (true, false) => self.nothing("the input is empty or not there"),
                _ => Ok(all),
            };
        };
        let steps = path::steps(key).ok_or_else(|| {
            NodeError::new(
                FAILED,
                format!("`{key}` is not a path: write `a`, `a.b`, `a[0]` or `a[0:2]`"),
            )
        })?;
        let found = path::find(&Value::Object(all), &steps).map(read);
        match (found, steps.as_slice()) {
            (None | Some(Value::Null), _) => self.nothing(&format!("the input has no `{key}`")),
            (Some(Value::Object(fields)), [path::Step::Name(_)]) => Ok(fields),
            (Some(value), steps) => Ok(named(path::last_name(steps), value)),
        }
    }

    fn nothing(&mut self, why: &str) -> Result<Object, NodeError> {
        if self.node.strict {
            return Err(NodeError::new(FAILED, why));
        }
        self.warnings.push(format!("{why}: `{{}}` is taken"));
        Ok(Object::new())
    }

    fn value(
        &mut self,
        mapping: &Mapping,
        names: &Object,
        beside: &Object,
    ) -> Result<Value, String> {
        match &mapping.rule {
            FieldRule::Constant(value) => Ok(value.clone()),
            FieldRule::Extract { path, default } => {
                let found = at(names, path)?.filter(|value| !value.is_null());
                Ok(found.unwrap_or_else(|| default.clone()))
            }
            FieldRule::Condition {
                condition,
                then,
                otherwise,
            } => match holds(condition, names) {
                Ok(true) => Ok(then.clone()),
                Ok(false) => Ok(otherwise.clone()),
                Err(failure) => {
                    self.warnings.push(format!(
                        "the condition of `{}` cannot be evaluated, so `else_value` is taken: {failure}",
                        mapping.field
                    ));
                    Ok(otherwise.clone())
                }
            },
            FieldRule::Script(script) => {
                evaluate(script, names).map_err(|failure| failure.to_string())
            }
            FieldRule::Template(template) => self.text(template, names, beside),
            FieldRule::ArrayMap {
                path,
                item_field,
                filter,
            } => {
                let Some(Value::Array(items)) = at(names, path)? else {
                    return Ok(Value::Array(Vec::new()));
                };
                let mut scope = names.clone();
                let kept = items.into_iter().filter_map(|item| {
                    if let Some(filter) = filter {
                        scope.insert("item".to_owned(), item.clone());
                        // A filter that cannot be evaluated excludes the item.
                        if !holds(filter, &scope).unwrap_or(false) {
                            return None;
                        }
                    }
                    match item_field {
                        None => Some(item),
                        Some(field) => {
                            let steps = path::steps(field)?;
                            path::find(&item, &steps)
                        }
                    }
                });
                Ok(Value::Array(kept.collect()))
            }
        }
    }

    fn text(
        &mut self,
        template: &Template,
        names: &Object,
        beside: &Object,
    ) -> Result<Value, String> {
        let values = Values {
            context: names,
            beside,
        };
        let missing = match self.node.strict {
            true => Missing::Fails,
            false => Missing::Stays,
        };
        let rendered = template
            .render(values, missing)
            .map_err(|failure| failure.to_string())?;
        for left in rendered.left {
            self.warnings.push(format!(
                "`{}` stays as it is written: {}",
                left.block, left.reason
            ));
        }
        Ok(Value::String(rendered.result))
    }
}

/// Returns the values of a source, and whether it may be empty without a warning.
fn whole_source(source: TransformSource, given: &Inputs) -> (Object, bool) {
    let input = || object(read(given.input.clone()));
    match source {
        TransformSource::ContextStore => ((*given.context).clone(), true),
        TransformSource::UserInput => (input(), false),
        TransformSource::Messages => {
            let mut said = given.dialogue.history.iter().rev();
            let last = said.find(|said| said.by == Speaker::Person);
            let text = last.map(|said| Value::String(said.text.clone()));
            (
                text.map(|text| object(read(text))).unwrap_or_default(),
                false,
            )
        }
        TransformSource::Combined => {
            let mut all = input();
            all.extend((*given.context).clone());
            (all, true)
        }
        TransformSource::StateSchema => {
            let mut all = (*given.context).clone();
            let messages = given.dialogue.history.iter();
            let messages = messages.map(|said| Value::String(said.text.clone()));
            all.insert("user_input".to_owned(), given.input.clone());
            all.insert("messages".to_owned(), messages.collect());
            all.insert("task".to_owned(), given.dialogue.task.clone());
            let context = Value::Object((*given.context).clone());
            all.insert("context_store".to_owned(), context);
            (all, true)
        }
    }
}

/// Parses a text that contains an object or a list, as outputs are parsed.
fn read(value: Value) -> Value {
    match value {
        Value::String(text) => match parse_output(&text) {
            parsed @ (Value::Object(_) | Value::Array(_)) => parsed,
            _ => Value::String(text),
        },
        other => other,
    }
}

/// Makes an object from any value: another value is put under `data`, null and empty text give an empty object.
fn object(value: Value) -> Object {
    match value {
        Value::Object(fields) => fields,
        Value::Null => Object::new(),
        Value::String(text) if text.is_empty() => Object::new(),
        other => named(None, other),
    }
}

/// Puts a value under a name; a list or a scalar under `data`, too.
fn named(name: Option<&str>, value: Value) -> Object {
    let mut fields = Object::new();
    if !value.is_object() {
        fields.insert("data".to_owned(), value.clone());
    }
    if let Some(name) = name {
        fields.insert(name.to_owned(), value);
    }
    fields
}

/// Returns the value at a path into the names.
fn at(names: &Object, text: &str) -> Result<Option<Value>, String> {
    // A field's name may contain dots.
    if let Some(value) = names.get(text) {
        return Ok(Some(value.clone()));
    }
    let steps = path::steps(text).ok_or_else(|| format!("`{text}` is not a path"))?;
    let Some((path::Step::Name(first), rest)) = steps.split_first() else {
        return Err(format!("`{text}` begins with no name"));
    };
    Ok(names.get(*first).and_then(|value| path::find(value, rest)))
}

/// Conversion of the output to text.
impl crate::NodeOutput {
    /// Returns the output as text: text as it is, anything else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        Conversation::text_of(&self.output)
    }
}
