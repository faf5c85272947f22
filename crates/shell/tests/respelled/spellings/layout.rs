//! Line feeds, spaces and continued lines.

use super::{Edit, Edits, Line};
use crate::respelled::commands::lists;
use crate::respelled::lexer::{Kind, RESERVED, Token};

/// Calls `each` with the lists in which a line feed may replace `;`.
fn plain_lists(line: &Line<'_>, each: &mut impl FnMut(&[Token])) {
    lists(&line.tokens, &mut |tokens| {
        let is_plain = !tokens.iter().any(|token| {
            matches!(token.kind, Kind::Body { .. })
                || matches!(line.of(token), "for" | "select" | "case" | "function")
        });
        if is_plain {
            each(tokens);
        }
    });
}

pub(super) fn line_feeds(line: &Line<'_>, edits: &mut Edits) {
    if line.has_documents() {
        return;
    }
    plain_lists(line, &mut |tokens| {
        for token in tokens {
            if line.of(token) == ";" {
                edits.push(Edit {
                    start: token.start,
                    end: token.end,
                    text: "\n".to_owned(),
                });
            }
        }
    });
}

pub(super) fn semicolons(line: &Line<'_>, edits: &mut Edits) {
    plain_lists(line, &mut |tokens| {
        for three in tokens.windows(3) {
            let [before, token, after] = three else {
                continue;
            };
            let is_word = |token: &Token| {
                matches!(token.kind, Kind::Word(_)) && !RESERVED.contains(&line.of(token))
            };
            if matches!(token.kind, Kind::LineFeed) && is_word(before) && is_word(after) {
                edits.push(Edit {
                    start: token.start,
                    end: token.end,
                    text: "; ".to_owned(),
                });
            }
        }
    });
}

/// Calls `each` with the spaces between two tokens on one line.
fn gaps(line: &Line<'_>, each: &mut impl FnMut(usize, usize, &Token, &Token)) {
    lists(&line.tokens, &mut |tokens| {
        for two in tokens.windows(2) {
            if let [before, after] = two
                && !matches!(
                    before.kind,
                    Kind::LineFeed | Kind::Body { .. } | Kind::Comment
                )
                && !matches!(
                    after.kind,
                    Kind::LineFeed | Kind::Body { .. } | Kind::Comment
                )
            {
                each(before.end, after.start, before, after);
            }
        }
    });
}

pub(super) fn blanks(line: &Line<'_>, edits: &mut Edits, by: &str) {
    if by.contains('\n') && line.has_documents() {
        return;
    }
    gaps(line, &mut |start, end, _, _| {
        if line
            .text
            .get(start..end)
            .is_some_and(|gap| gap.starts_with(' '))
        {
            edits.push(Edit {
                start,
                end,
                text: by.to_owned(),
            });
        }
    });
}

pub(super) fn no_blanks(line: &Line<'_>, edits: &mut Edits) {
    gaps(line, &mut |start, end, before, after| {
        let is_word =
            |token: &Token| matches!(token.kind, Kind::Word(_) | Kind::Test(_) | Kind::Arithmetic);
        let (left, right) = (line.of(before), line.of(after));
        let is_reserved = RESERVED.contains(&left) || RESERVED.contains(&right);
        let joins = !(is_reserved || is_word(before) && is_word(after))
            // A number would become that of the redirection.
            && !(matches!(after.kind, Kind::Redirect)
                && (left.ends_with(|c: char| c.is_ascii_digit() || c == '}')
                    || right.starts_with(|c: char| c.is_ascii_digit() || c == '{')))
            && !(matches!(before.kind, Kind::Operator | Kind::Redirect)
                && matches!(after.kind, Kind::Operator | Kind::Redirect | Kind::Arithmetic))
            && !(matches!(before.kind, Kind::Redirect) && right.starts_with(['<', '>', '-', '(', '&']))
            && !(matches!(before.kind, Kind::Operator) && right.starts_with(['>', '<']))
            && !(is_word(before) && right == "(")
            && !(is_word(before) && right.starts_with("&>") && left.ends_with(|c: char| c.is_ascii_digit()));
        if joins && end > start {
            edits.push(Edit {
                start,
                end,
                text: String::new(),
            });
        }
    });
}
