//! Words in other quotes.

use super::{Edit, Edits, Line};
use crate::respelled::lexer::{Kind, Part, PartKind, RESERVED};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Single,
    Double,
    Ansi,
    Hex,
    Escapes,
    Pieces,
}

impl Quotes {
    fn around(self, text: &str) -> Option<String> {
        match self {
            Self::Single => (!text.contains('\'')).then(|| format!("'{text}'")),
            Self::Double => {
                (!text.contains(['$', '`', '\\', '"', '!'])).then(|| format!("\"{text}\""))
            }
            Self::Ansi => Some(format!(
                "$'{}'",
                text.replace('\\', "\\\\").replace('\'', "\\'")
            )),
            Self::Hex => text.is_ascii().then(|| {
                let all: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("$'{all}'")
            }),
            Self::Escapes => (!text.is_empty() && !text.contains(['\n', '\t']))
                .then(|| text.chars().flat_map(|c| ['\\', c]).collect::<String>()),
            Self::Pieces => {
                let first = text.chars().next()?;
                let rest = text.get(first.len_utf8()..)?;
                (!text.contains('\'') && text.len() > 1).then(|| format!("'{first}'''\"\"'{rest}'"))
            }
        }
    }
}

/// Words that a declaring builtin treats as assignments.
const DECLARES: &[&str] = &["export", "declare", "typeset", "local", "readonly", "alias"];

pub(super) fn quotes(line: &Line<'_>, edits: &mut Edits, how: Quotes) {
    // The output of a substitution is known only for plainly written programs, and so is `|| exit`.
    let is_plain =
        line.text.contains(['`', '$']) && line.text.contains("$(") || line.text.contains("exit");
    line.each_simple(&mut |tokens, simple| {
        if is_plain
            && (!std::ptr::eq(tokens, line.tokens.as_slice()) || line.is_exit(tokens, simple))
        {
            return;
        }
        let declares = simple
            .words
            .first()
            .and_then(|at| tokens.get(*at))
            .is_some_and(|first| DECLARES.contains(&line.of(first)));
        let targets = simple.redirects.iter().filter_map(|at| {
            let text = line.of(tokens.get(*at)?);
            let is_path = !text.ends_with('&') && !text.ends_with("<<") && !text.ends_with("<<-");
            is_path.then_some(at + 1)
        });
        for at in simple.words.iter().copied().chain(targets) {
            let Some(token) = tokens.get(at) else {
                continue;
            };
            let text = line.of(token);
            let Kind::Word(parts) = &token.kind else {
                continue;
            };
            if declares && (text.contains('=') || DECLARES.contains(&text)) {
                continue;
            }
            for part in parts {
                quoted(line, part, parts.len(), edits, how);
            }
        }
        for at in &simple.assignments {
            let Some(token) = tokens.get(*at) else {
                continue;
            };
            if let Kind::Word(parts) = &token.kind
                && let [part] = parts.as_slice()
                && matches!(part.kind, PartKind::Plain)
                && let Some((name, value)) = line.part(part).split_once('=')
                && is_quotable(value)
                && let Some(text) = how.around(value)
            {
                edits.push(Edit {
                    start: part.start + name.len() + 1,
                    end: part.end,
                    text,
                });
            }
        }
    });
}

pub(super) fn is_quotable(text: &str) -> bool {
    !text.is_empty()
        && !RESERVED.contains(&text)
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || "-_./:,+%@=#^".contains(c))
}

fn quoted(line: &Line<'_>, part: &Part, parts: usize, edits: &mut Edits, how: Quotes) {
    let source = line.part(part);
    let text = match &part.kind {
        PartKind::Plain if parts == 1 && is_quotable(source) => source,
        PartKind::Single => source.trim_start_matches('\'').trim_end_matches('\''),
        PartKind::Double(inner)
            if inner
                .iter()
                .all(|part| matches!(part.kind, PartKind::Plain)) =>
        {
            source.trim_start_matches('"').trim_end_matches('"')
        }
        _ => return,
    };
    // `\"` in quotes that contain only a dollar.
    if matches!(part.kind, PartKind::Double(_)) && text.contains(['$', '`']) {
        return;
    }
    if let Some(text) = how.around(text) {
        edits.push(Edit {
            start: part.start,
            end: part.end,
            text,
        });
    }
}
