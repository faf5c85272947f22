//! Lists of words, written as packed text.

/// Expands to the list of words of a text that is known at compile time.
macro_rules! words {
    ($text:literal) => {{
        const COUNT: usize = $crate::words::count($text);
        const WORDS: [&str; COUNT] = $crate::words::split($text);
        &WORDS
    }};
}

pub(crate) use words;

/// Counts the words of a text.
pub(crate) const fn count(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text.trim_ascii();
    while !rest.is_empty() {
        rest = first(rest).1;
        count += 1;
    }
    count
}

/// Splits a text into its `N` words.
pub(crate) const fn split<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut words = [""; N];
    let mut left: &mut [&str] = &mut words;
    let mut rest = text.trim_ascii();
    while let Some((word, others)) = { left }.split_first_mut() {
        (*word, rest) = first(rest);
        left = others;
    }
    words
}

/// Splits the first word from a text, and trims the rest.
const fn first(text: &str) -> (&str, &str) {
    let mut bytes = text.as_bytes();
    let mut length = 0;
    while let Some((byte, others)) = bytes.split_first() {
        if byte.is_ascii_whitespace() {
            break;
        }
        length += 1;
        bytes = others;
    }
    match text.split_at_checked(length) {
        Some((word, rest)) => (word, rest.trim_ascii_start()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_split_wherever_a_line_ends() {
        const NONE: &[&str] = words!("");
        const WORDS: &[&str] = words!(
            " one two=
             three-é "
        );
        assert_eq!(NONE, [""; 0]);
        assert_eq!(WORDS, ["one", "two=", "three-é"]);
    }
}
