//! Finds the structural position of a place in a workflow file, even if the text is incomplete.
//!
//! While somebody types, the file cannot be parsed. Therefore its structure is followed line by line: by
//! indentation in YAML, by brackets in JSON and in YAML's flow style.

mod flow;
mod yaml;

use std::ops::Range;

/// A step from a value to something inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item,
}

/// What is possible at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A key of the object that the path leads to.
    Key,
    /// The value that the path leads to.
    Value,
    /// Either: a line of YAML that has no colon yet.
    Either,
}

/// What the structure of a text determines about its end.
#[derive(Debug)]
struct TextEnd {
    path: Vec<Step>,
    wanted: Expected,
    /// Where the word at the end begins.
    word: usize,
    /// Whether it is between brackets.
    in_flow: bool,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The keys and items from the top of the file to the place.
    pub(crate) path: Vec<Step>,
    /// What is possible there.
    pub(crate) wanted: Expected,
    /// The word at the place, including its quotes.
    pub(crate) word: Range<usize>,
    /// Whether a colon follows the word.
    pub(crate) has_colon: bool,
}

impl Cursor {
    /// Finds the position of a byte; `None` if it is in a comment or in a block of text.
    pub(crate) fn at(text: &str, is_json: bool, byte: usize) -> Option<Self> {
        let before = text.get(..byte)?;
        let place = if is_json {
            flow::follow(before, flow::Syntax::Json)?.place()
        } else {
            yaml::follow(before)?
        };
        let end = word_end(text, place.word, byte, place.in_flow);
        let behind = text.get(end..).unwrap_or_default();
        let has_colon = behind.trim_start_matches([' ', '\t']).starts_with(':');
        Some(Self {
            path: place.path,
            wanted: place.wanted,
            word: place.word..end,
            has_colon,
        })
    }

    /// Returns whether the word at the place is a key.
    pub(crate) fn is_key(&self) -> bool {
        match self.wanted {
            Expected::Key => true,
            Expected::Either => self.has_colon,
            Expected::Value => false,
        }
    }

    /// Returns the last key of the path.
    pub(crate) fn last_key(&self) -> Option<&str> {
        self.keys().next()
    }

    /// Returns the keys of the path, the innermost first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.path.iter().rev().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item => None,
        })
    }
}

/// Finds the end of the word that begins at `start` and contains the byte `at`.
fn word_end(text: &str, start: usize, at: usize, in_flow: bool) -> usize {
    let word = text.get(start..).unwrap_or_default();
    let line = word.lines().next().unwrap_or_default();
    if let Some(quote) = line
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''))
    {
        return (start + flow::end_of_quoted(line, 0, quote)).max(at);
    }
    let ends = |(offset, letter): (usize, char)| {
        let rest = line.get(offset + letter.len_utf8()..).unwrap_or_default();
        match letter {
            ':' => in_flow || rest.chars().next().is_none_or(char::is_whitespace),
            ',' | ']' | '}' => in_flow,
            '#' => line
                .get(..offset)
                .is_some_and(|before| before.ends_with(' ')),
            _ => false,
        }
    };
    let mut behind = line
        .char_indices()
        .filter(|(offset, _)| start + offset >= at);
    let end = behind.find(|letter| ends(*letter));
    let end = end.map_or(line.len(), |(offset, _)| offset);
    let kept = line.get(..end).unwrap_or_default().trim_end().len();
    (start + kept).max(at)
}

/// Returns a word without its quotes.
pub(crate) fn unquoted(word: &str) -> &str {
    let word = word.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| {
            let inner = word.strip_prefix(*quote)?;
            Some(inner.strip_suffix(*quote).unwrap_or(inner))
        })
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Expected, Step, unquoted};

    /// Finds the position of `|` in a text, written as a path with what is wanted and the word.
    fn place(text: &str, is_json: bool) -> Option<String> {
        let at = text.find('|').unwrap_or(text.len());
        let text = text.replacen('|', "", 1);
        let cursor = Cursor::at(&text, is_json, at)?;
        let steps: Vec<&str> = cursor
            .path
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.as_str(),
                Step::Item => "-",
            })
            .collect();
        let wanted = match cursor.wanted {
            Expected::Key => "key",
            Expected::Value => "value",
            Expected::Either => "either",
        };
        let word = unquoted(text.get(cursor.word).unwrap_or_default());
        Some(format!("{} {wanted} {word}", steps.join("/")))
    }

    fn yaml(text: &str) -> String {
        place(text, false).unwrap_or_default()
    }

    fn json(text: &str) -> String {
        place(text, true).unwrap_or_default()
    }

    #[test]
    fn yaml_is_followed_by_its_indentation() {
        for (text, expected) in [
            ("|", " either "),
            ("id: a\nini|", " either ini"),
            ("states:\n  work:\n    |", "states/work either "),
            (
                "states:\n  work:\n    on:\n      GO: do|ne\n",
                "states/work/on/GO value done",
            ),
            (
                "states:\n  a: {x: 1}\n  b:\n    all|: 1",
                "states/b either all",
            ),
            (
                "states:\n  - id: x\n    next:\n      state_id: |",
                "states/-/next/state_id value ",
            ),
            ("states:\n- id: x\n  ta|", "states/- either ta"),
            ("states:\n- id: x\n- |", "states/- either "),
            ("states:\n- id: x\nna|", " either na"),
            ("a:\n  - - b: |", "a/-/-/b value "),
            ("a: # words: here\n  b|", "a either b"),
            ("a:\n\n  # c:\n  b|", "a either b"),
            ("'a b':\n  c|", "a b either c"),
            ("a: 'x: {'\nb|", " either b"),
            ("a:\r\n  b: 1\r\n  c|\r\n", "a either c"),
            ("a: don't {\nb: |", "b value "),
        ] {
            assert_eq!(yaml(text), expected, "{text:?}");
        }
    }

    #[test]
    fn brackets_in_yaml_are_followed() {
        for (text, expected) in [
            ("a:\n  b: {c: |", "a/b/c value "),
            ("a:\n  b: {c: x, d|", "a/b key d"),
            ("a: [x, y|]", "a/- either y"),
            ("a: [{b: 1, c: \"x|\"}]", "a/-/c value x"),
            ("a: {\n  b: [\n    c|", "a/b/- either c"),
            ("a: {b: 1}\nc|", " either c"),
            ("a: [b, {c: d}]\ne:\n  f|", "e either f"),
            ("a: {'x}': |", "a/x} value "),
            ("- {a: {b|", "-/a key b"),
        ] {
            assert_eq!(yaml(text), expected, "{text:?}");
        }
    }

    #[test]
    fn text_of_several_lines_and_comments_are_no_place() {
        assert_eq!(place("# x|", false), None);
        assert_eq!(place("a: b # x|", false), None);
        assert_eq!(Cursor::at("a: >-\n  b: c", false, 11), None);
        assert_eq!(yaml("a: >\n  b: c\nd|"), " either d");
        assert_eq!(yaml("a: >\n  b: {\n\n  c\nd|"), " either d");
    }

    #[test]
    fn json_is_followed_by_its_brackets() {
        for (text, expected) in [
            ("{|", " key "),
            ("{\"a|", " key a"),
            ("{\"a\": {\"b\": \"c|\"}}", "a/b value c"),
            ("{\"a\": [1, {\"b\": |", "a/-/b value "),
            ("{\"a\": \"x\\\"}{\", \"b|\": 1}", " key b"),
            ("{\"a\": {\"b\": 1}, |}", " key "),
            ("[[tr|", "-/- value tr"),
        ] {
            assert_eq!(json(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_word_that_a_colon_follows_is_a_key() {
        let text = "states:\n  work: {}\n";
        let cursor = Cursor::at(text, false, 12);
        assert!(cursor.is_some_and(|cursor| cursor.is_key() && cursor.word == (10..14)));
        let cursor = Cursor::at("{a: b}", false, 4);
        assert!(cursor.is_some_and(|cursor| !cursor.is_key()));
    }
}
