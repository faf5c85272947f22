//! Filters a program's output for a terminal: its text and its colours, but no other control sequences.

use interlock_core::visible::push_visible;

/// Maximum number of bytes of a control sequence before it is dropped.
const SEQUENCE_MAX: usize = 64;

/// Filter for one output of a program.
#[derive(Debug)]
pub(super) struct Cleaner {
    colours: bool,
    /// Bytes of an incomplete character.
    pending: Vec<u8>,
    mode: Mode,
    /// Control sequence so far.
    sequence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Text,
    /// After an escape character.
    Escape,
    /// In a control sequence, until its final letter.
    Control,
    /// In a string for the terminal, until its terminator.
    Message,
    /// In such a string, after an escape character.
    MessageEscape,
}

impl Cleaner {
    /// Creates a filter that passes or removes colours.
    pub(super) fn new(colours: bool) -> Self {
        Self {
            colours,
            pending: Vec::new(),
            mode: Mode::Text,
            sequence: String::new(),
        }
    }

    /// Returns the part of `bytes` that may be shown.
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                self.letter(letter, &mut shown);
            }
            let rest = chunk.invalid();
            let unfinished = chunks.peek().is_none() && is_unfinished(rest);
            if unfinished {
                self.pending = rest.to_vec();
            } else if !rest.is_empty() {
                self.letter(char::REPLACEMENT_CHARACTER, &mut shown);
            }
        }
        shown
    }

    fn letter(&mut self, letter: char, shown: &mut String) {
        match self.mode {
            Mode::Text => self.text(letter, shown),
            Mode::Escape => {
                self.mode = match letter {
                    '[' => Mode::Control,
                    ']' | 'P' | 'X' | '^' | '_' => Mode::Message,
                    // Between an escape and its final letter.
                    ' '..='/' => Mode::Escape,
                    _ => Mode::Text,
                };
                self.sequence.clear();
            }
            Mode::Control => match letter {
                '@'..='~' => {
                    self.mode = Mode::Text;
                    self.colour(letter, shown);
                }
                ' '..='?' if self.sequence.len() < SEQUENCE_MAX => self.sequence.push(letter),
                // Not a sequence.
                _ => {
                    self.mode = Mode::Text;
                    self.text(letter, shown);
                }
            },
            Mode::Message => match letter {
                '\u{7}' => self.mode = Mode::Text,
                '\u{1b}' => self.mode = Mode::MessageEscape,
                // A string does not have several lines.
                '\n' => {
                    self.mode = Mode::Text;
                    shown.push('\n');
                }
                _ => {}
            },
            Mode::MessageEscape => self.mode = Mode::Text,
        }
    }

    fn text(&mut self, letter: char, shown: &mut String) {
        match letter {
            '\u{1b}' => self.mode = Mode::Escape,
            '\n' | '\t' | '\r' => shown.push(letter),
            // A bell, and a backspace.
            '\u{7}' | '\u{8}' => {}
            letter => push_visible(shown, letter),
        }
    }

    /// Ends a control sequence: one that sets colours passes.
    fn colour(&mut self, last: char, shown: &mut String) {
        let sets = last == 'm'
            && self
                .sequence
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
        if sets && self.colours {
            shown.push_str("\u{1b}[");
            shown.push_str(&self.sequence);
            shown.push('m');
        }
        self.sequence.clear();
    }
}

/// Returns whether `rest` is the beginning of a character.
fn is_unfinished(rest: &[u8]) -> bool {
    !rest.is_empty() && std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none())
}

/// Number of bytes at the end of an output that are searched for its last line.
const LAST_BYTES: usize = 4096;

/// Returns the last line of an output that is not blank.
pub(super) fn last_line(bytes: &[u8]) -> Option<String> {
    let from = bytes.len().saturating_sub(LAST_BYTES);
    let text = String::from_utf8_lossy(bytes.get(from..).unwrap_or_default());
    let cleaned = Cleaner::new(false).take(text.as_bytes());
    let mut lines = cleaned.rsplit(['\n', '\r']);
    let line = lines.find(|line| !line.trim().is_empty())?;
    Some(line.trim().replace('\t', " "))
}

#[cfg(test)]
mod tests {
    use super::{Cleaner, last_line};

    fn shown(colours: bool, parts: &[&[u8]]) -> String {
        let mut cleaner = Cleaner::new(colours);
        parts.iter().map(|part| cleaner.take(part)).collect()
    }

    #[test]
    fn nothing_but_colours_steers_the_terminal() {
        let rows: &[(&[u8], &str)] = &[
            (b"a\x1b[31mred\x1b[0m", "a\x1b[31mred\x1b[0m"),
            (b"a\x1b[2J\x1b[Hb", "ab"),
            (b"a\x1b[?25lb", "ab"),
            (b"a\x1b]0;title\x07b", "ab"),
            (b"a\x1b]52;c;eA==\x1b\\b", "ab"),
            (b"a\x1bPq#0\x1b\\b", "ab"),
            (b"a\x1bcb", "ab"),
            (b"a\x1b(0b", "ab"),
            (b"a\x07\x08b\x00", "ab\\x00"),
            ("a\u{9b}2Jb".as_bytes(), "a\\x9b2Jb"),
            ("a\u{202e}b\u{200b}c".as_bytes(), "a\\u{202e}b\\u{200b}c"),
            ("\u{4f60}\u{597d}".as_bytes(), "\u{4f60}\u{597d}"),
            (b"50%\r100%\n", "50%\r100%\n"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"a\x1b[31;", "a"),
            (b"\x1b]never closed\nnext", "\nnext"),
        ];
        for (input, wanted) in rows {
            assert_eq!(shown(true, &[input]), *wanted, "{input:?}");
            // Wherever it is split.
            let letters: Vec<&[u8]> = input.chunks(1).collect();
            assert_eq!(shown(true, &letters), *wanted, "{input:?} by bytes");
        }
    }

    #[test]
    fn colours_are_taken_out_where_none_are_wanted() {
        assert_eq!(shown(false, &[b"a\x1b[1;31mred\x1b[0m"]), "ared");
    }

    #[test]
    fn the_last_line_is_the_last_with_anything_on_it() {
        assert_eq!(last_line(b"one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(last_line(b"10%\r20%").as_deref(), Some("20%"));
        assert_eq!(last_line(b"\x1b[2K\n"), None);
    }
}
