//! JSON-RPC messages as they pass through: read as far as needed, kept verbatim.
//!
//! What a client sends is read whole and written anew, so that a server gets
//! what was judged. What a server answers keeps its text.

use std::fmt;

use interlock_core::machine::Object;
use serde_json::{Number, Value, value::RawValue};

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
pub struct Parcel {
    /// The message.
    pub message: Message,
    /// The request of the other side in whose stream it travels, on transports that have such streams.
    ///
    /// Of a response it is the request it answers, and may be left out.
    pub about: Option<Id>,
    /// Fields beside `jsonrpc`, `id`, `method`, `params`, `result` and `error`.
    pub extra: Object,
}

impl From<Message> for Parcel {
    fn from(message: Message) -> Self {
        Self {
            message,
            about: None,
            extra: Object::new(),
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
