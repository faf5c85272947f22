//! Parses messages: strictly from a client, leniently from a server.
//!
//! A client's message is judged, so it must be unambiguous: a duplicate key is refused at any depth. A server's answer is not
//! judged.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    fmt,
};

use interlock_core::machine::Object;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    Envelope, INVALID_REQUEST, Id, Message, Notification, Outcome, PARSE_ERROR, Request, Response,
    raw,
};

/// Contents of one text.
#[derive(Debug)]
pub enum Frame {
    /// One message.
    One(Envelope),
    /// Several messages in an array, each parsed separately.
    Batch(Vec<Result<Envelope, Malformed>>),
}

/// A text without a valid message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// JSON-RPC code of the error.
    pub code: i64,
    /// What is wrong with it.
    pub message: String,
    /// The request that was meant, if known.
    pub id: Option<Id>,
}

impl Malformed {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
        }
    }

    fn of(mut self, id: Option<Id>) -> Self {
        self.id = id;
        self
    }

    /// Returns the answer to it.
    #[must_use]
    pub fn answer(&self) -> Envelope {
        Message::Response(Response {
            id: self.id.clone(),
            outcome: Outcome::error(self.code, &self.message),
        })
        .into()
    }
}

/// Parses a client's message strictly.
///
/// # Errors
/// It is not JSON, has a duplicate key, or is not a message.
pub fn read_client(text: &[u8]) -> Result<Frame, Malformed> {
    let value = match interlock_json::parse_unique(text) {
        Ok(value) => value,
        Err(error) => return Err(refused(text, &error)),
    };
    match value {
        Value::Array(several) if several.is_empty() => {
            Err(Malformed::new(INVALID_REQUEST, "the batch is empty"))
        }
        Value::Array(several) => Ok(Frame::Batch(several.into_iter().map(envelope).collect())),
        one => envelope(one).map(Frame::One),
    }
}

/// Describes what is wrong with a text, for the request that was meant, if known.
fn refused(text: &[u8], error: &serde_json::Error) -> Malformed {
    // No value is parsed, so that nothing in one can cause another error.
    let Ok(fields) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else {
        let (code, what) = if error.is_data() {
            (INVALID_REQUEST, "the message is refused")
        } else {
            (PARSE_ERROR, "the message is not JSON")
        };
        return Malformed::new(code, format!("{what}: {error}"));
    };
    let id = fields.get("id").filter(|_| fields.contains_key("method"));
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    Malformed::new(INVALID_REQUEST, format!("the message is refused: {error}"))
        .of(id.and_then(|id: Value| Id::from_value(&id)))
}

fn envelope(value: Value) -> Result<Envelope, Malformed> {
    let Value::Object(mut object) = value else {
        return Err(Malformed::new(
            INVALID_REQUEST,
            "a message is a JSON object",
        ));
    };
    let id = object.shift_remove("id");
    let known = id.as_ref().and_then(Id::from_value);
    let refuse = |what: &str| Malformed::new(INVALID_REQUEST, what).of(known.clone());
    if object.shift_remove("jsonrpc") != Some(Value::from("2.0")) {
        return Err(refuse("`jsonrpc` must be \"2.0\""));
    }
    let (result, error) = (object.shift_remove("result"), object.shift_remove("error"));
    let message = match (object.shift_remove("method"), result, error) {
        (Some(Value::String(method)), None, None) => {
            let params = params(object.shift_remove("params")).map_err(refuse)?;
            match (id, known.clone()) {
                (None, _) => Message::Notification(Notification { method, params }),
                (Some(_), Some(id)) => Message::Request(Request { id, method, params }),
                (Some(_), None) => return Err(refuse("`id` must be a text or a number")),
            }
        }
        (Some(_), None, None) => return Err(refuse("`method` must be a text")),
        (None, Some(result), None) => answer(known.clone(), Outcome::Result(raw(&result)))?,
        (None, None, Some(error)) => answer(known.clone(), Outcome::Error(raw(&error)))?,
        (None, None, None) => return Err(refuse("a message needs `method`, `result` or `error`")),
        _ => {
            return Err(refuse("`method`, `result` and `error` exclude each other"));
        }
    };
    Ok(Envelope {
        message,
        about: None,
    })
}

fn params(value: Option<Value>) -> Result<Option<Object>, &'static str> {
    match value {
        None => Ok(None),
        Some(Value::Object(params)) => Ok(Some(params)),
        Some(_) => Err("`params` must be an object"),
    }
}

fn answer(id: Option<Id>, outcome: Outcome) -> Result<Message, Malformed> {
    // An error about a message that could not be parsed has no id; nobody waits for it.
    if id.is_none() && matches!(outcome, Outcome::Result(_)) {
        return Err(Malformed::new(INVALID_REQUEST, "a result needs an `id`"));
    }
    Ok(Message::Response(Response { id, outcome }))
}

/// Parses a server's message; a result keeps its text.
///
/// # Errors
/// It is not a message.
pub fn read_server(text: &[u8]) -> Result<Vec<Envelope>, Malformed> {
    let stray = |error: serde_json::Error| Malformed::new(PARSE_ERROR, error.to_string());
    if text.trim_ascii_start().starts_with(b"[") {
        let several: Vec<RawMessage<'_>> = serde_json::from_slice(text).map_err(stray)?;
        return several.into_iter().map(RawMessage::envelope).collect();
    }
    let raw: RawMessage<'_> = serde_json::from_slice(text).map_err(stray)?;
    Ok(vec![raw.envelope()?])
}

/// A server's message, parsed only as far as needed.
#[derive(Default)]
struct RawMessage<'a> {
    version: bool,
    id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> RawMessage<'a> {
    fn envelope(self) -> Result<Envelope, Malformed> {
        let stray = |what: &str| Malformed::new(INVALID_REQUEST, what);
        if !self.version {
            return Err(stray("no message of JSON-RPC 2.0"));
        }
        let id = self.id.as_ref().and_then(Id::from_value);
        let message = match (self.method, self.result, self.error) {
            (Some(method), None, None) => {
                let params = match self.params {
                    Some(Value::Object(params)) => Some(params),
                    None | Some(Value::Null) => None,
                    Some(_) => return Err(stray("`params` is not an object")),
                };
                match id {
                    Some(id) => Message::Request(Request { id, method, params }),
                    None => Message::Notification(Notification { method, params }),
                }
            }
            (None, Some(result), None) => Message::Response(Response {
                id,
                outcome: Outcome::Result(result.to_owned()),
            }),
            // Some servers write both, one of them as null.
            (None, None, Some(error)) => Message::Response(Response {
                id,
                outcome: Outcome::Error(error.to_owned()),
            }),
            (None, Some(result), Some(error)) if error.get() == "null" => {
                Message::Response(Response {
                    id,
                    outcome: Outcome::Result(result.to_owned()),
                })
            }
            (None, Some(_), Some(error)) => Message::Response(Response {
                id,
                outcome: Outcome::Error(error.to_owned()),
            }),
            _ => return Err(stray("neither a request nor an answer")),
        };
        Ok(Envelope {
            message,
            about: None,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMessage<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = RawMessage<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut raw = RawMessage::default();
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "jsonrpc" => raw.version = map.next_value::<Value>()? == "2.0",
                "id" => raw.id = Some(map.next_value()?),
                "method" => raw.method = Some(map.next_value()?),
                "params" => raw.params = Some(map.next_value()?),
                "result" => raw.result = Some(map.next_value()?),
                "error" => raw.error = Some(map.next_value()?),
                // It has no meaning here, but might have one for the recipient.
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            // The request that it answers must be unambiguous.
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("`{key}` stands twice")));
            }
        }
        Ok(raw)
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a failed test panics"
    )]

    use serde_json::json;

    use super::*;

    fn one(text: &str) -> Envelope {
        match read_client(text.as_bytes()) {
            Ok(Frame::One(envelope)) => envelope,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn written(envelope: &Envelope) -> String {
        let mut line = Vec::new();
        envelope.write(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn what_is_read_is_written_alike() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"z":1.0,"a":[1e+400,-0.0,"\u0000é"]}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/a","params":{"_meta":{"k":null}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"m","data":{"x":1.50}}}"#,
        ] {
            assert_eq!(written(&one(text)), text);
            let [read] = <[Envelope; 1]>::try_from(read_server(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(written(&read), text, "from a server");
        }
    }

    #[test]
    fn what_has_no_place_in_a_message_is_dropped() {
        for (text, kept) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","arguments":{"deep":[{}]}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"b":1},"note":"n"}"#,
                r#"{"jsonrpc":"2.0","id":7,"result":{"b":1}}"#,
            ),
        ] {
            assert_eq!(written(&one(text)), kept);
            let [read] = <[Envelope; 1]>::try_from(read_server(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(written(&read), kept, "from a server");
        }
    }

    #[test]
    fn a_result_keeps_its_text_on_one_line() {
        let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n  \"a\": 1.0,\r\n  \"a\": 2\n}}";
        let read = read_server(text.as_bytes()).unwrap();
        assert_eq!(
            written(&read[0]),
            r#"{"jsonrpc":"2.0","id":1,"result":{   "a": 1.0,    "a": 2 }}"#
        );
    }

    #[test]
    fn what_no_client_may_send_is_refused_with_its_code() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{}{}}}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for (text, code, id) in [
            ("", PARSE_ERROR, None),
            ("{", PARSE_ERROR, None),
            ("nonsense", PARSE_ERROR, None),
            (deep.as_str(), INVALID_REQUEST, Some(1)),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a"} x"#,
                PARSE_ERROR,
                None,
            ),
            ("7", INVALID_REQUEST, None),
            ("[]", INVALID_REQUEST, None),
            (r#"{"id":3,"method":"a"}"#, INVALID_REQUEST, Some(3)),
            (
                r#"{"jsonrpc":"1.0","id":3,"method":"a"}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
                INVALID_REQUEST,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#,
                INVALID_REQUEST,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":7}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"a","params":[1]}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"a","result":{}}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (r#"{"jsonrpc":"2.0","id":3}"#, INVALID_REQUEST, Some(3)),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{"x":1,"x":2}}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"a","params":{"l":[{"x":1,"\u0078":2}]}}"#,
                INVALID_REQUEST,
                Some(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"a","method":"b"}"#,
                INVALID_REQUEST,
                Some(3),
            ),
        ] {
            let refused = read_client(text.as_bytes()).expect_err(text);
            assert_eq!(
                (refused.code, refused.id.clone()),
                (code, id.map(Id::from)),
                "{text}"
            );
            assert!(!refused.message.is_empty());
        }
        assert_eq!(
            read_client(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}")
                .unwrap_err()
                .code,
            PARSE_ERROR
        );
    }

    #[test]
    fn a_batch_is_read_message_by_message() {
        let text = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},7,{"jsonrpc":"2.0","method":"n"}]"#;
        let Ok(Frame::Batch(read)) = read_client(text.as_bytes()) else {
            panic!("no batch");
        };
        let kinds: Vec<bool> = read.iter().map(Result::is_ok).collect();
        assert_eq!(kinds, [true, false, true]);
        let answered =
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
        assert_eq!(read_server(answered.as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn what_a_server_prints_beside_messages_is_stray() {
        for text in [
            "listening",
            r#"{"level":"info","msg":"up"}"#,
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#,
            "42",
            "",
        ] {
            assert!(read_server(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_result_beside_a_null_error_is_a_result() {
        let read =
            read_server(br#"{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}"#).unwrap();
        let Message::Response(response) = &read[0].message else {
            panic!("{read:?}");
        };
        assert!(
            matches!(&response.outcome, Outcome::Result(result) if result.get() == r#"{"a":1}"#)
        );
    }

    #[test]
    fn an_answer_to_what_could_not_be_read_has_no_id() {
        let refused = read_client(b"{").unwrap_err();
        let answer: Value = serde_json::from_str(&written(&refused.answer())).unwrap();
        assert_eq!(answer["id"], json!(null));
        assert_eq!(answer["error"]["code"], PARSE_ERROR);
    }
}
