//! How the output of a state changes the context and the conversation.
//!
//! One pure function makes all changes, and one event records them: after a crash, either all of them
//! or none have happened.

use serde_json::Value;

use crate::machine::{Clear, DataFlags, Object};

mod literal;
mod output;

pub use output::parse_output;

/// Applies an output to the context and to the conversation.
///
/// `text` is the raw output, `output` the value that [`parse_output`] made of it, and `said` the message for
/// the conversation. The steps are, in order: conversation, clearing, removal of keys, the contribution of
/// the output, `output_key`. The context and the conversation do not affect each other.
pub fn apply<M>(
    flags: &DataFlags,
    context: &mut Object,
    history: &mut Vec<M>,
    said: M,
    (output, text): (&Value, &str),
) {
    if flags.clear_messages {
        history.truncate(usize::from(flags.keep_first));
    }
    if flags.in_history {
        history.push(said);
    }
    if flags.clear != Clear::Nothing {
        context.clear();
    }
    for key in &flags.reset {
        context.shift_remove(key);
    }
    if flags.clear == Clear::Everything {
        return;
    }
    if flags.store {
        for (key, value) in contribution(output) {
            put(context, key, value, flags.append);
        }
    }
    if let Some(key) = &flags.output_key {
        let whole = match output {
            Value::Object(_) | Value::Array(_) => output.clone(),
            _ => Value::String(text.to_owned()),
        };
        put(context, key.clone(), whole, flags.append);
    }
}

/// Returns the keys that an output contributes to the context.
///
/// An object contributes its keys, a list its objects merged from left to right, and any other value nothing.
#[must_use]
pub fn contribution(output: &Value) -> Object {
    match output {
        Value::Object(fields) => fields.clone(),
        Value::Array(items) => {
            let objects = items.iter().filter_map(Value::as_object);
            let mut merged = Object::new();
            for (key, value) in objects.flatten() {
                merged.insert(key.clone(), value.clone());
            }
            merged
        }
        _ => Object::new(),
    }
}

/// Stores a value, or appends it to a list.
fn put(context: &mut Object, key: String, value: Value, append: bool) {
    if !append {
        context.insert(key, value);
        return;
    }
    let mut list = match context.get_mut(&key).map(Value::take) {
        None => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(former) => vec![former],
    };
    match value {
        Value::Array(items) => list.extend(items),
        value => list.push(value),
    }
    context.insert(key, Value::Array(list));
}

#[cfg(test)]
mod tests;
