//! Text in a picture: its width, its line breaks, and its escaping as XML.

/// A size and kind of letters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Face {
    /// The size in the units of the picture.
    pub(crate) size: f64,
    /// Whether all letters are equally wide.
    pub(crate) mono: bool,
}

impl Face {
    pub(crate) const TITLE: Self = Self::sans(14.0);
    pub(crate) const NOTE: Self = Self::sans(11.5);
    pub(crate) const LIMIT: Self = Self::sans(11.0);
    pub(crate) const COMMAND: Self = Self::code(10.5);
    pub(crate) const CHIP: Self = Self::code(10.5);
    pub(crate) const EVENT: Self = Self::code(11.0);
    pub(crate) const GUARD: Self = Self::sans(11.0);
    pub(crate) const HEADING: Self = Self::sans(20.0);

    const fn sans(size: f64) -> Self {
        Self { size, mono: false }
    }

    const fn code(size: f64) -> Self {
        Self { size, mono: true }
    }
}

/// Widths of the letters from space to `~` in hundredths of the size.
///
/// The wider of Inter and Arial, half-bold: a narrower font leaves a little space.
const WIDTHS: [u8; 95] = [
    28, 34, 48, 65, 65, 89, 72, 24, 40, 40, 55, 67, 30, 47, 29, 38, 67, 56, 62, 65, 67, 63, 65, 59,
    65, 65, 34, 34, 67, 67, 67, 61, 100, 73, 72, 75, 73, 67, 61, 78, 75, 28, 56, 72, 61, 91, 74,
    78, 67, 78, 72, 67, 66, 74, 73, 101, 69, 71, 65, 40, 38, 40, 59, 56, 50, 58, 63, 58, 63, 59,
    38, 63, 61, 28, 28, 57, 28, 90, 61, 61, 63, 63, 40, 56, 38, 61, 58, 84, 56, 58, 56, 40, 36, 40,
    67,
];

/// Returns the width of `text`.
pub(crate) fn width(text: &str, face: Face) -> f64 {
    let hundredths: u32 = text
        .chars()
        .map(|letter| letter_width(letter, face.mono))
        .sum();
    f64::from(hundredths) / 100.0 * face.size
}

/// Returns the width of one letter in hundredths of the size.
fn letter_width(letter: char, mono: bool) -> u32 {
    let code = u32::from(letter);
    let known = usize::try_from(code)
        .ok()
        .and_then(|code| code.checked_sub(32));
    if let Some(known) = known.and_then(|index| WIDTHS.get(index)) {
        return if mono { 61 } else { u32::from(*known) };
    }
    match code {
        // Combining marks and joiners.
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        // East Asian letters and everything drawn as a small picture.
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 104,
        0xfe30..=0xfe4f | 0xff00..=0xff60 | 0x1f000..=0x3ffff => 128,
        0x2190..=0x2bff => 100,
        _ if mono => 61,
        _ => 72,
    }
}

/// Returns `text`, or as much of it as fits into `width` with an ellipsis.
pub(crate) fn fit(text: &str, face: Face, width_max: f64) -> String {
    if width(text, face) <= width_max {
        return text.to_owned();
    }
    let dots = width("…", face);
    let mut taken = String::new();
    let mut used = dots;
    for letter in text.chars() {
        used += f64::from(letter_width(letter, face.mono)) / 100.0 * face.size;
        if used > width_max {
            break;
        }
        taken.push(letter);
    }
    format!("{}…", taken.trim_end())
}

/// Breaks `text` between words into at most `lines_max` lines; the rest is cut.
pub(crate) fn wrap(text: &str, face: Face, width_max: f64, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let longer = if line.is_empty() {
            word.to_owned()
        } else {
            format!("{line} {word}")
        };
        let fits = width(&longer, face) <= width_max;
        if fits || line.is_empty() || lines.len() + 1 >= lines_max {
            line = longer;
        } else {
            lines.push(std::mem::replace(&mut line, word.to_owned()));
        }
    }
    lines.push(line);
    lines
        .iter()
        .map(|line| fit(line, face, width_max))
        .collect()
}

/// Escapes `text` as XML text or attribute value.
///
/// Characters that XML does not allow become the replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Face, escaped, fit, width, wrap};

    #[test]
    fn markup_is_text() {
        assert_eq!(
            escaped("<a href=\"x\">'&'</a>\u{1}\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;\u{fffd} "
        );
    }

    #[test]
    fn what_is_cut_fits_with_its_ellipsis() {
        for text in [
            "a very long name of a state",
            "状態状態状態状態状態",
            "iiiiiiiiiiiiiiiiiiiiiiiiii",
        ] {
            let cut = fit(text, Face::TITLE, 80.0);
            assert!(
                cut.ends_with('…') && width(&cut, Face::TITLE) <= 80.0,
                "{cut}"
            );
        }
        assert_eq!(fit("short", Face::TITLE, 80.0), "short");
    }

    #[test]
    fn lines_break_between_words_and_the_last_is_cut() {
        let lines = wrap("one two three four five six seven", Face::NOTE, 60.0, 2);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.first().map(String::as_str), Some("one two"));
        assert!(lines.last().is_some_and(|line| line.ends_with('…')));
    }
}
