//! A template to its pieces, by the marks alone.

use std::ops::Range;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// All of it, marks included.
    pub(super) whole: Range<usize>,
    /// What stands between the marks, without those that trim blanks.
    pub(super) inner: Range<usize>,
    /// Whether blanks before and after it are trimmed.
    pub(super) trims: (bool, bool),
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Literal text, a comment, or text that is marked as raw.
    Plain,
    /// `{{ … }}`.
    Print,
    /// `{% … %}`, with its first word.
    Statement(String),
    /// It begins and does not end.
    Open,
}

/// Splits a template.
pub(super) fn pieces(source: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(start) = next_mark(source, at) {
        if start > at {
            pieces.push(plain(at..start));
        }
        let piece = block(source, start);
        at = piece.whole.end;
        let raw = piece.kind == Kind::Statement("raw".to_owned());
        if !raw {
            pieces.push(piece);
            continue;
        }
        // What is raw holds no blocks.
        let end = end_of_raw(source, at).unwrap_or(source.len());
        at = end;
        pieces.push(plain(start..end));
    }
    if at < source.len() {
        pieces.push(plain(at..source.len()));
    }
    pieces
}

const fn plain(whole: Range<usize>) -> Piece {
    Piece {
        kind: Kind::Plain,
        inner: whole.start..whole.end,
        whole,
        trims: (false, false),
    }
}

fn next_mark(source: &str, from: usize) -> Option<usize> {
    let rest = source.get(from..)?;
    let marks = ["{{", "{%", "{#"].into_iter();
    marks
        .filter_map(|mark| rest.find(mark))
        .min()
        .map(|at| from + at)
}

/// Reads the block that begins at `start`.
fn block(source: &str, start: usize) -> Piece {
    let rest = source.get(start..).unwrap_or_default();
    let (open, close) = match rest.get(..2) {
        Some("{{") => ("{{", "}}"),
        Some("{%") => ("{%", "%}"),
        _ => ("{#", "#}"),
    };
    let inner = start + open.len();
    let end = if open == "{#" {
        source.get(inner..).and_then(|rest| rest.find(close))
    } else {
        source.get(inner..).and_then(|rest| closing(rest, close))
    };
    let Some(end) = end.map(|end| inner + end) else {
        return Piece {
            kind: Kind::Open,
            whole: start..source.len(),
            inner: inner..source.len(),
            trims: (false, false),
        };
    };
    let text = source.get(inner..end).unwrap_or_default();
    let before = text.starts_with(['-', '+']);
    let after = text.len() > 1 && text.ends_with(['-', '+']);
    let inner = inner + usize::from(before)..end - usize::from(after);
    let word = source.get(inner.clone()).unwrap_or_default().trim_start();
    let word = word
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    let kind = match open {
        "{{" => Kind::Print,
        "{%" => Kind::Statement(word.to_owned()),
        _ => Kind::Plain,
    };
    let whole = start..end + close.len();
    Piece {
        trims: (text.starts_with('-'), after && text.ends_with('-')),
        kind,
        whole,
        inner,
    }
}

/// Finds the closing mark that stands in no text and in no braces.
fn closing(text: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None => {
                if depth == 0 && text.get(at..).is_some_and(|rest| rest.starts_with(close)) {
                    return Some(at);
                }
                match letter {
                    '\'' | '"' => quote = Some(letter),
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
    None
}

fn end_of_raw(source: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let start = at + source.get(at..)?.find("{%")?;
        let piece = block(source, start);
        if piece.kind == Kind::Statement("endraw".to_owned()) {
            return Some(piece.whole.end);
        }
        at = start + 2;
    }
}

/// Returns the first name that begins with `_`, outside of texts.
pub(super) fn hidden_name(text: &str) -> Option<&str> {
    let mut quote = None;
    let mut escaped = false;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            None if letter == '_' && !before.is_alphanumeric() && before != '_' => {
                let rest = text.get(at..)?;
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                return rest.get(..end.unwrap_or(rest.len()));
            }
            None => {}
        }
        before = letter;
    }
    None
}
