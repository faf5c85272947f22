//! Splits incoming bytes into lines, each ended by LF, CR or CRLF, as event streams define them.

/// A line or an event has more bytes than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {0} bytes")]
pub struct TooLong(pub usize);

/// A splitter of bytes into lines, which keeps the incomplete last line.
#[derive(Debug)]
pub struct Lines {
    open: Vec<u8>,
    bytes_max: usize,
    /// The last byte was a CR: an LF that follows belongs to the same line end.
    after_cr: bool,
    begun: bool,
}

impl Lines {
    /// Returns a splitter for lines of at most `bytes_max` bytes.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self {
            open: Vec::new(),
            bytes_max,
            after_cr: false,
            begun: false,
        }
    }

    /// Adds bytes and passes every line that they complete to `each`, without its line end.
    ///
    /// # Errors
    /// A line is too long, or `each` fails.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if self.after_cr
                && let Some((first, rest)) = bytes.split_first()
            {
                self.after_cr = false;
                if *first == b'\n' {
                    bytes = rest;
                }
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.take(bytes).map_err(E::from);
            };
            let (head, rest) = bytes.split_at(end);
            self.take(head)?;
            let line = std::mem::take(&mut self.open);
            each(self.without_mark(&line))?;
            if let Some((ended_by, rest)) = rest.split_first() {
                self.after_cr = *ended_by == b'\r';
                bytes = rest;
            }
        }
    }

    /// Returns the bytes after the last line end, empty if there are none.
    pub fn rest(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.open);
        self.without_mark(&line).to_vec()
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.open.len().saturating_add(bytes.len()) > self.bytes_max {
            return Err(TooLong(self.bytes_max));
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    /// Removes the byte-order mark from the very first line.
    fn without_mark<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        }
    }
}
