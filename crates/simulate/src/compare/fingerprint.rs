//! The meaning of an event, for comparisons between runs.

use interlock_core::event::Event;
use serde_json::Value;

/// Fields that differ between any two runs, or contain durations and sizes.
const PASSING: [&str; 18] = [
    "again_ms", "agent", "at_ms", "body", "bytes", "call", "digest", "hash", "id", "marks", "ms",
    "pid", "prompt", "question", "run", "session", "told", "usage",
];
/// Fields with values of users: all their keys count.
const WRITTEN: [&str; 9] = [
    "context", "data", "input", "items", "merged", "output", "payload", "value", "values",
];

/// Returns a number that is equal for events with the same meaning.
///
/// `project` is the root of the run's project: paths in it are relative.
#[must_use]
pub fn fingerprint(event: &Event, project: &str) -> u64 {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    simplify(&mut value);
    let mut text = value.to_string();
    let root = project.trim_end_matches('/');
    if !root.is_empty() && text.contains(root) {
        text = text.replace(root, ".");
    }
    fnv(text.as_bytes())
}

/// Removes what is ignored. A call keeps its tool and its arguments, a refusal its code.
fn simplify(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, field| {
                let is_record = key == "call" && field.is_object();
                is_record || !PASSING.contains(&key.as_str())
            });
            for (key, field) in fields.iter_mut() {
                match (key.as_str(), field) {
                    ("refusal", Value::Object(refusal)) => {
                        refusal.retain(|key, _| key == "code");
                    }
                    (key, _) if WRITTEN.contains(&key) => {}
                    (_, field) => simplify(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Computes the 64-bit FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
