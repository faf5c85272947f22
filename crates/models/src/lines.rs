//! Bytes as they arrive, cut into lines: each by LF, CR or both, as server-sent events have them.

/// Longest line, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;

/// A line over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// What has arrived of a line so far.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    begun: bool,
}

impl Lines {
    /// Takes bytes, and gives every line that they end to `each`, without its end.
    pub(crate) fn feed<E: From<TooLong>>(
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

    /// Returns what came after the last end of a line; empty: nothing.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.open);
        self.without_mark(&line).to_vec()
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.open.len().saturating_add(bytes.len()) > LINE_BYTES_MAX {
            return Err(TooLong);
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes the mark of UTF-8 off the very first line.
    fn without_mark<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        }
    }
}
