//! The text of a document, with positions as in the protocol: in UTF-16 units.

use std::ops::Range;

/// A position in a text: line and column from 0, the column in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The number of UTF-16 units before it in its line.
    pub character: usize,
}

/// A text and where its lines begin.
#[derive(Debug, Clone, Default)]
pub struct Text {
    text: String,
    /// Where each line begins, in bytes; the first at 0.
    lines: Vec<usize>,
}

impl Text {
    /// Creates a text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let lines = line_starts(&text);
        Self { text, lines }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Replaces the text between two positions; a position after the end of a line means the end of the line.
    pub fn replace(&mut self, start: Position, end: Position, with: &str) {
        let (start, end) = (self.byte(start), self.byte(end));
        // A client that gives the end first means the same range.
        let (start, end) = (start.min(end), start.max(end));
        self.text.replace_range(start..end, with);
        self.lines = line_starts(&self.text);
    }

    /// Returns the byte offset of a position.
    #[must_use]
    pub fn byte(&self, position: Position) -> usize {
        let Some(line) = self.line(position.line) else {
            return self.text.len();
        };
        let mut units = 0;
        let mut byte = line.start;
        for letter in self.text.get(line).unwrap_or_default().chars() {
            units += letter.len_utf16();
            // The middle of a surrogate pair counts as its beginning.
            if units > position.character {
                break;
            }
            byte += letter.len_utf8();
        }
        byte
    }

    /// Returns the position of a byte.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= byte);
        let line = line.saturating_sub(1);
        let range = self.line(line).unwrap_or(0..0);
        let before = self.text.get(range.start..).unwrap_or_default();
        let mut character = 0;
        let mut at = range.start;
        for letter in before.chars() {
            if at + letter.len_utf8() > byte.min(range.end) {
                break;
            }
            at += letter.len_utf8();
            character += letter.len_utf16();
        }
        Position { line, character }
    }

    /// Returns the bytes of a line, without its line break.
    #[must_use]
    pub fn line(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.lines.get(line)?;
        let next = self.lines.get(line + 1).copied();
        let end = next.unwrap_or(self.text.len());
        let whole = self.text.get(start..end)?;
        let kept = match next {
            Some(_) => whole
                .strip_suffix("\r\n")
                .or_else(|| whole.strip_suffix('\n'))
                .or_else(|| whole.strip_suffix('\r'))
                .unwrap_or(whole),
            None => whole,
        };
        Some(start..start + kept.len())
    }
}

/// Finds where lines begin: after `\n`, `\r\n` and `\r`.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (at, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(at + 1);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::{Position, Text};

    fn at(line: usize, character: usize) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_in_utf16_units() {
        let text = Text::new("a\u{1f600}b\r\n\u{fc}x\rlast");
        for (byte, position) in [
            (0, at(0, 0)),
            (1, at(0, 1)),
            (5, at(0, 3)),
            (6, at(0, 4)),
            (8, at(1, 0)),
            (10, at(1, 1)),
            (12, at(2, 0)),
            (16, at(2, 4)),
        ] {
            assert_eq!(text.position(byte), position);
            assert_eq!(text.byte(position), byte);
        }
    }

    #[test]
    fn positions_that_are_not_there_are_the_nearest_before_them() {
        let text = Text::new("a\u{1f600}b\r\nc");
        assert_eq!(text.byte(at(0, 2)), 1, "the middle of a pair");
        assert_eq!(text.byte(at(0, 99)), 6, "the end of the line");
        assert_eq!(text.byte(at(9, 0)), 9, "the end of the text");
        assert_eq!(text.position(3), at(0, 1), "the middle of a character");
        assert_eq!(text.position(7), at(0, 4), "the middle of a line break");
    }

    #[test]
    fn a_change_replaces_what_stands_there() {
        let mut text = Text::new("one\r\ntwo \u{1f600} x\n");
        text.replace(at(1, 4), at(1, 6), "\n\u{1f680}");
        assert_eq!(text.as_str(), "one\r\ntwo \n\u{1f680} x\n");
        assert_eq!(text.byte(at(2, 2)), 14);
        text.replace(at(2, 0), at(0, 3), "");
        assert_eq!(text.as_str(), "one\u{1f680} x\n");
    }
}
