//! Commands that a workflow treats alike in every rule, such as the test runners of many languages.
//!
//! Two commands are alike if exchanging them leaves the workflow the same.

use interlock_core::guard::{EvidenceOf, Guard};
use serde_json::Value;

use crate::{machine::all_guards, model::Model};

/// Returns groups of evidence keys any two of which may be exchanged.
pub(crate) fn keys(model: &Model) -> Vec<Vec<String>> {
    let mut commands: Vec<(String, String, Vec<String>)> = Vec::new();
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
    let mut whole = plain.clone();
    sort(&mut whole);
    let mut groups: Vec<Vec<(String, String, Vec<String>)>> = Vec::new();
    for command in commands {
        let fits = |group: &&mut Vec<(String, String, Vec<String>)>| {
            group.first().is_some_and(|first| {
                let mut other = plain.clone();
                exchange(&mut other, first, &command);
                sort(&mut other);
                other == whole && same_calls(model, &first.0, &command.0)
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

/// Exchanges two commands.
fn exchange(
    value: &mut Value,
    one: &(String, String, Vec<String>),
    other: &(String, String, Vec<String>),
) {
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
                if matches!(
                    key.as_str(),
                    "all" | "any" | "allowed_commands" | "background"
                ) && let Value::Array(items) = value
                {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}
