//! Redirections in other forms and at other places.

use super::{Edit, Edits, Line};
use crate::respelled::commands::lists;
use crate::respelled::lexer::{Kind, Token};

/// Calls `each` with each redirection, its operator and its target.
fn redirections(line: &Line<'_>, each: &mut impl FnMut(&Token, &str, &Token, Option<&Token>)) {
    lists(&line.tokens, &mut |tokens| {
        for (at, token) in tokens.iter().enumerate() {
            if matches!(token.kind, Kind::Redirect)
                && let Some(target) = tokens.get(at + 1)
            {
                each(token, line.of(token), target, tokens.get(at + 2));
            }
        }
    });
}

pub(super) fn both_streams(line: &Line<'_>, edits: &mut Edits) {
    redirections(line, &mut |operator, text, target, _| {
        if let Some(plain) = text.strip_prefix('&') {
            edits.push(Edit {
                start: operator.start,
                end: target.end,
                text: format!("{plain} {} 2>&1", line.of(target)),
            });
        }
    });
}

pub(super) fn both_at_once(line: &Line<'_>, edits: &mut Edits) {
    lists(&line.tokens, &mut |tokens| {
        for four in tokens.windows(4) {
            let [operator, target, second, number] = four else {
                continue;
            };
            if matches!(operator.kind, Kind::Redirect)
                && matches!(line.of(operator), ">" | ">>" | "1>" | "1>>")
                && line.of(second) == "2>&"
                && line.of(number) == "1"
                && line.of(target) != "&1"
            {
                edits.push(Edit {
                    start: operator.start,
                    end: number.end,
                    text: format!(
                        "&{} {}",
                        line.of(operator).trim_start_matches('1'),
                        line.of(target)
                    ),
                });
            }
        }
    });
}

pub(super) fn both_piped(line: &Line<'_>, edits: &mut Edits) {
    lists(&line.tokens, &mut |tokens| {
        for token in tokens {
            if line.of(token) == "|&" && matches!(token.kind, Kind::Operator) {
                edits.push(Edit {
                    start: token.start,
                    end: token.end,
                    text: " 2>&1 |".to_owned(),
                });
            }
        }
    });
}

pub(super) fn numbered(line: &Line<'_>, edits: &mut Edits) {
    redirections(line, &mut |operator, text, _, _| {
        let number = match text {
            ">" | ">>" | ">|" => "1",
            "<" | "<<" | "<<-" | "<<<" | "<>" => "0",
            ">&" => return,
            _ => return,
        };
        // The end of the preceding word would be taken for the number.
        let is_apart = line.text.get(..operator.start).is_some_and(|before| {
            before.is_empty() || before.ends_with([' ', '\n', ';', '|', '&', '('])
        });
        if is_apart {
            edits.push(Edit {
                start: operator.start,
                end: operator.start,
                text: number.to_owned(),
            });
        }
    });
}

pub(super) fn clobbers(line: &Line<'_>, edits: &mut Edits) {
    redirections(line, &mut |operator, text, _, _| {
        if text.ends_with('>')
            && !text.ends_with(">>")
            && !text.starts_with('&')
            && !text.ends_with("<>")
        {
            edits.push(Edit {
                start: operator.end,
                end: operator.end,
                text: "|".to_owned(),
            });
        }
    });
}

pub(super) fn redirects_first(line: &Line<'_>, edits: &mut Edits) {
    moved(line, edits, |redirects, others| {
        format!("{redirects} {others}")
    });
}

pub(super) fn redirects_last(line: &Line<'_>, edits: &mut Edits) {
    moved(line, edits, |redirects, others| {
        format!("{others} {redirects}")
    });
}

fn moved(line: &Line<'_>, edits: &mut Edits, order: fn(&str, &str) -> String) {
    line.each_simple(&mut |tokens, simple| {
        let Some((first, last)) = simple.ends() else {
            return;
        };
        // A named descriptor is recognized only after a word.
        let is_named = |at: &usize| {
            let operator = tokens.get(*at);
            operator.is_some_and(|operator| line.of(operator).starts_with('{'))
        };
        if simple.redirects.iter().any(is_named) || simple.words.is_empty() {
            return;
        }
        let mut redirects = Vec::new();
        let mut others = Vec::new();
        let mut at = first;
        while let (true, Some(token)) = (at <= last, tokens.get(at)) {
            if simple.redirects.contains(&at)
                && let Some(target) = tokens.get(at + 1)
            {
                redirects.push(format!("{} {}", line.of(token), line.of(target)));
                at += 2;
            } else {
                others.push(line.of(token));
                at += 1;
            }
        }
        if let (Some(first), Some(last)) = (tokens.get(first), tokens.get(last)) {
            edits.push(Edit {
                start: first.start,
                end: last.end,
                text: order(&redirects.join(" "), &others.join(" ")),
            });
        }
    });
}
