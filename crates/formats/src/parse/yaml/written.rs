//! Scalars as written, without types.

use std::{borrow::Cow, ops::Range};

use super::{Collected, Read, Reader, SyntaxError, mark_len, not_text};
use crate::{
    node::{Kind, Node},
    parse::Scalars,
};

/// Maximum number of unquoted texts that begin with `@`; each costs another pass over the file.
const MARKS_MAX: usize = 64;

/// Parses `text` with its scalars as written.
///
/// Also returns where an `@` begins an unquoted text, which YAML reserves.
pub(in crate::parse) fn parse_as_written(
    text: &str,
    file: usize,
) -> Read<(Node, Vec<Range<usize>>)> {
    let skipped = mark_len(text);
    let mut body = text.get(skipped..).unwrap_or_default().to_owned();
    let mut marks: Vec<usize> = Vec::new();
    loop {
        let mut reader = Reader::new(&body, skipped, file, Scalars::AsWritten);
        reader.marks = &marks;
        let broken = match reader.whole() {
            Ok(root) => {
                let long = |at: &usize| *at..*at + word_len(text, *at);
                return Ok((root, marks.iter().map(long).collect()));
            }
            Err(broken) => broken,
        };
        let at = broken
            .scan
            .filter(|at| marks.len() < MARKS_MAX && text.get(*at..).is_some_and(begins_path));
        let Some(at) = at else {
            return Err(match broken.state {
                Some(state) if broken.scan.is_some() => advise(broken.error, &state),
                _ => broken.error,
            });
        };
        marks.push(at);
        let here = at - skipped;
        body.replace_range(here..=here, "_");
    }
}

fn begins_path(rest: &str) -> bool {
    rest.starts_with("@/")
}

fn word_len(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find([' ', '\t', '\n', '\r', ',', ']', '}'])
        .unwrap_or(rest.len())
}

fn advise(error: SyntaxError, state: &str) -> SyntaxError {
    SyntaxError {
        message: format!("{} (in the state `{state}`)", error.message),
        ..error
    }
    .help(format!(
        "in `{state}`, put the text in quotes, or write it as a block below `|`"
    ))
}

/// Keeps a scalar as written; `marked` if the parser saw its `@` as a letter.
pub(super) fn scalar(text: Cow<'_, str>, plain: bool, marked: bool) -> Kind {
    if !plain {
        return Kind::Text(text.into_owned());
    }
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        other if marked => {
            let rest = other.strip_prefix('_').unwrap_or(other);
            Kind::Plain(format!("@{rest}"))
        }
        _ => Kind::Plain(text.into_owned()),
    }
}

impl Reader<'_> {
    /// Refuses a key that is indented with tabs, which the parser accepts at the top level.
    pub(super) fn refuse_tab(&self, start: usize) -> Read<()> {
        let is_block = self.open.last().is_some_and(|open| {
            matches!(open.held, Collected::Map { key: None, .. })
                && !self.places.rest(open.start).starts_with('{')
        });
        let before = self.places.line_before(start);
        if is_block && before.contains('\t') && before.chars().all(char::is_whitespace) {
            let at = start - before.len();
            return Err(
                SyntaxError::new(at..start, "a tab cannot indent").help("indent with blanks")
            );
        }
        Ok(())
    }

    /// Returns the error for a list or map as a key.
    pub(super) fn map_as_key(&self, start: usize) -> SyntaxError {
        let within = start.checked_sub(1).map(|at| self.places.rest(at));
        if self.scalars == Scalars::AsWritten && within.is_some_and(|rest| rest.starts_with("{{")) {
            return SyntaxError::new(start - 1..start + 1, "a template that is not in quotes")
                .code("unquoted_template")
                .help("put the whole text in quotes: \"{{ name }}\"");
        }
        not_text(start..start + 1)
    }
}
