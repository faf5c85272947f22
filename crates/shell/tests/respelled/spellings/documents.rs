//! Here-documents with tabs and with other end marks.

use super::{Edit, Edits, Line};
use crate::respelled::commands::lists;
use crate::respelled::lexer::{Kind, Token};

/// Calls `each` with the operator, the end mark and the body of each here-document.
fn documents<'l>(
    line: &'l Line<'_>,
    each: &mut impl FnMut(&'l Token, &'l Token, &'l Token, usize),
) {
    lists(&line.tokens, &mut |tokens| {
        for token in tokens {
            if let Kind::Body { mark, opener } = token.kind
                && let (Some(operator), Some(word)) = (tokens.get(opener), tokens.get(opener + 1))
            {
                each(operator, word, token, mark);
            }
        }
    });
}

pub(super) fn tabs(line: &Line<'_>, edits: &mut Edits) {
    documents(line, &mut |operator, word, body, mark| {
        let text = line.of(body);
        let is_quoted = line.of(word).contains(['\'', '"', '\\']);
        let inner = line.text.get(body.start..mark).unwrap_or_default();
        let is_tabbed = text.starts_with('\t') || text.contains("\n\t");
        // Whether a continued line is joined after its tabs are removed depends on the shell.
        if line.of(operator).ends_with('-') || is_tabbed || !is_quoted && inner.contains("\\\n") {
            return;
        }
        edits.push(Edit {
            start: operator.end,
            end: operator.end,
            text: "-".to_owned(),
        });
        edits.push(Edit {
            start: body.start,
            end: body.end,
            text: text
                .split('\n')
                .map(|row| format!("\t{row}"))
                .collect::<Vec<_>>()
                .join("\n"),
        });
    });
}

pub(super) fn no_tabs(line: &Line<'_>, edits: &mut Edits) {
    documents(line, &mut |operator, _, body, _| {
        if line.of(operator).ends_with('-') {
            edits.push(Edit {
                start: operator.end - 1,
                end: operator.end,
                text: String::new(),
            });
            edits.push(Edit {
                start: body.start,
                end: body.end,
                text: line
                    .of(body)
                    .split('\n')
                    .map(|row| row.trim_start_matches('\t'))
                    .collect::<Vec<_>>()
                    .join("\n"),
            });
        }
    });
}

pub(super) fn marks(line: &Line<'_>, edits: &mut Edits, before: &str, after: &str) {
    documents(line, &mut |_, word, body, mark| {
        let source = line.of(word);
        let is_quoted = source.contains(['\'', '"', '\\']);
        let inner = line.text.get(body.start..mark).unwrap_or_default();
        if is_quoted || !inner.contains(['$', '`', '\\']) {
            let plain: String = source.chars().filter(|c| !"'\"\\".contains(*c)).collect();
            edits.push(Edit {
                start: word.start,
                end: word.end,
                text: format!("{before}{plain}{after}"),
            });
        }
    });
}
