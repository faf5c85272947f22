//! Compares the expected part of an answer with the answer.

use interlock_core::machine::Object;
use interlock_expr::number::deep_equal;
use serde_json::Value;

/// Keys of an output line, with the one that searches its message.
const KNOWN: [&str; 17] = [
    "ok",
    "verdict",
    "code",
    "message",
    "message_contains",
    "state",
    "status",
    "context",
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
        if key == "message_contains" {
            message_parts(wanted, output, &mut found);
        } else {
            compare(key, wanted, output.get(key), &mut found);
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
    let one = std::slice::from_ref(wanted);
    for part in wanted.as_array().map_or(one, Vec::as_slice) {
        if !part.as_str().is_some_and(|part| said.contains(part)) {
            found.push(format!("- message contains: {part}"));
        }
    }
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
