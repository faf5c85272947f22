//! Server-sent events: the data of each, in order.
//!
//! Their names are not needed: every provider says in the data what it is.

use crate::lines::TooLong;

/// Largest data of one event, in bytes.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// The event that is arriving.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    data: Vec<u8>,
    has_data: bool,
}

impl Sse {
    /// Takes a line; returns the data of the event that it ends.
    pub(crate) fn line(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if line.is_empty() {
            return Ok(self.end());
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
            if self.data.len().saturating_add(value.len()) >= EVENT_BYTES_MAX {
                return Err(TooLong);
            }
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
        Ok(None)
    }

    /// Returns the data of the event that the end of the stream ends.
    ///
    /// Strictly such an event is none; there are servers that leave out the
    /// last empty line, and half a JSON document is seen as such anyway.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(data)
    }
}
