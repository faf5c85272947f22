//! Cuts results that are too long for a model.

use std::borrow::Cow;

/// Cuts a result of any tool to `bytes_max` bytes, with a notice at the end.
///
/// It is cut at the end of a line if one is near, otherwise between two characters.
#[must_use]
pub fn cut(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    let kept = match kept.rfind('\n') {
        Some(line) if line >= end / 2 => kept.get(..line).unwrap_or_default(),
        _ => kept,
    };
    let left = text.len() - kept.len();
    Cow::Owned(format!("{kept}\n({left} more bytes are left out)"))
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn it_ends_with_a_line_where_that_leaves_half_or_more() {
        for (text, kept) in [
            ("ten bytes.", "ten bytes."),
            ("a line\nand more", "a line"),
            ("line\nthat goes on", "line\nthat "),
            ("line.\nthat goes on", "line."),
            ("no line, but long", "no line, b"),
            ("äöüäöü", "äöüäö"),
            ("aäöüäöü", "aäöüä"),
        ] {
            let found = cut(text, 10);
            let found = found.split("\n(").next().unwrap_or_default();
            assert_eq!(found, kept, "{text}");
        }
    }
}
