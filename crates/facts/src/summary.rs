//! A call's arguments in one line, for people and the log.

use interlock_core::visible::steers;
use serde_json::Value;

use crate::{canonical::canonical, shape::Shape};

/// Maximum length of a summary in characters.
const CHARS_MAX: usize = 200;
/// Maximum number of bytes of arguments that are read for it.
const BYTES_MAX: usize = 4_096;

/// Formats the essential arguments in one line.
pub(crate) fn summary(shape: Shape, input: &Value) -> String {
    let field = match shape {
        Shape::Shell { line, .. } => Some(line),
        Shape::Edit { path, .. }
        | Shape::MultiEdit { path, .. }
        | Shape::Write { path, .. }
        | Shape::Notebook { path }
        | Shape::Delete { path } => Some(path),
        Shape::Message { to } => Some(to),
        Shape::Prompt { text } => Some(text),
        Shape::Read { .. }
        | Shape::Search { .. }
        | Shape::Patch { .. }
        | Shape::Control(_)
        | Shape::SubAgent
        | Shape::SubAgents
        | Shape::Script { .. }
        | Shape::Conversation
        | Shape::Unheld(_)
        | Shape::Other => None,
    };
    match field.and_then(|field| input.get(field)?.as_str()) {
        Some(text) => one_line(text, CHARS_MAX),
        None => one_line(&canonical(input), CHARS_MAX),
    }
}

/// Writes `text` in one line of at most `max` characters; control characters are escaped.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let mut end = text.len().min(BYTES_MAX.max(max.saturating_mul(4)));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let looked_at = text.get(..end).unwrap_or_default();
    let mut line = String::new();
    let mut chars = 0;
    for c in looked_at.chars() {
        let shown = shown(c);
        let length = shown.chars().count();
        if chars + length > max {
            break;
        }
        chars += length;
        line.push_str(&shown);
    }
    let whole = looked_at
        .chars()
        .map(|c| shown(c).chars().count())
        .sum::<usize>()
        == chars
        && end == text.len();
    if whole {
        return line;
    }
    line.chars()
        .take(max.saturating_sub(3))
        .chain("...".chars())
        .collect()
}

/// Escapes a character that a terminal or a parser would treat specially.
fn shown(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if steers(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_and_invisible_characters_are_shown() {
        assert_eq!(
            one_line("a\nb\tc\u{1b}[31m\u{202e}x", 200),
            "a\\nb\\tc\\u{1b}[31m\\u{202e}x"
        );
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(one_line(&"a".repeat(10_000_000), 10), "aaaaaaa...");
        assert_eq!(one_line("\n\n\n\n", 6), "\\n\\...");
        assert_eq!(one_line("abcdef", 6), "abcdef");
    }

    proptest! {
        #[test]
        fn never_longer_than_told(text in any::<String>(), max in 3_usize..50) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
