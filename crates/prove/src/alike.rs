//! Commands that a workflow treats alike in every rule, such as the test runners of many languages.
//!
//! Two commands are alike if exchanging them leaves the workflow the same.

use interlock_core::guard::{EvidenceOf, Guard};
use serde_json::Value;

use crate::{machine::all_guards, model::Model};

/// A command that is evidence: its key, its text and its words.
type EvidenceCommand = (String, String, Vec<String>);

/// Returns groups of evidence keys any two of which may be exchanged.
pub(crate) fn keys(model: &Model) -> Vec<Vec<String>> {
    let mut commands: Vec<EvidenceCommand> = Vec::new();
    for guard in all_guards(&model.machine) {
        if let Guard::Evidence(one) = guard
            && one.substance_shown().is_none()
            && let EvidenceOf::Command {
                text,
                words,
                directory: None,
                ..
            } = &one.of
        {
            let found = (one.key(), text.clone(), words.clone());
            if !commands.contains(&found) {
                commands.push(found);
            }
        }
    }
    if commands.len() < 2 {
        return Vec::new();
    }
    let Ok(mut plain) = serde_json::to_value(&model.machine) else {
        return Vec::new();
    };
    strip(&mut plain);
    let mut groups: Vec<Vec<EvidenceCommand>> = Vec::new();
    for command in commands {
        let fits = |group: &&mut Vec<EvidenceCommand>| {
            group.first().is_some_and(|first| {
                is_same_exchanged(&plain, first, &command)
                    && same_calls(model, &first.0, &command.0)
            })
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(command),
            None => groups.push(vec![command]),
        }
    }
    groups
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| group.into_iter().map(|(key, _, _)| key).collect())
        .collect()
}

/// Returns whether in every state the calls that prove the one also prove the other.
fn same_calls(model: &Model, one: &str, other: &str) -> bool {
    model.usable.values().all(|usable| {
        let of = |key: &str| -> Vec<(String, bool)> {
            let mut found: Vec<(String, bool)> = usable
                .iter()
                .filter(|call| call.keys.iter().any(|known| known == key))
                // A call that proves several is told apart by what else it proves.
                .map(|call| {
                    let mut others: Vec<&str> = call
                        .keys
                        .iter()
                        .map(|known| if known == key { "it" } else { known.as_str() })
                        .filter(|known| *known != one && *known != other)
                        .collect();
                    others.sort_unstable();
                    (format!("{} {others:?}", call.signature), call.asked)
                })
                .collect();
            found.sort();
            found
        };
        of(one) == of(other)
    })
}

/// Removes what no rule reads.
fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in ["hash", "instructions", "meta", "message"] {
                object.remove(key);
            }
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Returns whether a value stays the same if two commands are exchanged, apart from the order of lists whose order has no
/// meaning.
///
/// Only what names one of the commands is compared: the rest stays as it is.
fn is_same_exchanged(value: &Value, one: &EvidenceCommand, other: &EvidenceCommand) -> bool {
    match value {
        Value::Object(object) => {
            if is_named(value, one, other) {
                return is_same_list_exchanged(std::slice::from_ref(value), one, other);
            }
            object.iter().all(|(key, value)| match value {
                Value::Array(items) if is_unordered(key) => {
                    is_same_list_exchanged(items, one, other)
                }
                value => is_same_exchanged(value, one, other),
            })
        }
        Value::Array(items) => items.iter().all(|item| is_same_exchanged(item, one, other)),
        _ => true,
    }
}

/// Returns whether a list has the same items, in any order, if two commands are exchanged.
fn is_same_list_exchanged(items: &[Value], one: &EvidenceCommand, other: &EvidenceCommand) -> bool {
    let naming = || items.iter().filter(|item| names(item, one, other));
    let texts = |items: &mut dyn Iterator<Item = Value>| {
        let mut texts: Vec<String> = items
            .map(|mut item| {
                sort(&mut item);
                item.to_string()
            })
            .collect();
        texts.sort_unstable();
        texts
    };
    let exchanged = |item: &Value| {
        let mut item = item.clone();
        exchange(&mut item, one, other);
        item
    };
    texts(&mut naming().cloned()) == texts(&mut naming().map(exchanged))
}

/// Returns whether one of two commands is in a value.
fn names(value: &Value, one: &EvidenceCommand, other: &EvidenceCommand) -> bool {
    match value {
        Value::Object(object) => {
            is_named(value, one, other) || object.values().any(|value| names(value, one, other))
        }
        Value::Array(items) => items.iter().any(|item| names(item, one, other)),
        _ => false,
    }
}

/// Returns whether a value itself is one of two commands.
fn is_named(value: &Value, one: &EvidenceCommand, other: &EvidenceCommand) -> bool {
    let text = value.get("text").and_then(Value::as_str);
    text.is_some_and(|text| text == one.1 || text == other.1)
}

/// Returns whether the order of the list under a key has no meaning.
fn is_unordered(key: &str) -> bool {
    matches!(key, "all" | "any" | "allowed_commands" | "background")
}

/// Exchanges two commands.
fn exchange(value: &mut Value, one: &EvidenceCommand, other: &EvidenceCommand) {
    match value {
        Value::Object(object) => {
            let text = object
                .get("text")
                .and_then(Value::as_str)
                .map(str::to_owned);
            let to = match text {
                Some(text) if text == one.1 => Some(other),
                Some(text) if text == other.1 => Some(one),
                _ => None,
            };
            if let Some((_, text, words)) = to {
                object.insert("text".to_owned(), Value::String(text.clone()));
                if object.contains_key("words") {
                    let words = words.iter().cloned().map(Value::String).collect();
                    object.insert("words".to_owned(), Value::Array(words));
                }
            }
            object
                .values_mut()
                .for_each(|value| exchange(value, one, other));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| exchange(value, one, other)),
        _ => {}
    }
}

/// Sorts lists whose order has no meaning.
fn sort(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                sort(value);
                if is_unordered(key)
                    && let Value::Array(items) = value
                {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}
