//! Compares the expected part of an answer with the answer.

use interlock_core::machine::Object;
use interlock_expr::number::deep_equal;
use serde_json::Value;

/// Keys of an output line, with those that search its message and its context.
const KNOWN: [&str; 18] = [
    "ok",
    "verdict",
    "code",
    "message",
    "message_contains",
    "state",
    "status",
    "context",
    "context_lacks",
    "tools",
    "events",
    "limits",
    "effects",
    "calls",
    "told",
    "notes",
    "result",
    "log",
];

/// Returns whether `key` is allowed in an `expect`.
pub(super) fn is_known(key: &str) -> bool {
    KNOWN.contains(&key)
}

/// Lists the differences of `output` from `expect`.
pub(super) fn differences(expect: &Object, output: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (key, wanted) in expect {
        match key.as_str() {
            "message_contains" => message_parts(wanted, output, &mut found),
            "context_lacks" => missing_keys(wanted, output, &mut found),
            _ => compare(key, wanted, output.get(key), &mut found),
        }
    }
    if let (false, Some(said)) = (found.is_empty(), output.get("message")) {
        found.push(format!("  message: {said}"));
    }
    found
}

fn message_parts(wanted: &Value, output: &Value, found: &mut Vec<String>) {
    let said = output
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    for part in one_or_more(wanted) {
        if !part.as_str().is_some_and(|part| said.contains(part)) {
            found.push(format!("- message contains: {part}"));
        }
    }
}

/// Keys that the context must not have, written as in a guard (`a.b`: the key `b` of the object `a`). An answer without a
/// context does not match.
fn missing_keys(wanted: &Value, output: &Value, found: &mut Vec<String>) {
    let context = output.get("context").and_then(Value::as_object);
    for key in one_or_more(wanted) {
        let lacks = context
            .zip(key.as_str())
            .is_some_and(|(context, key)| !has_key(context, key));
        if !lacks {
            found.push(format!("- context lacks: {key}"));
        }
    }
}

fn has_key(context: &Object, key: &str) -> bool {
    if context.contains_key(key) {
        return true;
    }
    key.split_once('.').is_some_and(|(outer, inner)| {
        let inside = context.get(outer).and_then(Value::as_object);
        inside.is_some_and(|inside| has_key(inside, inner))
    })
}

fn one_or_more(value: &Value) -> &[Value] {
    value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Objects match if every given key matches; lists match item by item; the rest by value.
fn compare(path: &str, wanted: &Value, seen: Option<&Value>, found: &mut Vec<String>) {
    let Some(seen) = seen else {
        found.push(format!("- {path}: {wanted}"));
        found.push(format!("+ {path} is not there"));
        return;
    };
    match (wanted, seen) {
        (Value::Object(wanted), Value::Object(seen)) => {
            for (key, wanted) in wanted {
                compare(&format!("{path}.{key}"), wanted, seen.get(key), found);
            }
        }
        (Value::Array(wanted), Value::Array(seen)) if wanted.len() == seen.len() => {
            for (index, (wanted, seen)) in wanted.iter().zip(seen).enumerate() {
                compare(&format!("{path}[{index}]"), wanted, Some(seen), found);
            }
        }
        _ if deep_equal(wanted, seen) => {}
        _ => {
            found.push(format!("- {path}: {wanted}"));
            found.push(format!("+ {path}: {seen}"));
        }
    }
}
