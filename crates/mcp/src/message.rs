//! JSON-RPC messages as they pass through: read as far as needed, kept verbatim.
//!
//! What a client sends is read whole and written anew, so that a server gets
//! what was judged. What a server answers keeps its text.

mod read;
mod write;

use std::fmt;

use interlock_core::machine::Object;
use serde_json::{
    Number, Value, json,
    value::{RawValue, to_raw_value},
};

pub use read::{Frame, Malformed, read_client, read_server};

/// What cannot be read as JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// What is not a request, or not now.
pub const INVALID_REQUEST: i64 = -32_600;
/// What nobody here answers.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// Parameters that do not fit.
pub const INVALID_PARAMS: i64 = -32_602;
/// A failure behind the one who is asked.
pub const INTERNAL_ERROR: i64 = -32_603;
/// What the data of an error has where its server is not there now, and may be again.
pub const AWAY: &str = "interlock.away";

/// The id of a request: unique among those under way on one link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number, as it was written.
    Number(Number),
    /// A text.
    Text(String),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// One message, in either direction.
#[derive(Debug, Clone)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Answers a request.
    Response(Response),
}

/// A message that wants an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the answer will be known by.
    pub id: Id,
    /// What is asked for.
    pub method: String,
    /// Its parameters; `None`: the field was not there.
    pub params: Option<Object>,
}

/// A message that wants no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// What is told.
    pub method: String,
    /// Its parameters; `None`: the field was not there.
    pub params: Option<Object>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Response {
    /// The id of the request; `None`: the request could not be read.
    pub id: Option<Id>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request, with the text the server wrote.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Its result: any JSON value.
    Result(Box<RawValue>),
    /// Its error: an object with `code` and `message`.
    Error(Box<RawValue>),
}

/// A message on a link, and the request it belongs to.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The message.
    pub message: Message,
    /// The request of the other side in whose stream it travels, on transports that have such streams.
    ///
    /// For a response this is the request that it answers, and may be left out.
    pub about: Option<Id>,
}

impl From<Message> for Envelope {
    fn from(message: Message) -> Self {
        Self {
            message,
            about: None,
        }
    }
}

impl Request {
    /// Returns a text of the parameters by its name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.as_ref()?.get(name).and_then(Value::as_str)
    }
}

impl Id {
    /// Returns the id as a value of JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
        }
    }

    /// Reads an id; `None`: it is neither a number nor a text.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::Number(number.clone())),
            Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl Outcome {
    /// Makes a result of a value.
    #[must_use]
    pub fn result(value: &Value) -> Self {
        Self::Result(raw(value))
    }

    /// Makes an error of a code and a message.
    #[must_use]
    pub fn error(code: i64, message: &str) -> Self {
        Self::Error(raw(&json!({"code": code, "message": message})))
    }

    /// Makes the error of a server that is not there now, and may be again.
    #[must_use]
    pub fn away(message: &str) -> Self {
        Self::error_with(INTERNAL_ERROR, message, &json!({ AWAY: true }))
    }

    /// Makes an error with more about it.
    #[must_use]
    pub fn error_with(code: i64, message: &str, data: &Value) -> Self {
        Self::Error(raw(
            &json!({"code": code, "message": message, "data": data}),
        ))
    }

    /// Returns the code of an error; `None`: a result, or an error without one.
    #[must_use]
    pub fn error_code(&self) -> Option<i64> {
        let Self::Error(error) = self else {
            return None;
        };
        let error: Value = serde_json::from_str(error.get()).ok()?;
        error.get("code")?.as_i64()
    }

    /// Returns the sentence of an error; `None`: a result, or an error without one.
    #[must_use]
    pub fn error_message(&self) -> Option<String> {
        let Self::Error(error) = self else {
            return None;
        };
        let error: Value = serde_json::from_str(error.get()).ok()?;
        error.get("message")?.as_str().map(str::to_owned)
    }
}

impl Envelope {
    /// Makes the answer to a request.
    #[must_use]
    pub fn response(id: Id, outcome: Outcome) -> Self {
        Message::Response(Response {
            id: Some(id),
            outcome,
        })
        .into()
    }

    /// Makes a notification.
    #[must_use]
    pub fn notification(method: &str, params: Option<Object>) -> Self {
        Message::Notification(Notification {
            method: method.to_owned(),
            params,
        })
        .into()
    }

    /// Makes a request.
    #[must_use]
    pub fn request(id: Id, method: &str, params: Option<Object>) -> Self {
        Message::Request(Request {
            id,
            method: method.to_owned(),
            params,
        })
        .into()
    }

    /// Says in whose stream it travels.
    #[must_use]
    pub fn about(mut self, about: Option<Id>) -> Self {
        self.about = about;
        self
    }
}

/// Writes a value as it will be sent.
#[must_use]
pub fn raw(value: &Value) -> Box<RawValue> {
    // A value's keys are texts: writing it cannot fail.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
