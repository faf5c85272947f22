//! Answers to requests that reach no session.

use axum::{
    body::Body,
    http::{
        HeaderName, HeaderValue, Response, StatusCode,
        header::{ALLOW, CONTENT_TYPE},
    },
};
use serde_json::Value;

use crate::message::{
    Envelope, INVALID_REQUEST, Id, Malformed, Message, Outcome, Response as Answer,
};

/// JSON-RPC code of refusals without a code of their own.
pub(crate) const REFUSED: i64 = -32_000;
/// Code for headers that contradict the body.
pub(crate) const HEADER_MISMATCH: i64 = -32_020;
/// Code for a client that lacks a required capability.
pub(crate) const MISSING_CAPABILITY: i64 = -32_021;
/// Code for an unsupported revision.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// A refused request.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    envelope: Box<Envelope>,
    header: Option<(HeaderName, HeaderValue)>,
    /// Whether the answer must say where to get a token.
    pub(crate) challenge: bool,
}

impl Refused {
    /// Creates a refusal with a status and a JSON-RPC error.
    pub(crate) fn new(status: StatusCode, id: Option<Id>, outcome: Outcome) -> Self {
        Self {
            status,
            envelope: Box::new(Message::Response(Answer { id, outcome }).into()),
            header: None,
            challenge: false,
        }
    }

    /// Creates a refusal of a request that was not parsed.
    pub(crate) fn plain(status: StatusCode, what: &str) -> Self {
        Self::new(status, None, Outcome::error(REFUSED, what))
    }

    /// Creates a refusal because of a missing or wrong token.
    pub(crate) fn unauthorized(what: &str) -> Self {
        Self {
            challenge: true,
            ..Self::plain(StatusCode::UNAUTHORIZED, what)
        }
    }

    /// Creates a refusal of a message that is not a valid request.
    pub(crate) fn invalid(id: Option<Id>, what: &str) -> Self {
        let outcome = Outcome::error(INVALID_REQUEST, what);
        Self::new(StatusCode::BAD_REQUEST, id, outcome)
    }

    /// Creates a refusal because the headers contradict the body.
    pub(crate) fn mismatch(id: Option<Id>, what: &str) -> Self {
        let outcome = Outcome::error(HEADER_MISMATCH, what);
        Self::new(StatusCode::BAD_REQUEST, id, outcome)
    }

    /// Creates a refusal of a revision, with the supported ones.
    pub(crate) fn version(id: Option<Id>, requested: &str, supported: &[&str]) -> Self {
        let what = format!("revision `{requested}` is not spoken here");
        let data = serde_json::json!({"supported": supported, "requested": requested});
        let outcome = Outcome::error_with(UNSUPPORTED_VERSION, &what, &data);
        Self::new(StatusCode::BAD_REQUEST, id, outcome)
    }

    /// Creates a refusal of an HTTP method, with the allowed ones.
    pub(crate) fn method(allowed: &'static str) -> Self {
        let what = format!("only {allowed} are answered here");
        Self {
            header: Some((ALLOW, HeaderValue::from_static(allowed))),
            ..Self::plain(StatusCode::METHOD_NOT_ALLOWED, &what)
        }
    }

    /// Converts the refusal to an HTTP response.
    pub(crate) fn answer(self) -> Response<Body> {
        let mut response = json(self.status, &self.envelope);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        let outcome = Outcome::error(malformed.code, &malformed.message);
        Self::new(StatusCode::BAD_REQUEST, malformed.id, outcome)
    }
}

/// Creates a response with one message.
pub(crate) fn json(status: StatusCode, envelope: &Envelope) -> Response<Body> {
    let mut text = Vec::new();
    envelope.write(&mut text);
    typed(status, "application/json", text)
}

/// Creates a response with a JSON value.
pub(crate) fn json_value(status: StatusCode, value: &Value) -> Response<Body> {
    typed(status, "application/json", value.to_string())
}

/// Creates a response with a text of a content type.
pub(crate) fn typed(
    status: StatusCode,
    kind: &'static str,
    text: impl Into<Body>,
) -> Response<Body> {
    let mut response = empty(status);
    *response.body_mut() = text.into();
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Creates a response with only a status.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
