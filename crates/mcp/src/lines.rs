//! Messages as lines, the format of both sides of stdio.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::message::Envelope;

/// Number of bytes that a buffer keeps after a message.
const KEPT_BYTES: usize = 1_048_576;
/// Number of bytes at either end of an overlong message that are searched for its id.
const ENDS_BYTES: usize = 4_096;

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineRead {
    /// The line is in the buffer, without its line break.
    Whole,
    /// The line was too long; the buffer contains both its ends.
    TooLong,
    /// The other side is gone.
    End,
}

/// Reads a line of at most `bytes_max` into `buffer`; the rest of a longer one is skipped.
pub async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    buffer: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<LineRead> {
    empty(buffer);
    let mut tail: Option<Vec<u8>> = None;
    loop {
        let bytes = reader.fill_buf().await?;
        if bytes.is_empty() {
            // The last line need not end.
            let nothing = buffer.is_empty() && tail.is_none();
            return Ok(if nothing {
                LineRead::End
            } else {
                whole(buffer, tail)
            });
        }
        let end = memchr::memchr(b'\n', bytes);
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        match &mut tail {
            None if buffer.len() + part.len() <= bytes_max => buffer.extend_from_slice(part),
            None => {
                buffer.truncate(ENDS_BYTES);
                tail = Some(last(part).to_vec());
            }
            Some(tail) => {
                tail.extend_from_slice(last(part));
                let over = tail.len().saturating_sub(ENDS_BYTES);
                tail.drain(..over);
            }
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(whole(buffer, tail));
        }
    }
}

fn last(part: &[u8]) -> &[u8] {
    let from = part.len().saturating_sub(ENDS_BYTES);
    part.get(from..).unwrap_or_default()
}

fn whole(buffer: &mut Vec<u8>, tail: Option<Vec<u8>>) -> LineRead {
    match tail {
        None => LineRead::Whole,
        Some(tail) => {
            buffer.extend_from_slice(&tail);
            LineRead::TooLong
        }
    }
}

/// Empties a buffer and frees the memory of a rare long message.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEPT_BYTES);
}

/// Writes a message as a line.
pub async fn write_line(
    writer: &mut (impl AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    envelope: &Envelope,
) -> io::Result<()> {
    empty(buffer);
    envelope.write(buffer);
    buffer.push(b'\n');
    writer.write_all(buffer).await
}

/// Writes messages as one line that contains them all.
pub async fn write_batch(
    writer: &mut (impl AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    envelopes: &[Envelope],
) -> io::Result<()> {
    empty(buffer);
    for envelope in envelopes {
        buffer.push(if buffer.is_empty() { b'[' } else { b',' });
        envelope.write(buffer);
    }
    buffer.extend_from_slice(b"]\n");
    writer.write_all(buffer).await
}

/// Finds the number that an answer refers to, in the ends of an overlong message.
pub fn answered_number(ends: &[u8]) -> Option<u64> {
    // Some implementations put blanks between the tokens, which have no meaning here.
    let text: String = String::from_utf8_lossy(ends)
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .collect();
    // Implementations write it first or last; in between it could be part of the result.
    let first = text
        .strip_prefix('{')
        .map(|rest| rest.trim_start_matches(r#""jsonrpc":"2.0","#));
    let first = first.and_then(|rest| rest.strip_prefix(r#""id":"#));
    let last = text.strip_suffix('}').and_then(|rest| {
        let rest = rest.strip_suffix(r#","jsonrpc":"2.0""#).unwrap_or(rest);
        rest.rsplit_once(r#","id":"#).map(|(_, id)| id)
    });
    let leading = |text: &str| -> Option<u64> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    first
        .and_then(leading)
        .or_else(|| last.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed test panics"
    )]

    use super::*;

    async fn lines(text: &[u8], bytes_max: usize) -> Vec<(LineRead, String)> {
        // A small buffer splits lines at awkward places.
        let mut reader = tokio::io::BufReader::with_capacity(3, text);
        let (mut buffer, mut read) = (Vec::new(), Vec::new());
        loop {
            match read_line(&mut reader, &mut buffer, bytes_max)
                .await
                .unwrap()
            {
                LineRead::End => return read,
                line => read.push((line, String::from_utf8(buffer.clone()).unwrap())),
            }
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn lines_are_read_up_to_their_bound() {
        let read = lines(b"one\n\n12345678\n123456789\ntwo\nlast", 8).await;
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts[..3], ["one", "", "12345678"]);
        assert_eq!(read[3].0, LineRead::TooLong);
        assert_eq!(texts[4..], ["two", "last"]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn of_a_line_too_long_both_ends_are_kept_and_no_more() {
        let long = format!("begin{}end\nnext", "x".repeat(3 * ENDS_BYTES));
        let read = lines(long.as_bytes(), 8).await;
        let (line, text) = &read[0];
        assert_eq!(*line, LineRead::TooLong);
        assert!(text.starts_with("begin"), "{text:.20}");
        assert!(text.ends_with("xxend"));
        assert!(
            (ENDS_BYTES..=ENDS_BYTES + 8).contains(&text.len()),
            "{}",
            text.len()
        );
        assert_eq!(read[1], (LineRead::Whole, "next".to_owned()));
    }

    #[test]
    fn the_number_of_a_long_answer_is_found_at_its_ends() {
        for (text, number) in [
            (
                r#"{"jsonrpc":"2.0","id":12,"result":{"a":"..."}}"#,
                Some(12),
            ),
            (
                r#"{"id":12,"jsonrpc":"2.0","result":{"a":"...","id":13}}"#,
                Some(12),
            ),
            (
                r#"{"result":{"id":7,"a":"..."},"jsonrpc":"2.0","id":12}"#,
                Some(12),
            ),
            (
                r#"{"result":{"id":7,"a":"..."},"id":12,"jsonrpc":"2.0"}"#,
                Some(12),
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 12, "result": {"a": "..."}}"#,
                Some(12),
            ),
            (
                r#"{ "result" : {"id": 7, "a": "..."}, "id" : 12, "jsonrpc": "2.0" } "#,
                Some(12),
            ),
            (r#"{"method":"a","params":{"a":"...","id":7}}"#, None),
            (r#"{"jsonrpc":"2.0","id":"x","result":{}}"#, None),
        ] {
            assert_eq!(answered_number(text.as_bytes()), number, "{text}");
        }
    }
}
