//! Makes foreign text safe to display: characters that control a terminal or mislead a reader are replaced by their codes.
//!
//! INVARIANT: no other module knows which characters those are.

use std::fmt::Write as _;

/// Formats foreign text on one line; every character that [`steers`] is replaced by its code.
///
/// A tab becomes blanks and a line break its code, so that no part of the text can pass for a line of ours.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str("    "),
            letter => push_visible(&mut shown, letter),
        }
    }
    shown
}

/// Formats foreign text as [`visible`] does, but keeps line breaks and tabs.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter => push_visible(&mut shown, letter),
        }
    }
    shown
}

/// Appends one character, or its code if it [`steers`].
pub fn push_visible(shown: &mut String, letter: char) {
    let code = u32::from(letter);
    // Writing to a string does not fail.
    let _ = match letter {
        letter if !steers(letter) => {
            shown.push(letter);
            Ok(())
        }
        _ if code < 0x100 => write!(shown, "\\x{code:02x}"),
        _ => write!(shown, "\\u{{{code:x}}}"),
    };
}

/// Replaces the characters of a JSON document that steer by JSON escapes; its value stays the same.
#[must_use]
pub fn visible_json(document: String) -> String {
    // Only strings can hold one; a line break between values is not a part of any.
    let steers = |letter: char| letter != '\n' && letter != '\t' && steers(letter);
    if !document.contains(steers) {
        return document;
    }
    let mut shown = String::with_capacity(document.len() + 64);
    for letter in document.chars() {
        if steers(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns whether a character moves the cursor, changes how others are displayed, or is invisible.
#[must_use]
pub const fn steers(letter: char) -> bool {
    letter.is_ascii_control()
        || matches!(
            letter,
            '\u{80}'..='\u{9f}'
                | '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Formats a text as [`visible`] does, with its lines joined by blanks.
#[must_use]
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(['\n', '\r', '\t']).map(str::trim).collect();
    let words: Vec<&str> = words.into_iter().filter(|part| !part.is_empty()).collect();
    visible(&words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{one_line, visible, visible_json, visible_lines};

    const SAID: &str =
        "a\u{1b}[2J\u{1b}]0;x\u{7}b\r\nApprove? \u{202e}c\u{9b}31m\u{200b}\u{e0041}\u{7f}";

    #[test]
    fn nothing_an_agent_writes_steers_the_terminal() {
        assert_eq!(
            visible(SAID),
            "a\\x1b[2J\\x1b]0;x\\x07b\\x0d\\x0aApprove? \\u{202e}c\\x9b31m\\u{200b}\\u{e0041}\\x7f"
        );
        assert_eq!(visible("ä\tb 日本"), "ä    b 日本");
        assert_eq!(visible_lines("a\r\n\tb\u{8}"), "a\\x0d\n\tb\\x08");
    }

    #[test]
    fn a_message_of_several_lines_is_one_line() {
        assert_eq!(one_line("a\n\tb\r\nc\n"), "a b c");
    }

    #[test]
    fn json_means_the_same_and_steers_nothing() {
        let document = serde_json::json!({ SAID: [SAID] });
        let shown = visible_json(document.to_string());
        assert!(!shown.contains(super::steers), "{shown}");
        assert_eq!(shown.parse().ok(), Some(document));
    }
}
