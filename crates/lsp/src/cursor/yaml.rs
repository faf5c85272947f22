//! The structure of YAML by its indentation, as far as it is written.

use super::{
    Expected, Step, TextEnd,
    flow::{self, Syntax, end_of_quoted},
};

/// A key or a dash that what follows may belong to.
#[derive(Debug)]
struct Level {
    column: usize,
    step: Step,
}

/// The content of a line, apart from its keys and dashes.
#[derive(Debug)]
struct Rest {
    /// Where it begins, in bytes of the line.
    start: usize,
    /// Whether it follows the colon of a key on the same line.
    behind_key: bool,
}

/// Follows a text to its end; `None` if it ends in a comment or in a block of text.
pub(super) fn follow(text: &str) -> Option<TextEnd> {
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    loop {
        let line = line_at(text, at);
        let is_last = at + line.len() >= text.len() && !line.ends_with('\n');
        let content = line.trim_end_matches(['\n', '\r']);
        let is_blank = content.trim().is_empty() || content.trim_start().starts_with('#');
        if is_blank && !is_last {
            at += line.len();
            continue;
        }
        if content.trim_start().starts_with('#') {
            return None;
        }
        let rest = parts(content, &mut levels);
        let value = content.get(rest.start..).unwrap_or_default();
        let start = at + rest.start;
        match value.chars().next() {
            Some('{' | '[') => {
                let open = flow::follow(text.get(start..)?, Syntax::Yaml)?;
                match open.ended {
                    Some(end) => at = line_end(text, start + end),
                    None => return Some(joined(levels, open, start)),
                }
                // Nothing follows a bracket that closes in the same line.
                if at >= text.len() && !text.ends_with('\n') {
                    return None;
                }
                continue;
            }
            Some('|' | '>') => {
                let indent = block_indent(content, &levels);
                at = behind_block(text, at + line.len(), indent)?;
                continue;
            }
            Some(quote @ ('"' | '\'')) => {
                let end = end_of_quoted(text, start, quote);
                if end >= text.len() {
                    return Some(ended(levels, &rest, start));
                }
                if end > at + line.len() {
                    at = line_end(text, end);
                    continue;
                }
            }
            _ => {}
        }
        if is_last {
            return match comment(value) {
                true => None,
                false => Some(ended(levels, &rest, start)),
            };
        }
        at += line.len();
    }
}

/// Reads the dashes and the keys of a line, and returns the rest of it.
fn parts(line: &str, levels: &mut Vec<Level>) -> Rest {
    let mut start = line.len() - line.trim_start_matches(' ').len();
    let mut behind_key = false;
    loop {
        let rest = line.get(start..).unwrap_or_default();
        let is_dash = rest == "-" || rest.starts_with("- ") || rest.starts_with("-\t");
        if is_dash && !behind_key {
            close(levels, start, true);
            levels.push(Level {
                column: start,
                step: Step::Item,
            });
            let after = rest.get(1..).unwrap_or_default();
            start += 1 + (after.len() - after.trim_start().len());
            continue;
        }
        if !behind_key {
            close(levels, start, false);
        }
        let Some(end) = key_end(rest).filter(|_| !behind_key) else {
            return Rest { start, behind_key };
        };
        let key = super::unquoted(rest.get(..end).unwrap_or_default()).to_owned();
        levels.push(Level {
            column: start,
            step: Step::Key(key),
        });
        let after = rest.get(end + 1..).unwrap_or_default();
        // What follows its colon is its value, however far to the right.
        start += end + 1 + (after.len() - after.trim_start().len());
        behind_key = true;
    }
}

/// Closes the levels that something at `column` is not a part of.
fn close(levels: &mut Vec<Level>, column: usize, is_dash: bool) {
    while let Some(last) = levels.last() {
        // A list may be in the column of its key.
        let is_list_of = is_dash && last.column == column && last.step != Step::Item;
        if last.column < column || is_list_of {
            return;
        }
        levels.pop();
    }
}

/// Finds the colon that ends a key at the beginning of a text.
fn key_end(text: &str) -> Option<usize> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => {
            let end = end_of_quoted(text, 0, quote);
            let after = text.get(end..)?;
            let spaces = after.len() - after.trim_start().len();
            return after.trim_start().starts_with(':').then_some(end + spaces);
        }
        '{' | '[' | '#' | '&' | '*' | '!' | '|' | '>' => return None,
        _ => {}
    }
    let mut before = None;
    for (at, letter) in text.char_indices() {
        if letter == '#' && before == Some(' ') {
            return None;
        }
        if letter == ':' {
            let next = text.get(at + 1..)?.chars().next();
            if next.is_none_or(char::is_whitespace) {
                return Some(at);
            }
        }
        before = Some(letter);
    }
    None
}

/// Returns whether a value ends in a comment.
fn comment(value: &str) -> bool {
    value.starts_with('#') || value.contains(" #")
}

fn ended(levels: Vec<Level>, rest: &Rest, word: usize) -> TextEnd {
    let wanted = if rest.behind_key {
        Expected::Value
    } else {
        Expected::Either
    };
    TextEnd {
        path: levels.into_iter().map(|level| level.step).collect(),
        wanted,
        word,
        in_flow: false,
    }
}

fn joined(levels: Vec<Level>, open: flow::Open, start: usize) -> TextEnd {
    let is_list = open.is_list();
    let inner = open.place();
    let path = levels.into_iter().map(|level| level.step);
    TextEnd {
        path: path.chain(inner.path).collect(),
        wanted: if is_list {
            Expected::Either
        } else {
            inner.wanted
        },
        word: start + inner.word,
        in_flow: true,
    }
}

/// Returns the minimum number of columns by which the lines of a text block are indented.
fn block_indent(line: &str, levels: &[Level]) -> usize {
    let own = line.len() - line.trim_start_matches(' ').len();
    levels.last().map_or(own, |level| level.column) + 1
}

/// Returns where the first line after a text block begins; `None` if the text ends within it.
fn behind_block(text: &str, from: usize, indent: usize) -> Option<usize> {
    let mut at = from;
    let mut has_text = false;
    loop {
        let line = line_at(text, at);
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let is_last = !line.ends_with('\n');
        let is_blank = line.trim().is_empty();
        // An empty line may be part of the block; at the end of the text, something new may begin there.
        if spaces < indent && (!is_blank || (is_last && has_text)) {
            return Some(at);
        }
        if is_last {
            return None;
        }
        has_text |= !is_blank;
        at += line.len();
    }
}

fn line_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
    rest.get(..end).unwrap_or_default()
}

fn line_end(text: &str, at: usize) -> usize {
    at + line_at(text, at).len()
}
