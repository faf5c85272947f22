//! What names exactly one set of arguments, made alike by hook and server.

use interlock_core::{machine::Object, names::Digest};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of a control call's arguments, whatever order their keys stand in.
#[must_use]
pub fn arguments_digest(arguments: &Object) -> Digest {
    let mut text = String::new();
    write_object(arguments, &mut text);
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        for half in [byte >> 4, byte & 0xf] {
            hex.extend(char::from_digit(u32::from(half), 16));
        }
    }
    Digest::new(hex)
}

// Recursion is bounded: no message deeper than 128 is ever parsed.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => write_object(object, out),
        simple => out.push_str(&simple.to_string()),
    }
}

fn write_object(object: &Object, out: &mut String) {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    out.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(&Value::String(key.clone()), out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}
