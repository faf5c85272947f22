//! Messages on a stream: a header with the length, then JSON.

use std::io::{self, BufRead, Read as _, Write};

use serde_json::Value;

/// The maximum number of bytes of a message.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The maximum number of bytes of a header line.
const HEADER_BYTES_MAX: u64 = 8 * 1024;

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum FramingError {
    /// The stream broke, or ended within a message.
    #[error("the client's messages cannot be read: {0}")]
    Stream(#[from] io::Error),
    /// What was received is not the header of a message.
    #[error("this is not a message of the language server protocol: {0}")]
    Header(String),
}

/// Reads the next message; `None` if the stream has ended. A body that is not JSON is [`Value::Null`].
///
/// # Errors
/// The stream cannot be followed any further.
pub fn read_message(from: &mut impl BufRead) -> Result<Option<Value>, FramingError> {
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        let read = from
            .by_ref()
            .take(HEADER_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if read == 0 && is_first {
            return Ok(None);
        }
        is_first = false;
        if line.last() != Some(&b'\n') {
            return Err(FramingError::Header("a line does not end".to_owned()));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(FramingError::Header(format!("`{line}` has no colon")));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let Some(length) = length.filter(|length| *length <= MESSAGE_BYTES_MAX) else {
        let why = format!("a `Content-Length` up to {MESSAGE_BYTES_MAX} is missing");
        return Err(FramingError::Header(why));
    };
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// Writes a message.
///
/// # Errors
/// The stream cannot be written to.
pub fn write_message(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use serde_json::{Value, json};

    use super::{read_message, write_message};

    #[test]
    fn what_was_written_is_read() {
        let mut stream = Vec::new();
        let messages = [json!({ "id": 1, "text": "\u{1f600}\r\n" }), json!([])];
        for message in &messages {
            write_message(&mut stream, message).unwrap();
        }
        let mut from = stream.as_slice();
        for message in messages {
            assert_eq!(read_message(&mut from).unwrap(), Some(message));
        }
        assert_eq!(read_message(&mut from).unwrap(), None);
    }

    #[test]
    fn other_headers_are_passed_over_and_broken_bodies_do_not_end_the_stream() {
        let stream = "content-type: x; charset=utf-8\r\ncontent-length: 2\r\n\r\n{[Content-Length: 1\r\n\r\n1";
        let mut from = stream.as_bytes();
        assert_eq!(read_message(&mut from).unwrap(), Some(Value::Null));
        assert_eq!(read_message(&mut from).unwrap(), Some(json!(1)));
    }

    #[test]
    fn what_cannot_be_followed_is_an_error() {
        for stream in [
            "GET / HTTP/1.1\r\n\r\n",
            "Content-Length: 9\r\n\r\n{}",
            "Content-Length: 99999999999999\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 2",
            "\r\n\r\n",
        ] {
            assert!(read_message(&mut stream.as_bytes()).is_err(), "{stream:?}");
        }
    }
}
