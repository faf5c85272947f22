//! Strict parsing of JSON from outside, so that it has one meaning.
//!
//! JSON readers differ about an object with a duplicate key: some take the first value, others the last. What Interlock
//! judges must be what another program acts on, so [`parse`] reports duplicate keys and [`parse_unique`] refuses them.
//! Numbers keep their digits.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON document and its duplicate keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The document; of a duplicate key, it contains the last value.
    pub value: Value,
    /// JSON Pointers to the first few duplicate keys, in order.
    pub duplicates: Vec<String>,
}

impl Parsed {
    /// Returns the first duplicate key at or below `pointer`, for a message.
    #[must_use]
    pub fn duplicate_below(&self, pointer: &str) -> Option<&str> {
        let is_within = |key: &&str| {
            let below = key.strip_prefix(pointer);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        self.duplicates.iter().map(String::as_str).find(is_within)
    }
}

/// Maximum number of duplicate keys that are reported.
const DUPLICATES_MAX: usize = 8;
/// The key under which `serde_json` passes a number as text.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Parses exactly one JSON document and reports its duplicate keys.
///
/// # Errors
/// The text is not JSON, or is nested more than 128 levels deep.
pub fn parse(bytes: &[u8]) -> Result<Parsed, serde_json::Error> {
    // A leading byte-order mark is ignored.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut duplicates = Vec::new();
    let value = read(bytes, OnDuplicate::Name(&mut duplicates))?;
    Ok(Parsed { value, duplicates })
}

/// Parses exactly one JSON document, in which a duplicate key is an error.
///
/// # Errors
/// The text is not JSON, is nested more than 128 levels deep, or contains an object with a duplicate key.
pub fn parse_unique(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read(bytes, OnDuplicate::Refuse)
}

fn read(bytes: &[u8], on_duplicate: OnDuplicate<'_>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut on_duplicate = on_duplicate;
    let value = Part {
        at: &mut String::new(),
        on_duplicate: &mut on_duplicate,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Replaces each escaped surrogate that has no partner by U+FFFD; returns `None` if there is none.
///
/// Programs that store text as UTF-16 write such halves where they truncated a text.
#[must_use]
pub fn with_whole_characters(bytes: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let digits = std::str::from_utf8(digits).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut whole = Vec::with_capacity(bytes.len());
    let (mut at, mut mended) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let taken = match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                mended = true;
                whole.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            Some(_) => 6,
            // The character after a backslash does not start another escape.
            None if *byte == b'\\' => 2,
            None => 1,
        };
        let end = bytes.len().min(at + taken);
        whole.extend_from_slice(bytes.get(at..end).unwrap_or_default());
        at = end;
    }
    mended.then_some(whole)
}

/// How a duplicate key is handled.
enum OnDuplicate<'a> {
    /// Its pointer is recorded here.
    Name(&'a mut Vec<String>),
    /// The document is refused.
    Refuse,
}

/// The part of a document at a pointer.
struct Part<'a, 'd> {
    at: &'a mut String,
    on_duplicate: &'a mut OnDuplicate<'d>,
}

impl<'d> Part<'_, 'd> {
    fn below<T>(&mut self, name: &str, read: impl FnOnce(Part<'_, 'd>) -> T) -> T {
        let length = self.at.len();
        self.at.push('/');
        self.at
            .push_str(&name.replace('~', "~0").replace('/', "~1"));
        let result = read(Part {
            at: self.at,
            on_duplicate: self.on_duplicate,
        });
        self.at.truncate(length);
        result
    }

    /// Handles a duplicate key: records its pointer, or fails.
    fn duplicate<E: Error>(&mut self, key: &str) -> Result<(), E> {
        let pointer = self.below(key, |part| part.at.clone());
        match self.on_duplicate {
            OnDuplicate::Name(known) if known.len() < DUPLICATES_MAX => known.push(pointer),
            OnDuplicate::Name(_) => {}
            OnDuplicate::Refuse => {
                return Err(E::custom(format!("the key `{key}` stands twice")));
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let index = values.len().to_string();
            match self.below(&index, |part| items.next_element_seed(part))? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER_KEY && object.is_empty() {
                let number = number(entries.next_value()?)?;
                if entries.next_key::<IgnoredAny>()?.is_some() {
                    return Err(A::Error::custom("a number has no further fields"));
                }
                return Ok(number);
            }
            let value = self.below(&key, |part| entries.next_value_seed(part))?;
            if object.contains_key(&key) {
                self.duplicate(&key)?;
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

fn number<E: Error>(text: String) -> Result<Value, E> {
    let number: Number = text.parse().map_err(|_| E::custom("not a number"))?;
    Ok(Value::Number(number))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use super::*;

    #[test]
    fn a_document_is_read_as_serde_json_reads_it() {
        let texts = [
            r#"{"a":[1,2.50,-0,1e400,9007199254740993,{"b":null}],"c":"\u0000\ud83d\ude00","d":true}"#,
            "[]",
            "\"x\"",
            "12345678901234567890123",
            r#"{"":{"":{}}}"#,
        ];
        for text in texts {
            let expected: Value = serde_json::from_str(text).unwrap();
            let parsed = parse(text.as_bytes()).unwrap();
            assert_eq!(parsed.value.to_string(), expected.to_string());
            assert_eq!(parsed.value, expected);
            assert!(parsed.duplicates.is_empty());
        }
    }

    #[test]
    fn duplicate_keys_are_named() {
        let text = r#"{"a":1,"tool_input":{"x":[{"b/c":1,"b/c":2}],"x":0},"a":2}"#;
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!(
            parsed.duplicates,
            ["/tool_input/x/0/b~1c", "/tool_input/x", "/a"]
        );
        assert_eq!(
            parsed.duplicate_below("/tool_input"),
            Some("/tool_input/x/0/b~1c")
        );
        assert_eq!(parsed.duplicate_below("/a"), Some("/a"));
        assert_eq!(parsed.duplicate_below("/b"), None);
    }

    #[test]
    fn a_duplicate_key_at_any_depth_is_refused_where_keys_must_be_unique() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
            r#"{"a":1,"b":{"a":1},"a":2}"#,
        ] {
            let error = parse_unique(text.as_bytes()).unwrap_err();
            assert!(error.is_data(), "{text}: {error}");
        }
        let text = r#"{"a":{"a":1},"b":[{"a":2.50},{"a":1e400}]}"#;
        let value = parse_unique(text.as_bytes()).unwrap();
        assert_eq!(
            value.to_string(),
            parse(text.as_bytes()).unwrap().value.to_string()
        );
    }

    #[test]
    fn what_is_not_one_document_is_refused() {
        let deep = "[".repeat(200);
        let texts = [
            "",
            "{",
            "{} {}",
            "{}x",
            "\u{1}",
            "{'a':1}",
            "\"\\ud800\"",
            deep.as_str(),
        ];
        for text in texts {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse(b"\xef\xbb\xbf{}").is_ok());
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        let cases = [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ude00 \uD83D\uDE00""#, Some(r#""\ufffd \uD83D\uDE00""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\\ud83d""#, None),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\u0041\n""#, None),
            (r#""\u""#, None),
            (r"\", None),
        ];
        for (text, expected) in cases {
            let whole = with_whole_characters(text.as_bytes());
            let whole = whole.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert_eq!(whole.as_deref(), expected, "{text}");
        }
    }
}
