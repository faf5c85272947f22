//! Messages of JSON-RPC, as far as they are needed.

use serde_json::{Value, json};

use crate::text::Position;

/// A message from a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// A request that is to be answered.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification that is not answered.
    Notification { method: String, params: Value },
    /// An answer to us; we do not send requests.
    Response,
    /// Not a valid message; contains its id if it has one.
    Invalid(Value),
}

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestError {
    code: ErrorCode,
    message: String,
}

/// The codes of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    ServerNotInitialized = -32002,
    RequestCancelled = -32800,
}

impl RequestError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Returns the error for a missing or invalid field.
    pub(crate) fn params(field: &str) -> Self {
        Self::new(
            ErrorCode::InvalidParams,
            format!("`{field}` is missing, or not what it should be"),
        )
    }
}

impl From<Value> for Incoming {
    fn from(message: Value) -> Self {
        let Value::Object(mut fields) = message else {
            return Self::Invalid(Value::Null);
        };
        let id = fields.remove("id");
        let params = fields.remove("params").unwrap_or_default();
        match (id, fields.remove("method")) {
            (Some(id), _) if !(id.is_string() || id.is_number()) => Self::Invalid(Value::Null),
            (Some(id), Some(Value::String(method))) => Self::Request { id, method, params },
            (None, Some(Value::String(method))) => Self::Notification { method, params },
            (Some(_), None) if fields.contains_key("result") || fields.contains_key("error") => {
                Self::Response
            }
            (id, _) => Self::Invalid(id.unwrap_or_default()),
        }
    }
}

/// Writes the answer to a request.
pub(crate) fn response(id: &Value, result: Result<Value, RequestError>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => {
            let error = json!({ "code": error.code as i32, "message": error.message });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    }
}

/// Writes a notification.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Value::Object(fields) = &mut message {
        fields.insert("params".to_owned(), params);
    }
    message
}

/// Reads the text at a JSON Pointer.
pub(crate) fn text<'v>(params: &'v Value, pointer: &str) -> Result<&'v str, RequestError> {
    params
        .pointer(pointer)
        .and_then(Value::as_str)
        .ok_or_else(|| RequestError::params(pointer))
}

/// Reads a position at a JSON Pointer.
pub(crate) fn position(params: &Value, pointer: &str) -> Result<Position, RequestError> {
    let count = |field: &str| {
        let number = params.pointer(&format!("{pointer}/{field}"))?.as_u64()?;
        usize::try_from(number).ok()
    };
    count("line")
        .zip(count("character"))
        .map(|(line, character)| Position { line, character })
        .ok_or_else(|| RequestError::params(pointer))
}
