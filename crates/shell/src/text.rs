//! Checks the characters of a line before any grammar.

/// Maximum length of a line in bytes.
pub(crate) const LENGTH_MAX: usize = 64 * 1024;
/// Maximum number of simple commands in a line.
pub(crate) const COMMANDS_MAX: usize = 1_000;
/// Maximum number of words in a line.
pub(crate) const WORDS_MAX: usize = 4_000;
/// Maximum nesting of brackets, braces, quotes and substitutions.
pub(crate) const NESTING_MAX: usize = 100;

/// Maximum number of substitutions in a line.
pub(crate) const SUBSTITUTIONS_MAX: usize = 1_000;
/// Maximum number of expansions of variables and numbers in a line.
pub(crate) const EXPANSIONS_MAX: usize = 10_000;
/// Maximum length of a reason in characters.
const REASON_MAX: usize = 240;

/// Shortens a reason that quotes a long part of the line.
pub(crate) fn short(reason: &str) -> String {
    match reason.char_indices().nth(REASON_MAX) {
        Some((at, _)) => format!("{}…", reason.get(..at).unwrap_or_default()),
        None => reason.to_owned(),
    }
}

/// Returns why `line` is not parsed, judging single characters only.
pub(crate) fn refuse(line: &str) -> Option<String> {
    if line.len() > LENGTH_MAX {
        return Some("the line is longer than 64 KiB".to_owned());
    }
    for (at, c) in line.char_indices() {
        if c.is_control() && c != '\t' && c != '\n' {
            return Some(format!(
                "control character U+{:04X} at byte {at}",
                u32::from(c)
            ));
        }
        if is_bidirectional(c) {
            return Some(format!(
                "bidirectional control U+{:04X} at byte {at}",
                u32::from(c)
            ));
        }
    }
    None
}

/// Returns whether `c` changes the direction in which text is shown.
fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether `c` is a blank, invisible or format character beyond ASCII.
pub(crate) fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    c.is_whitespace()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}'
            | '\u{890}' | '\u{891}' | '\u{8E2}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}
