//! Beginnings of commands as words.

/// Splits `entry` into shell words; `None` when it is not literal.
pub(crate) fn split(entry: &str) -> Option<Vec<String>> {
    if entry.contains(|c: char| {
        matches!(
            c,
            ';' | '&' | '|' | '<' | '>' | '$' | '`' | '(' | ')' | '\n' | '"' | '\'' | '\\'
        )
    }) {
        return interlock_shell::split_entry(entry);
    }
    let mut words: Vec<String> = entry.split_whitespace().map(str::to_owned).collect();
    words.pop_if(|last| last == "*");
    Some(words)
}
