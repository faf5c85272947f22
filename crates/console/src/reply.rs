//! Responses: JSON without characters that steer terminals or reorder text, and problems.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use interlock_core::visible::visible_lines;
use interlock_store::StoreError;
use serde::Serialize;
use serde_json::{Value, json};

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// A stable word.
    pub(crate) code: String,
    /// One sentence for a person.
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn forbidden(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown", message)
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "input", message)
    }

    pub(crate) fn moved(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "moved", message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::MissingRun { .. } | StoreError::BadRunId { .. } => Self::unknown(message),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", message),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = json_of(body);
        *response.status_mut() = self.status;
        response
    }
}

/// Rewrites the router's own errors, about addresses and methods, as responses of the API.
pub(crate) fn worded(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !status.is_client_error() || kind.is_some_and(|kind| kind == "application/json") {
        return response;
    }
    let problem = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            Problem::new(status, "method", "nothing is done here by that method")
        }
        _ => Problem::new(
            status,
            "input",
            "the address has a part that is no such thing",
        ),
    };
    let mut worded = problem.into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        worded.headers_mut().insert(header::ALLOW, allow.clone());
    }
    worded
}

/// The result of a handler.
pub(crate) type Answered = Result<Response, Problem>;

/// Responds with a value as JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub(crate) fn json_reply(value: &impl Serialize) -> Answered {
    let value = serde_json::to_value(value).map_err(|error| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "json",
            format!("the answer cannot be written: {error}"),
        )
    })?;
    Ok(json_of(value))
}

fn json_of(mut value: Value) -> Response {
    make_visible(&mut value);
    let mut response = Response::new(Body::from(value.to_string()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Replaces the characters in every text that [`steer`](interlock_core::visible::steers) by their codes.
///
/// All texts that an agent may have written reach the page this way only; keys are texts, too.
pub(crate) fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.contains(is_hidden) {
                *text = visible_lines(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(fields) => {
            if fields.keys().any(|key| key.contains(is_hidden)) {
                for (key, value) in std::mem::take(fields) {
                    let mut key = visible_lines(&key);
                    // Two keys that become equal are kept apart.
                    while fields.contains_key(&key) {
                        key.push('\u{2032}');
                    }
                    fields.insert(key, value);
                }
            }
            fields.values_mut().for_each(make_visible);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_hidden(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && interlock_core::visible::steers(letter)
}
