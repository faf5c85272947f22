//! Writes event streams, and reads them with bounded memory.
//!
//! Other crates that read event streams either refuse lines that the standard says to ignore, or buffer an event that
//! never ends; this one does neither.

use crate::lines::{Lines, TooLong};

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type; empty means `message`.
    pub kind: String,
    /// Its data, with lines joined by LF; UTF-8 unless the server is wrong.
    pub data: Vec<u8>,
    /// Its id, if the event itself has one.
    pub id: Option<String>,
}

/// A reader of a stream that arrives in pieces.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    open: OpenEvent,
}

/// The event being received, and the state that outlasts it.
#[derive(Debug)]
struct OpenEvent {
    event: Event,
    has_data: bool,
    /// Number of bytes of its lines so far.
    bytes: usize,
    bytes_max: usize,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

impl Reader {
    /// Returns a reader that refuses events of more than `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            lines: Lines::new(bytes_max),
            open: OpenEvent {
                event: Event::default(),
                has_data: false,
                bytes: 0,
                bytes_max,
                last_id: None,
                retry_ms: None,
            },
        }
    }

    /// Adds the next piece and passes the events that it completes to `each`.
    ///
    /// # Errors
    /// An event is too long, or `each` fails.
    pub fn take<E: From<TooLong>>(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let open = &mut self.open;
        self.lines.feed(piece, |line| match open.line(line)? {
            Some(event) => each(event),
            None => Ok(()),
        })
    }

    /// Returns the event that the end of the stream completes.
    ///
    /// By the standard such an event is dropped, but some servers omit the last empty line.
    ///
    /// # Errors
    /// The event is too long.
    pub fn end(&mut self) -> Result<Option<Event>, TooLong> {
        let rest = self.lines.rest();
        if !rest.is_empty()
            && let Some(event) = self.open.line(&rest)?
        {
            return Ok(Some(event));
        }
        self.open.line(b"")
    }

    /// Returns the last event id of the stream.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.open.last_id.as_deref()
    }

    /// Returns the delay before reconnecting, in milliseconds, if the server has set one.
    #[must_use]
    pub const fn retry_ms(&self) -> Option<u64> {
        self.open.retry_ms
    }
}

impl OpenEvent {
    /// Adds a line; returns the event that it completes.
    fn line(&mut self, line: &[u8]) -> Result<Option<Event>, TooLong> {
        if line.is_empty() {
            self.bytes = 0;
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        self.bytes = self.bytes.saturating_add(line.len());
        if self.bytes > self.bytes_max {
            return Err(TooLong(self.bytes_max));
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => {
                let (field, value) = line.split_at(at);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        if field == b"data" {
            if std::mem::replace(&mut self.has_data, true) {
                self.event.data.push(b'\n');
            }
            self.event.data.extend_from_slice(value);
            return Ok(None);
        }
        let value = String::from_utf8_lossy(value);
        match field {
            b"event" => value.as_ref().clone_into(&mut self.event.kind),
            b"id" if !value.contains('\0') => {
                self.event.id = Some(value.as_ref().to_owned());
                self.last_id = Some(value.into_owned()).filter(|id| !id.is_empty());
            }
            b"retry" if value.bytes().all(|digit| digit.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            // A comment, or an unknown field.
            _ => {}
        }
        Ok(None)
    }
}

/// Writes an event; each line of `data` becomes a `data` field, as the standard requires.
#[must_use]
pub fn write(kind: Option<&str>, id: Option<&str>, retry_ms: Option<u64>, data: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(data.len() + 64);
    let retry_ms = retry_ms.map(|retry_ms| retry_ms.to_string());
    for (field, value) in [
        ("event: ", kind),
        ("id: ", id),
        ("retry: ", retry_ms.as_deref()),
    ] {
        if let Some(value) = value {
            text.extend_from_slice(field.as_bytes());
            text.extend_from_slice(value.as_bytes());
            text.push(b'\n');
        }
    }
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        text.extend_from_slice(b"data: ");
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.push(b'\n');
    text
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(reader: &mut Reader, piece: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        reader.take(piece, |event| {
            events.push(event);
            Ok(())
        })
    }

    fn read_in_pieces(text: &[u8], size: usize) -> Vec<Event> {
        let mut reader = Reader::new(1_000);
        let mut events = Vec::new();
        for piece in text.chunks(size) {
            take(&mut reader, piece, &mut events).unwrap();
        }
        events
    }

    fn check(text: &str, expected: &[(&str, &str, Option<&str>)]) {
        for size in 1..=text.len() {
            let events = read_in_pieces(text.as_bytes(), size);
            let seen: Vec<_> = events
                .iter()
                .map(|event| {
                    (
                        event.kind.as_str(),
                        std::str::from_utf8(&event.data).unwrap(),
                        event.id.as_deref(),
                    )
                })
                .collect();
            assert_eq!(seen, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn every_line_end_ends_a_line() {
        check(
            "data: a\n\ndata: b\r\rdata: c\r\n\r\n",
            &[("", "a", None), ("", "b", None), ("", "c", None)],
        );
    }

    #[test]
    fn lines_of_data_are_joined() {
        check("data: a\ndata:b\ndata\n\n", &[("", "a\nb\n", None)]);
    }

    #[test]
    fn unknown_fields_and_comments_are_skipped() {
        check(
            ": alive\nfancy: 1\nword\nevent: endpoint\nevent: message\nretry: soon\ndata: a\nid: 7\n\n",
            &[("message", "a", Some("7"))],
        );
    }

    #[test]
    fn an_event_without_data_is_none() {
        check("id: 7\n\ndata: a\n\n", &[("", "a", None)]);
    }

    #[test]
    fn a_byte_order_mark_begins_only_the_stream() {
        check("\u{feff}data: a\n\n", &[("", "a", None)]);
    }

    #[test]
    fn the_last_id_and_the_wait_outlast_their_event() {
        let mut reader = Reader::new(1_000);
        let mut events = Vec::new();
        let text = b"id: 3\nretry: 50\ndata:\n\ndata: a\n\n";
        take(&mut reader, text, &mut events).unwrap();
        assert_eq!(reader.last_id(), Some("3"));
        assert_eq!(reader.retry_ms(), Some(50));
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut reader = Reader::new(10);
        let mut events = Vec::new();
        let text = b"data: 1234\n\ndata: 1234\n\n";
        take(&mut reader, text, &mut events).unwrap();
        let text = b"data: 1\ndata: 2\ndata: 3\n";
        assert_eq!(take(&mut reader, text, &mut events), Err(TooLong(10)));
        let mut reader = Reader::new(10);
        let text = b"data: a line that does not end";
        assert_eq!(take(&mut reader, text, &mut events), Err(TooLong(10)));
    }

    #[test]
    fn the_end_of_a_stream_ends_its_last_event() {
        for (text, ended) in [
            ("data: a\n", Some("a")),
            ("data: a", Some("a")),
            ("data: a\ndata: b", Some("a\nb")),
            ("data: a\n\n", None),
            (": alive\n", None),
            ("", None),
        ] {
            let mut reader = Reader::new(1_000);
            take(&mut reader, text.as_bytes(), &mut Vec::new()).unwrap();
            let event = reader.end().unwrap();
            let data = event.map(|event| String::from_utf8(event.data).unwrap());
            assert_eq!(data.as_deref(), ended, "{text:?}");
            assert_eq!(reader.end(), Ok(None));
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            data in "[a-z \n:]{0,40}",
            kind in prop::option::of("[a-z]{1,5}"),
            size in 1_usize..20,
        ) {
            let text = write(kind.as_deref(), Some("4-2"), None, data.as_bytes());
            let events = read_in_pieces(&text, size);
            let expected = Event { kind: kind.unwrap_or_default(), data: data.into_bytes(), id: Some("4-2".to_owned()) };
            prop_assert_eq!(events, vec![expected]);
        }
    }
}
