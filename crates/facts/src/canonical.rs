//! The canonical text of a value, and the digest of a call.

mod rfc8785;

use interlock_core::names::Digest;
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

pub use rfc8785::{Inexact, arguments_digest, canonical_text, exact};

/// Largest integer up to which a 64-bit float represents every integer exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Returns the SHA-256 of a tool's name and arguments, whatever the order of their keys.
#[must_use]
pub fn digest(tool: &str, input: &Value) -> Digest {
    let mut text = String::from("{\"input\":");
    write(input, &mut text);
    text.push_str(",\"tool\":");
    write_text(tool, &mut text);
    text.push('}');
    sha256(&text)
}

/// Returns the SHA-256 of a control call's arguments.
///
/// A hook and the server behind it see the same arguments under different tool names.
#[must_use]
pub fn control_digest(arguments: &Value) -> Digest {
    sha256(&canonical(arguments))
}

fn sha256(text: &str) -> Digest {
    Digest::new(hex(&Sha256::digest(text.as_bytes())))
}

/// Formats bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        for half in [byte >> 4, byte & 0xf] {
            hex.extend(char::from_digit(u32::from(half), 16));
        }
    }
    hex
}

/// Returns the canonical text of `value`: keys in the order of RFC 8785, no blanks.
///
/// Equal numbers are written identically, unless a 64-bit float cannot represent them.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    write_with(value, out, &mut |number, out| {
        out.push_str(&plain_number(number));
    });
}

// Recursion is bounded: no document deeper than 128 is ever parsed.
fn write_with(value: &Value, out: &mut String, numbers: &mut dyn FnMut(&Number, &mut String)) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => numbers(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_with(item, out, numbers);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_with(value, out, numbers);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes `1`, `1.0` and `1e0` identically; a number that a float cannot represent stays unchanged.
fn plain_number(number: &Number) -> String {
    if let Some(whole) = number.as_i64() {
        return whole.to_string();
    }
    if let Some(whole) = number.as_u64() {
        return whole.to_string();
    }
    let text = number.to_string();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    match number.as_f64() {
        Some(value) if value.is_finite() && value.fract() == 0.0 && value.abs() <= EXACT_MAX => {
            format!("{:.0}", value + 0.0)
        }
        Some(value) if value.is_finite() && digits <= 17 => format!("{value:e}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    fn text(json: &str) -> String {
        canonical(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn one_value_has_one_text() {
        let alike: [&[&str]; 4] = [
            &[
                r#"{"a":1,"b":[true,null]}"#,
                "{ \"b\" : [true, null], \"a\" : 1.0 }",
            ],
            &["\"\\u0041\\n\"", "\"A\\u000a\""],
            &["[100, -0, 0.5]", "[1e2, 0, 5e-1]"],
            &["1.0e3", "1000"],
        ];
        for texts in alike {
            let first = text(texts.first().unwrap());
            assert!(texts.iter().all(|other| text(other) == first), "{first}");
        }
    }

    #[test]
    fn different_values_have_different_texts() {
        let texts = [
            "1",
            "\"1\"",
            "1.5",
            "9007199254740993",
            "9007199254740992",
            "[1]",
            "null",
            "\"\"",
            "12345678901234567890.5",
            "12345678901234567890.6",
        ]
        .map(text);
        for (index, one) in texts.iter().enumerate() {
            assert!(
                texts.iter().skip(index + 1).all(|other| other != one),
                "{one}"
            );
        }
    }

    /// The example of RFC 8785, section 3.2.3.
    #[test]
    fn keys_are_ordered_by_their_utf_16_units() {
        let sorted = text(
            r#"{"\u20ac":"Euro","\r":"CR","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Smile","\u0080":"Ctl","\u00f6":"O"}"#,
        );
        let order = ["CR", "One", "Ctl", "O", "Euro", "Smile", "Dalet"];
        let places: Vec<usize> = order
            .iter()
            .map(|word| sorted.find(&format!("\"{word}\"")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{sorted}");
    }

    #[test]
    fn a_digest_is_of_tool_and_arguments() {
        let input = serde_json::json!({"command": "ls"});
        assert_eq!(
            digest("Bash", &input).as_str(),
            // printf '{"input":{"command":"ls"},"tool":"Bash"}' | sha256sum
            "78932af53c2f206888f04ea464514a5a38c95d186d8e07d5ec2ce8572f52b3cb"
        );
        assert_ne!(digest("Bash", &input), digest("bash", &input));
    }

    #[test]
    fn a_control_digest_is_of_the_arguments_alone() {
        let digest = |json: &str| control_digest(&serde_json::from_str(json).unwrap());
        let sent = digest(r#"{"event":"DONE","data":{"a":1}}"#);
        assert_eq!(sent, digest(r#"{ "data": {"a": 1.0}, "event": "DONE" }"#));
        assert_ne!(sent, digest(r#"{"event":"DONE","data":{"a":2}}"#));
        assert_ne!(sent, digest(r#"{"event":"DONE"}"#));
    }
}
