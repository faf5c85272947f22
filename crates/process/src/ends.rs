//! The part of an output that is kept: its beginning and its end.

use std::collections::VecDeque;

/// The beginning and the end of an output, and its total length.
#[derive(Debug, Default)]
pub struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl HeadTail {
    /// Creates an empty one that keeps at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            half: bytes_max / 2,
            ..Self::default()
        }
    }

    /// Adds the next bytes of the output.
    pub fn take(&mut self, bytes: &[u8]) {
        self.total = self
            .total
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        let rest = rest
            .get(rest.len().saturating_sub(self.half)..)
            .unwrap_or_default();
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
    }

    /// Returns the number of bytes of the whole output.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes left out between the beginning and the end.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        let kept = self.head.len() + self.tail.len();
        self.total
            .saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX))
    }

    /// Returns what is kept as text; `notice` makes the line that replaces what is left out.
    ///
    /// Bytes that are not UTF-8 are replaced. A character that was cut in two is left out.
    pub fn text(&self, notice: impl FnOnce(u64) -> String) -> String {
        let (left, right) = self.tail.as_slices();
        let left_out = self.left_out();
        if left_out == 0 {
            let whole = [self.head.as_slice(), left, right].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let tail = [left, right].concat();
        format!(
            "{}\n{}\n{}",
            String::from_utf8_lossy(whole_characters(&self.head)).trim_end_matches('\n'),
            notice(left_out),
            String::from_utf8_lossy(without_rest(&tail))
        )
    }
}

/// Drops a character that was cut at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or_default()
        }
        _ => bytes,
    }
}

/// Drops the rest of a character that was cut at the beginning.
fn without_rest(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80);
    bytes.get(rest.count()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn beginning_and_end_are_kept_however_it_comes(
            text in "[a-zäß\n]{0,200}", half in 0_usize..60, chunk in 1_usize..40,
        ) {
            let mut kept = HeadTail::new(half * 2);
            text.as_bytes().chunks(chunk).for_each(|bytes| kept.take(bytes));
            let told = kept.text(|bytes| format!("... ({bytes} bytes are left out)"));
            prop_assert_eq!(usize::try_from(kept.total()), Ok(text.len()));
            if text.len() <= half * 2 {
                prop_assert_eq!(told, text);
            } else {
                let (head, tail) = told.split_once("\n... (").unwrap_or_default();
                let tail = tail.split_once(" left out)\n").unwrap_or_default().1;
                prop_assert!(text.starts_with(head));
                prop_assert!(text.ends_with(tail));
                prop_assert!(head.len() <= half && tail.len() <= half);
            }
        }
    }
}
