//! Writes messages, one line each.

use serde::Serialize;
use serde_json::Value;

use super::{Envelope, Id, Message, Outcome};

impl Envelope {
    /// Writes the message on one line, without a line break.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        match &self.message {
            Message::Request(request) => {
                field(out, "id", &request.id.to_value());
                field(out, "method", &request.method);
                if let Some(params) = &request.params {
                    field(out, "params", params);
                }
            }
            Message::Notification(notification) => {
                field(out, "method", &notification.method);
                if let Some(params) = &notification.params {
                    field(out, "params", params);
                }
            }
            Message::Response(response) => {
                let id = response.id.as_ref().map_or(Value::Null, Id::to_value);
                field(out, "id", &id);
                let (name, text) = match &response.outcome {
                    Outcome::Result(result) => ("result", result.get()),
                    Outcome::Error(error) => ("error", error.get()),
                };
                key(out, name);
                let start = out.len();
                out.extend_from_slice(text.as_bytes());
                on_one_line(out, start);
            }
        }
        out.push(b'}');
    }
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    put(out, name);
    out.push(b':');
}

fn field(out: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) {
    key(out, name);
    put(out, value);
}

fn put(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    // Memory accepts everything, and keys are texts; a truncated message would be worse than null.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Replaces line breaks in JSON text, where they are only white space.
fn on_one_line(out: &mut [u8], start: usize) {
    let Some(mut rest) = out.get_mut(start..) else {
        return;
    };
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, behind) = rest.split_at_mut(at + 1);
        if let Some(end) = before.last_mut() {
            *end = b' ';
        }
        rest = behind;
    }
}
