//! JSON-RPC messages as they pass through: parsed as far as needed, kept verbatim.
//!
//! A client's message is parsed completely and written again, so that a server gets what was judged. A server's answer keeps its
//! text.

mod read;
mod write;

use std::fmt;

use interlock_core::machine::Object;
use serde_json::{
    Number, Value, json,
    value::{RawValue, to_raw_value},
};

pub use read::{Frame, Malformed, read_client, read_server};

/// Code for text that is not JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// Code for a message that is not a request, or not allowed now.
pub const INVALID_REQUEST: i64 = -32_600;
/// Code for an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// Code for invalid parameters.
pub const INVALID_PARAMS: i64 = -32_602;
/// Code for an internal failure.
pub const INTERNAL_ERROR: i64 = -32_603;
/// Key of an error's data if its server is temporarily unavailable.
pub const AWAY: &str = "interlock.away";

/// The id of a request, unique among the open ones of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number as written.
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
    /// Expects an answer.
    Request(Request),
    /// Expects no answer.
    Notification(Notification),
    /// Answers a request.
    Response(Response),
}

/// A message that expects an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Id of the answer.
    pub id: Id,
    /// Method of the request.
    pub method: String,
    /// Parameters; `None` if the field is missing.
    pub params: Option<Object>,
}

/// A message that expects no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Method of the notification.
    pub method: String,
    /// Parameters; `None` if the field is missing.
    pub params: Option<Object>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Response {
    /// Id of the request; `None` if the request could not be parsed.
    pub id: Option<Id>,
    /// Outcome of the request.
    pub outcome: Outcome,
}

/// The outcome of a request, in the server's own text.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Its result: any JSON value.
    Result(Box<RawValue>),
    /// Its error: an object with `code` and `message`.
    Error(Box<RawValue>),
}

/// A message on a channel, with the request that it belongs to.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The message.
    pub message: Message,
    /// The other side's request in whose stream it travels, on transports with such streams.
    ///
    /// For a response this is the request that it answers, and may be omitted.
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
    /// Returns a text parameter by its name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.as_ref()?.get(name).and_then(Value::as_str)
    }
}

impl Id {
    /// Returns the id as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
        }
    }

    /// Parses an id; returns `None` if it is neither a number nor a text.
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
    /// Creates a result from a value.
    #[must_use]
    pub fn result(value: &Value) -> Self {
        Self::Result(raw(value))
    }

    /// Creates an error from a code and a message.
    #[must_use]
    pub fn error(code: i64, message: &str) -> Self {
        Self::Error(raw(&json!({"code": code, "message": message})))
    }

    /// Creates the error of a server that is temporarily unavailable.
    #[must_use]
    pub fn away(message: &str) -> Self {
        Self::error_with(INTERNAL_ERROR, message, &json!({ AWAY: true }))
    }

    /// Creates an error with additional data.
    #[must_use]
    pub fn error_with(code: i64, message: &str, data: &Value) -> Self {
        Self::Error(raw(
            &json!({"code": code, "message": message, "data": data}),
        ))
    }

    /// Returns the code of an error; `None` for a result, or an error without one.
    #[must_use]
    pub fn error_code(&self) -> Option<i64> {
        let Self::Error(error) = self else {
            return None;
        };
        let error: Value = serde_json::from_str(error.get()).ok()?;
        error.get("code")?.as_i64()
    }

    /// Returns the message of an error; `None` for a result, or an error without one.
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
    /// Creates the answer to a request.
    #[must_use]
    pub fn response(id: Id, outcome: Outcome) -> Self {
        Message::Response(Response {
            id: Some(id),
            outcome,
        })
        .into()
    }

    /// Creates a notification.
    #[must_use]
    pub fn notification(method: &str, params: Option<Object>) -> Self {
        Message::Notification(Notification {
            method: method.to_owned(),
            params,
        })
        .into()
    }

    /// Creates a request.
    #[must_use]
    pub fn request(id: Id, method: &str, params: Option<Object>) -> Self {
        Message::Request(Request {
            id,
            method: method.to_owned(),
            params,
        })
        .into()
    }

    /// Sets the request in whose stream it travels.
    #[must_use]
    pub fn about(mut self, about: Option<Id>) -> Self {
        self.about = about;
        self
    }
}

/// Writes a value as it will be sent.
#[must_use]
pub fn raw(value: &Value) -> Box<RawValue> {
    // A value's keys are texts: serializing it cannot fail.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
