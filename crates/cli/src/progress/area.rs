//! Draws and erases the lines at the bottom of the screen.
//!
//! The terminal's modes are not changed, so that it is usable however the process ends.

use ratatui::text::Span;

/// The lines drawn at the bottom of the screen; the cursor is after the last one.
#[derive(Debug, Default)]
pub(super) struct Area {
    /// Width of each line in columns.
    widths: Vec<usize>,
}

/// A part of a line: a text and its style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) look: Look,
}

/// Style of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Look {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
        }
    }
}

impl Part {
    pub(super) fn new(look: Look, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            look,
        }
    }
}

impl Area {
    /// Forgets the drawn lines, which stay on the screen.
    pub(super) fn forget(&mut self) {
        self.widths.clear();
    }

    /// Returns the control sequences that erase the lines from a screen with `columns` columns.
    pub(super) fn erase(&mut self, columns: usize) -> String {
        if self.widths.is_empty() {
            return String::new();
        }
        let columns = columns.max(1);
        let rows: usize = self
            .widths
            .drain(..)
            // A screen that became narrower has wrapped the lines.
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        match rows - 1 {
            0 => "\r\u{1b}[J".to_owned(),
            up => format!("\r\u{1b}[{up}A\u{1b}[J"),
        }
    }

    /// Returns the output that draws `lines`, each narrower than `columns`.
    pub(super) fn draw(&mut self, lines: &[Vec<Part>], columns: usize, colours: bool) -> String {
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                text.push_str("\r\n");
            }
            let cut = cut(line, columns.saturating_sub(1));
            self.widths
                .push(cut.iter().map(|part| width(&part.text)).sum());
            text.push_str(&painted(&cut, colours));
        }
        text
    }
}

/// Returns a line with its control sequences.
pub(super) fn painted(line: &[Part], colours: bool) -> String {
    line.iter()
        .map(|part| {
            if colours && part.look != Look::Plain && !part.text.is_empty() {
                format!("\u{1b}[{}m{}\u{1b}[0m", part.look.code(), part.text)
            } else {
                part.text.clone()
            }
        })
        .collect()
}

/// Returns the width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Cuts a line to at most `columns`.
fn cut(line: &[Part], columns: usize) -> Vec<Part> {
    let all: usize = line.iter().map(|part| width(&part.text)).sum();
    if all <= columns {
        return line.to_vec();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = Vec::new();
    'line: for part in line {
        let mut text = String::new();
        for letter in part.text.chars() {
            let wide = width(letter.encode_utf8(&mut [0; 4]));
            if wide > left {
                kept.push(Part {
                    text,
                    ..part.clone()
                });
                break 'line;
            }
            left -= wide;
            text.push(letter);
        }
        kept.push(Part {
            text,
            ..part.clone()
        });
    }
    if columns > 0 {
        kept.push(Part::new(Look::Dim, "\u{2026}"));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{Area, Look, Part, painted};

    fn line(text: &str) -> Vec<Part> {
        vec![Part::new(Look::Plain, text)]
    }

    #[test]
    fn lines_are_taken_off_by_as_many_rows_as_they_have() {
        let mut area = Area::default();
        assert_eq!(area.erase(80), "");
        let drawn = area.draw(&[line("one"), line("two")], 80, false);
        assert_eq!(drawn, "one\r\ntwo");
        assert_eq!(area.erase(80), "\r\u{1b}[1A\u{1b}[J");
        assert_eq!(area.erase(80), "");
        area.draw(&[line("only")], 80, false);
        assert_eq!(area.erase(80), "\r\u{1b}[J");
    }

    #[test]
    fn a_screen_that_became_narrower_has_broken_the_lines() {
        let mut area = Area::default();
        area.draw(&[line("0123456789"), line("0123456789")], 80, false);
        assert_eq!(area.erase(4), "\r\u{1b}[5A\u{1b}[J");
    }

    #[test]
    fn no_line_reaches_the_edge() {
        let rows = [
            ("abcdef", 80, "abcdef"),
            ("abcdef", 6, "abcd\u{2026}"),
            ("abcdef", 2, "\u{2026}"),
            ("abcdef", 1, ""),
            ("\u{4f60}\u{597d}\u{4f60}", 6, "\u{4f60}\u{597d}\u{2026}"),
            ("\u{4f60}\u{597d}\u{4f60}", 5, "\u{4f60}\u{2026}"),
        ];
        for (text, columns, wanted) in rows {
            let drawn = Area::default().draw(&[line(text)], columns, false);
            assert_eq!(drawn, wanted, "{text} in {columns}");
        }
    }

    #[test]
    fn colours_end_where_they_are_meant_to() {
        let line = [Part::new(Look::Red, "no"), Part::new(Look::Plain, " way")];
        assert_eq!(painted(&line, true), "\u{1b}[31mno\u{1b}[0m way");
        assert_eq!(painted(&line, false), "no way");
    }
}
