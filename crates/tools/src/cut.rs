//! Results that are longer than what a model is shown.

use std::borrow::Cow;

/// Cuts a result of any tool to `bytes_max` bytes, and says so behind it.
///
/// At the end of a line where one is near, else between two characters.
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
