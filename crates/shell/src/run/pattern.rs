//! The end of a pattern between slashes, for `sed` and `awk`.

/// The program that the pattern belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sed,
    Awk,
}

/// Returns the width of the pattern at the start of `text`, up to its `end`.
///
/// Returns `None` if it does not end in its line, or if implementations differ. Between square brackets every `sed` treats `end`
/// as a literal; of the implementations of `awk`, only some do.
pub(super) fn width(text: &str, end: char, kind: Kind) -> Option<usize> {
    let mut rest = text;
    loop {
        let c = rest.chars().next()?;
        let at = text.len() - rest.len();
        let after = rest.get(c.len_utf8()..)?;
        match c {
            '\n' => return None,
            _ if c == end => return Some(at),
            '\\' => {
                let escaped = after.chars().next().filter(|c| *c != '\n')?;
                rest = after.get(escaped.len_utf8()..)?;
            }
            '[' => rest = after.get(set_width(after, end, kind)?..)?,
            _ => rest = after,
        }
    }
}

/// Returns the width of a set including its `]`; `None` if unsure.
fn set_width(text: &str, end: char, kind: Kind) -> Option<usize> {
    let is_itself = kind == Kind::Sed && !matches!(end, '[' | ']' | '^' | '-' | ':' | '.' | '=');
    let negated = text.strip_prefix('^').unwrap_or(text);
    // The first bracket is literal.
    let mut rest = negated.strip_prefix(']').unwrap_or(negated);
    loop {
        let c = rest.chars().next()?;
        let after = rest.get(c.len_utf8()..)?;
        match c {
            _ if c == end && is_itself => rest = after,
            _ if c == end || c == '\n' || c == '\\' => {
                // A backslash is literal here in some implementations and an escape in others.
                let escaped = after.chars().next()?;
                let is_plain = c == '\\'
                    && escaped != ']'
                    && escaped != '['
                    && escaped != '\n'
                    && escaped != '\\';
                if !is_plain {
                    return None;
                }
                rest = after.get(escaped.len_utf8()..)?;
            }
            ']' => return Some(text.len() - after.len()),
            '[' => match after.chars().next() {
                Some(kind @ (':' | '.' | '=')) => {
                    let inner = after.get(1..)?;
                    let close = inner.find([kind, ']', end, '\n'])?;
                    let tail = inner.get(close..)?.strip_prefix(kind)?.strip_prefix(']')?;
                    rest = tail;
                }
                _ => rest = after,
            },
            _ => rest = after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, width};

    #[test]
    fn a_pattern_ends_at_its_slash() {
        for (text, expected) in [
            ("a/b", Some(1)),
            ("/", Some(0)),
            (r"a\/b/c", Some(4)),
            ("[a]/", Some(3)),
            ("[^a]b/", Some(5)),
            ("[]a]/", Some(4)),
            ("[^]a]/", Some(5)),
            ("[[:alpha:]_]/", Some(12)),
            (r"[\t ]/", Some(5)),
            ("[a/]/", None),
            ("[]/]/", None),
            ("[[:a]/:]]/", None),
            (r"[\]/]/", None),
            ("[a", None),
            ("a", None),
            ("a\n/", None),
            ("\\\n/", None),
        ] {
            assert_eq!(width(text, '/', Kind::Awk), expected, "{text}");
        }
    }

    #[test]
    fn between_brackets_sed_takes_a_slash_for_itself() {
        for (text, expected) in [
            ("[/]/", Some(3)),
            ("[^/]*$/", Some(6)),
            ("[]/]/", Some(4)),
            ("[^]/]/", Some(5)),
            ("[[:space:]/]/", Some(12)),
            ("[a/b", None),
            (r"[\/]/", Some(4)),
            (r"[\]/]/", None),
        ] {
            assert_eq!(width(text, '/', Kind::Sed), expected, "{text}");
        }
    }
}
