//! Event streams: written, and read within bounds.
//!
//! The crates that read event streams either refuse lines that the standard
//! says to skip, or keep an event that never ends; this one does neither.

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its kind; empty: `message`.
    pub(crate) kind: String,
    /// Its text.
    pub(crate) data: String,
    /// Its id, where the event itself has one.
    pub(crate) id: Option<String>,
}

/// An event that is larger than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {0} bytes")]
pub(crate) struct TooLarge(usize);

/// Reads a stream piece by piece.
#[derive(Debug)]
pub(crate) struct Reader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    bytes: usize,
    bytes_max: usize,
    after_return: bool,
    begun: bool,
    /// The last id of the stream, and how long to wait before it is opened anew.
    pub(crate) last_id: Option<String>,
    pub(crate) retry_ms: Option<u64>,
}

impl Reader {
    /// Makes a reader that refuses events of more bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            bytes: 0,
            bytes_max,
            after_return: false,
            begun: false,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Takes the next piece and gives the events that it ends.
    pub(crate) fn take(
        &mut self,
        mut piece: &[u8],
        ended: &mut Vec<Event>,
    ) -> Result<(), TooLarge> {
        while !piece.is_empty() {
            if self.after_return {
                self.after_return = false;
                if let Some(rest) = piece.strip_prefix(b"\n") {
                    piece = rest;
                    continue;
                }
            }
            let end = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.bytes += line.len();
            if self.bytes > self.bytes_max {
                return Err(TooLarge(self.bytes_max));
            }
            self.line.extend_from_slice(line);
            let Some((delimiter, rest)) = rest.split_first() else {
                return Ok(());
            };
            self.after_return = *delimiter == b'\r';
            piece = rest;
            let line = std::mem::take(&mut self.line);
            ended.extend(self.end_line(&line));
        }
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) -> Option<Event> {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = match line.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) if first => rest,
            _ => line,
        };
        if line.is_empty() {
            self.bytes = 0;
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.kind),
            "id" if !value.contains('\0') => {
                self.event.id = Some(value.to_owned());
                self.last_id = Some(value.to_owned()).filter(|id| !id.is_empty());
            }
            "retry" if value.bytes().all(|digit| digit.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            // A comment, or a field that nobody knows.
            _ => {}
        }
        None
    }
}

/// Writes an event; line ends in the text are kept as the standard has them.
pub(crate) fn write(
    kind: Option<&str>,
    id: Option<&str>,
    retry_ms: Option<u64>,
    data: &[u8],
) -> Vec<u8> {
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

    fn read_in_pieces(text: &[u8], size: usize) -> Vec<Event> {
        let mut reader = Reader::new(1_000);
        let mut events = Vec::new();
        for piece in text.chunks(size) {
            reader.take(piece, &mut events).unwrap();
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
                        event.data.as_str(),
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
        reader
            .take(b"id: 3\nretry: 50\ndata:\n\ndata: a\n\n", &mut events)
            .unwrap();
        assert_eq!(reader.last_id.as_deref(), Some("3"));
        assert_eq!(reader.retry_ms, Some(50));
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut reader = Reader::new(10);
        let mut events = Vec::new();
        reader
            .take(b"data: 1234\n\ndata: 1234\n\n", &mut events)
            .unwrap();
        let refused = reader.take(b"data: 1\ndata: 2\ndata: 3\n", &mut events);
        assert_eq!(refused, Err(TooLarge(10)));
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
            let expected = Event { kind: kind.unwrap_or_default(), data, id: Some("4-2".to_owned()) };
            prop_assert_eq!(events, vec![expected]);
        }
    }
}
