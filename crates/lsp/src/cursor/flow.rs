//! Objects and lists between brackets, as far as they are written.

use super::{Expected, Step, TextEnd};

/// How values between brackets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON.
    Json,
    /// YAML, where words need no quotes and `#` begins a comment.
    Yaml,
}

/// The brackets that are open at the end of a text.
#[derive(Debug)]
pub(super) struct Open {
    frames: Vec<Frame>,
    /// Where the word at the end begins.
    word: usize,
    /// Where the outermost value ended, if it did.
    pub(super) ended: Option<usize>,
}

#[derive(Debug)]
struct Frame {
    is_object: bool,
    /// The key whose value comes next; set only after its colon.
    key: Option<String>,
}

impl Open {
    /// Returns whether the innermost bracket is that of a list.
    pub(super) fn is_list(&self) -> bool {
        self.frames.last().is_some_and(|frame| !frame.is_object)
    }

    /// Returns what the brackets determine about the end of the text.
    pub(super) fn place(self) -> TextEnd {
        let last = self.frames.len().saturating_sub(1);
        let mut wanted = Expected::Value;
        let mut steps = Vec::new();
        for (at, frame) in self.frames.into_iter().enumerate() {
            match (frame.is_object, frame.key) {
                (true, Some(key)) => steps.push(Step::Key(key)),
                (true, None) if at == last => wanted = Expected::Key,
                (true, None) => {}
                (false, _) => steps.push(Step::Item),
            }
        }
        TextEnd {
            path: steps,
            wanted,
            word: self.word,
            in_flow: true,
        }
    }
}

/// Follows a text from its beginning; `None` if it ends within a comment.
pub(super) fn follow(text: &str, syntax: Syntax) -> Option<Open> {
    let mut open = Open {
        frames: Vec::new(),
        word: 0,
        ended: None,
    };
    let mut letters = text.char_indices().peekable();
    // The last whole word, for the colon after it.
    let mut word: Option<(usize, usize)> = None;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '{' | '[' => {
                open.frames.push(Frame {
                    is_object: letter == '{',
                    key: None,
                });
                (word, open.word) = (None, at + 1);
            }
            '}' | ']' => {
                open.frames.pop();
                (word, open.word) = (None, at + 1);
                if open.frames.is_empty() {
                    open.ended = Some(at + 1);
                    if syntax == Syntax::Yaml {
                        return Some(open);
                    }
                }
            }
            ',' => {
                if let Some(frame) = open.frames.last_mut() {
                    frame.key = None;
                }
                (word, open.word) = (None, at + 1);
            }
            ':' if is_colon(syntax, text, at, word) => {
                let key = word.and_then(|(start, end)| text.get(start..end));
                if let (Some(frame), Some(key)) = (open.frames.last_mut(), key)
                    && frame.is_object
                    && frame.key.is_none()
                {
                    frame.key = Some(super::unquoted(key).to_owned());
                }
                (word, open.word) = (None, at + 1);
            }
            '#' if syntax == Syntax::Yaml && is_after_space(text, at) => {
                // To the end of the line.
                letters.find(|(_, letter)| *letter == '\n')?;
            }
            '"' | '\'' if word.is_none() && (syntax == Syntax::Yaml || letter == '"') => {
                open.word = at;
                let end = end_of_quoted(text, at, letter);
                while letters.next_if(|(next, _)| *next < end).is_some() {}
                word = Some((at, end));
                if end >= text.len() {
                    break;
                }
            }
            letter if letter.is_whitespace() => {
                if word.is_none() {
                    open.word = at + letter.len_utf8();
                }
            }
            _ => {
                let start = word.map_or(at, |(start, _)| start);
                word = Some((start, at + letter.len_utf8()));
                open.word = start;
            }
        }
    }
    Some(open)
}

/// Finds the byte after a quoted word; the end of the text if it is not closed.
pub(super) fn end_of_quoted(text: &str, start: usize, quote: char) -> usize {
    let mut escaped = false;
    let inner = text.get(start + 1..).unwrap_or_default();
    for (at, letter) in inner.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '\\' && quote == '"' {
            escaped = true;
        } else if letter == quote {
            return start + 1 + at + 1;
        }
    }
    text.len()
}

/// Returns whether there is a colon after a key: in YAML only before a space, or after quotes.
fn is_colon(syntax: Syntax, text: &str, at: usize, word: Option<(usize, usize)>) -> bool {
    let next = text.get(at + 1..).and_then(|rest| rest.chars().next());
    let is_quoted = word
        .and_then(|(start, _)| text.get(start..))
        .is_some_and(|word| word.starts_with(['"', '\'']));
    syntax == Syntax::Json
        || is_quoted
        || next.is_none_or(|next| next.is_whitespace() || matches!(next, '{' | '[' | ',' | '}'))
}

fn is_after_space(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_none_or(char::is_whitespace)
}
