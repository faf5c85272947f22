//! The beginning and the end of a stream.

use std::collections::VecDeque;

/// Bytes kept of each end.
const END_BYTES: usize = 256 * 1024;

/// The beginning and the end of what has come, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Preview {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Preview {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = END_BYTES - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        // Of a long piece only the end can stay.
        let (skipped, last) = rest.split_at(rest.len().saturating_sub(END_BYTES));
        self.tail.extend(last);
        let over = self.tail.len().saturating_sub(END_BYTES);
        self.tail.drain(..over);
        let lost = u64::try_from(skipped.len() + over).unwrap_or(u64::MAX);
        self.left_out = self.left_out.saturating_add(lost);
    }

    /// Returns both ends as text, with a line between them that says what is left out.
    ///
    /// What is no UTF-8 is replaced; a NUL byte stays.
    pub(super) fn text(&self) -> String {
        let (left, right) = self.tail.as_slices();
        if self.left_out == 0 {
            let whole = [self.head.as_slice(), left, right].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let tail = [left, right].concat();
        format!(
            "{}\n[{} bytes are left out here]\n{}",
            String::from_utf8_lossy(&self.head),
            self.left_out,
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a failed test panics")]
mod tests {
    use super::{END_BYTES, Preview};

    #[test]
    fn both_ends_stay_however_it_comes() {
        let whole: Vec<u8> = (0..3 * END_BYTES)
            .map(|number| b"abcdefghijk"[number % 11])
            .collect();
        for size in [1 + END_BYTES / 3, END_BYTES, 3 * END_BYTES] {
            let mut preview = Preview::default();
            whole.chunks(size).for_each(|chunk| preview.take(chunk));
            let head = String::from_utf8_lossy(&whole[..END_BYTES]).into_owned();
            let tail = String::from_utf8_lossy(&whole[2 * END_BYTES..]).into_owned();
            let said = format!("{head}\n[{END_BYTES} bytes are left out here]\n{tail}");
            assert_eq!(preview.text(), said);
        }
    }

    #[test]
    fn a_short_text_is_whole() {
        let mut preview = Preview::default();
        preview.take(&vec![b'x'; END_BYTES]);
        preview.take(b"y\xff");
        assert!(preview.text().ends_with("xy\u{fffd}"));
        assert_eq!(preview.text().len(), END_BYTES + 4);
    }
}
