//! The headers of revision 2026-07-28 that repeat what a body says.
//!
//! One table for both sides: what is sent to a server, and what is compared
//! with the body a client sent. Texts that are not plain ASCII travel in base64.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use interlock_core::machine::Object;
use serde_json::{Value, value::RawValue};

use crate::message::Request;

/// Names the revision; in both eras.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Names the method.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Names the tool, prompt, resource or task.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Names the session of the eras before.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Names the last event that a client saw.
pub const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const PARAMETER: &str = "mcp-param-";
const ENCODED: (&str, &str) = ("=?base64?", "?=");
const ANNOTATION: &str = "x-mcp-header";
/// Integers beyond it are not numbers of JavaScript.
const SAFE_INTEGER: u64 = (1 << 53) - 1;

/// How a method's `Mcp-Name` is found in its parameters, and whether it must be sent.
fn name_field(method: &str) -> Option<(&'static str, bool)> {
    match method {
        "tools/call" | "prompts/get" => Some(("name", true)),
        "resources/read" => Some(("uri", true)),
        "resources/subscribe" | "resources/unsubscribe" => Some(("uri", false)),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some(("taskId", false)),
        _ => None,
    }
}

/// A parameter of a tool that travels in a header, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    /// The names from the arguments down to the value.
    path: Vec<String>,
    header: HeaderName,
}

/// The mirrored parameters of tools, as lists that passed told them.
#[derive(Debug, Default)]
pub struct Schemas {
    tools: BTreeMap<String, Vec<Mirrored>>,
}

impl Schemas {
    /// Returns the mirrored parameters of a tool.
    pub fn of(&self, tool: &str) -> &[Mirrored] {
        self.tools.get(tool).map_or(&[], Vec::as_slice)
    }

    /// Learns from a result of `tools/list`; returns the tools whose marks are not valid.
    ///
    /// Reads nothing when no mark is in it and none was known.
    pub fn learn(&mut self, result: &RawValue) -> Vec<(String, String)> {
        if self.tools.is_empty() && !result.get().contains(ANNOTATION) {
            return Vec::new();
        }
        let Ok(list) = serde_json::from_str::<Value>(result.get()) else {
            return Vec::new();
        };
        let mut bad = Vec::new();
        for tool in list
            .get("tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            self.tools.remove(name);
            let Some(schema) = tool.get("inputSchema").and_then(Value::as_object) else {
                continue;
            };
            match mirrored(schema) {
                Ok(found) if found.is_empty() => {}
                Ok(found) => {
                    self.tools.insert(name.to_owned(), found);
                }
                Err(why) => bad.push((name.to_owned(), why)),
            }
        }
        bad
    }
}

/// Finds the marked parameters of a schema.
fn mirrored(schema: &Object) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    let mut marks = 0;
    collect(schema, &mut Vec::new(), &mut found, &mut marks)?;
    let all = count(&Value::Object(schema.clone()), 0);
    if all != marks {
        return Err(format!(
            "`{ANNOTATION}` stands where no chain of `properties` leads"
        ));
    }
    let mut seen = BTreeSet::new();
    for one in &found {
        if !seen.insert(one.header.as_str()) {
            return Err(format!("two parameters have the header `{}`", one.header));
        }
    }
    Ok(found)
}

fn collect(
    schema: &Object,
    path: &mut Vec<String>,
    found: &mut Vec<Mirrored>,
    marks: &mut usize,
) -> Result<(), String> {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Ok(());
    };
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        path.push(name.clone());
        if let Some(mark) = property.get(ANNOTATION) {
            *marks += 1;
            let header = mark
                .as_str()
                .filter(|mark| !mark.is_empty())
                .and_then(|mark| HeaderName::try_from(format!("{PARAMETER}{mark}")).ok())
                .ok_or_else(|| format!("`{name}`: {mark} is not a name of a header"))?;
            if !matches!(
                property.get("type").and_then(Value::as_str),
                Some("string" | "integer" | "boolean")
            ) {
                return Err(format!("`{name}` is not a text, integer or boolean"));
            }
            found.push(Mirrored {
                path: path.clone(),
                header,
            });
        }
        collect(property, path, found, marks)?;
        path.pop();
    }
    Ok(())
}

/// Counts the marks of a schema, wherever they stand; data in it is not a schema.
fn count(schema: &Value, depth: usize) -> usize {
    // Deeper ones cannot come from text: the parser stops at 128.
    if depth > 256 {
        return 0;
    }
    match schema {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match name.as_str() {
                ANNOTATION if !value.is_object() => 1,
                "default" | "const" | "enum" | "examples" => 0,
                _ => count(value, depth + 1),
            })
            .sum(),
        Value::Array(items) => items.iter().map(|item| count(item, depth + 1)).sum(),
        _ => 0,
    }
}

/// Returns the headers a request is sent with.
pub fn of_request(request: &Request, parameters: &[Mirrored]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encode(value)) {
            headers.insert(name, value);
        }
    };
    put(METHOD, &request.method);
    if let Some(name) = name_field(&request.method).and_then(|(field, _)| request.text(field)) {
        put(NAME, name);
    }
    for one in parameters {
        if let Some(value) = argument(request, one).and_then(text_of) {
            put(one.header.clone(), &value);
        }
    }
    headers
}

fn argument<'a>(request: &'a Request, one: &Mirrored) -> Option<&'a Value> {
    let arguments = request.params.as_ref()?.get("arguments")?;
    one.path
        .iter()
        .try_fold(arguments, |value, name| value.get(name))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Compares the headers of a request with its body; the error says what differs.
pub fn verify(
    headers: &HeaderMap,
    request: &Request,
    parameters: &[Mirrored],
) -> Result<(), String> {
    match single(headers, &METHOD)? {
        Some(method) if method == request.method => {}
        Some(method) => {
            return Err(format!(
                "header `Mcp-Method` is `{method}`, the body's method `{}`",
                request.method
            ));
        }
        None => return Err("header `Mcp-Method` is missing".to_owned()),
    }
    if let Some((field, needed)) = name_field(&request.method)
        && let Some(expected) = request.text(field)
    {
        match single(headers, &NAME)? {
            Some(value) => {
                let value = decode(value).ok_or("header `Mcp-Name` is not valid base64")?;
                if value != expected {
                    return Err(format!(
                        "header `Mcp-Name` is `{value}`, the body's `{field}` is `{expected}`"
                    ));
                }
            }
            None if needed => return Err("header `Mcp-Name` is missing".to_owned()),
            None => {}
        }
    }
    parameters
        .iter()
        .try_for_each(|one| verify_parameter(headers, request, one))
}

fn verify_parameter(headers: &HeaderMap, request: &Request, one: &Mirrored) -> Result<(), String> {
    let header = &one.header;
    let value = argument(request, one);
    let expected = value.filter(|value| !value.is_null()).and_then(text_of);
    match (single(headers, header)?, expected) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(format!("header `{header}` is missing")),
        (Some(_), None) => Err(format!("header `{header}` has no value in the body")),
        (Some(sent), Some(expected)) => {
            let sent =
                decode(sent).ok_or_else(|| format!("header `{header}` is not valid base64"))?;
            if sent == expected || same_integer(value, &sent) {
                Ok(())
            } else {
                Err(format!(
                    "header `{header}` is `{sent}`, the body says `{expected}`"
                ))
            }
        }
    }
}

/// Compares as numbers what a body has as a number: `42.0` is `42`.
fn same_integer(value: Option<&Value>, sent: &str) -> bool {
    let Some(Value::Number(number)) = value else {
        return false;
    };
    let read = |text: &str| {
        let whole = text.split_once('.').map_or(text, |(whole, rest)| {
            if rest.bytes().all(|digit| digit == b'0') {
                whole
            } else {
                text
            }
        });
        whole
            .parse::<i64>()
            .ok()
            .filter(|number| number.unsigned_abs() <= SAFE_INTEGER)
    };
    let number = read(&number.to_string());
    number.is_some() && number == read(sent)
}

/// Returns the one value of a header.
pub fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("header `{name}` came twice"));
    }
    value
        .to_str()
        .map(Some)
        .map_err(|_| format!("header `{name}` holds what no header may hold"))
}

fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with(ENCODED.0) && value.ends_with(ENCODED.1));
    if plain {
        value.to_owned()
    } else {
        format!(
            "{}{}{}",
            ENCODED.0,
            BASE64_STANDARD.encode(value),
            ENCODED.1
        )
    }
}

fn decode(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix(ENCODED.0)
        .and_then(|rest| rest.strip_suffix(ENCODED.1));
    match inner {
        Some(inner) => String::from_utf8(BASE64_STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_the_same_however_its_zeros_are_written() {
        for (body, sent, same) in [
            ("42", "42.0", true),
            ("42.0", "42", true),
            ("42.00", "42.0", true),
            ("-42", "-42.0", true),
            ("42.05", "42", false),
            ("42", "42.05", false),
            ("42", "43", false),
            ("42", "42.0x", false),
            ("9007199254740991", "9007199254740991.0", true),
            ("9007199254740992", "9007199254740992.0", false),
            ("\"42\"", "42", false),
        ] {
            let value: Value = serde_json::from_str(body).unwrap();
            assert_eq!(same_integer(Some(&value), sent), same, "{body} {sent}");
        }
        assert!(!same_integer(None, "42"));
    }

    #[test]
    fn a_mark_counts_only_on_a_plain_parameter_with_a_header_of_its_own() {
        let marked = |kind: &str, mark: Value| serde_json::json!({"type": kind, ANNOTATION: mark});
        let text = || marked("string", Value::from("Region"));
        for (properties, found) in [
            (serde_json::json!({}), Ok(0)),
            (serde_json::json!({"a": {"type": "string"}}), Ok(0)),
            (
                serde_json::json!({"a": text(), "b": marked("integer", Value::from("Zone"))}),
                Ok(2),
            ),
            (
                serde_json::json!({"a": {"type": "object", "properties": {"b": text()}}}),
                Ok(1),
            ),
            // What a schema has as data is no mark.
            (
                serde_json::json!({"a": {"type": "object", "default": text()}}),
                Ok(0),
            ),
            (serde_json::json!({"a": true}), Ok(0)),
            (
                serde_json::json!({"a": text(), "b": text()}),
                Err("two parameters"),
            ),
            (
                serde_json::json!({"a": {"type": "array", "items": text()}}),
                Err("no chain"),
            ),
            (
                serde_json::json!({"a": {"anyOf": [text()]}}),
                Err("no chain"),
            ),
            (
                serde_json::json!({"a": marked("number", Value::from("Zone"))}),
                Err("is not a text"),
            ),
            (
                serde_json::json!({"a": marked("string", Value::from(""))}),
                Err("not a name"),
            ),
            (
                serde_json::json!({"a": marked("string", Value::from("a b"))}),
                Err("not a name"),
            ),
            (
                serde_json::json!({"a": marked("string", Value::from(1))}),
                Err("not a name"),
            ),
        ] {
            let schema = serde_json::json!({"type": "object", "properties": properties});
            let read = mirrored(schema.as_object().unwrap());
            match (read, found) {
                (Ok(read), Ok(count)) => assert_eq!(read.len(), count, "{properties}"),
                (Err(why), Err(said)) => assert!(why.contains(said), "{properties}: {why}"),
                (read, _) => unreachable!("{properties}: {:?}", read.map(|read| read.len())),
            }
        }
    }

    #[test]
    fn headers_say_the_same_as_the_body() {
        let schema = serde_json::json!({"properties": {
            "zone": {"type": "string", ANNOTATION: "Zone"},
            "size": {"type": "integer", ANNOTATION: "Size"},
            "all": {"type": "boolean", ANNOTATION: "All"},
        }});
        let parameters = mirrored(schema.as_object().unwrap()).unwrap();
        let params = serde_json::json!({
            "name": "list", "arguments": {"zone": "é", "size": 42, "all": true},
        });
        let request = Request {
            id: crate::message::Id::from(1),
            method: "tools/call".to_owned(),
            params: params.as_object().cloned(),
        };
        let headers = of_request(&request, &parameters);
        assert_eq!(headers.len(), 5, "{headers:?}");
        assert_eq!(verify(&headers, &request, &parameters), Ok(()));
        for one in &parameters {
            for value in [None, Some("other"), Some("=?base64?#?=")] {
                let mut headers = headers.clone();
                headers.remove(&one.header);
                if let Some(value) = value {
                    headers.insert(one.header.clone(), HeaderValue::from_static(value));
                }
                let why = verify(&headers, &request, &parameters).unwrap_err();
                assert!(why.contains(one.header.as_str()), "{value:?}: {why}");
            }
            let mut twice = headers.clone();
            twice.append(one.header.clone(), HeaderValue::from_static("true"));
            let why = verify(&twice, &request, &parameters).unwrap_err();
            assert!(why.ends_with("came twice"), "{why}");
        }
        for name in [METHOD, NAME] {
            let mut headers = headers.clone();
            headers.insert(name.clone(), HeaderValue::from_static("other"));
            assert!(verify(&headers, &request, &parameters).is_err(), "{name}");
            headers.remove(&name);
            assert!(verify(&headers, &request, &parameters).is_err(), "{name}");
        }
        // A header without a value in the body is as wrong as the reverse.
        let mut bare = request.clone();
        bare.params = serde_json::json!({"name": "list"}).as_object().cloned();
        assert!(verify(&headers, &bare, &parameters).is_err());
    }
}
