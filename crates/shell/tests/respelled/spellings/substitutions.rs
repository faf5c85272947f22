//! Backquotes and brackets.

use super::{Edit, Edits, Line};
use crate::respelled::lexer::{PartKind, tokens};

pub(super) fn backquotes(line: &Line<'_>, edits: &mut Edits) {
    line.each_part(&mut |part, quoted| {
        let text = line.part(part);
        if matches!(part.kind, PartKind::Command(_))
            && let Some(inner) = text.strip_prefix("$(").and_then(|text| text.strip_suffix(')'))
            // The meaning of a quote within backquotes in double quotes differs between shells.
            && !(quoted && inner.contains(['"', '\\', '`']))
        {
            let inner = inner.replace('\\', "\\\\").replace('`', "\\`");
            edits.push(Edit {
                start: part.start,
                end: part.end,
                text: format!("`{inner}`"),
            });
        }
    });
}

pub(super) fn brackets(line: &Line<'_>, edits: &mut Edits) {
    line.each_part(&mut |part, quoted| {
        if !matches!(part.kind, PartKind::Backquotes) {
            return;
        }
        let text = line.part(part);
        let inner = text.trim_matches('`');
        let mut plain = String::new();
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(c @ ('$' | '`' | '\\')) => plain.push(c),
                    Some('"') if quoted => return,
                    Some(c) => plain.extend(['\\', c]),
                    None => return,
                },
                c => plain.push(c),
            }
        }
        if tokens(&plain).is_some() {
            edits.push(Edit {
                start: part.start,
                end: part.end,
                text: format!("$( {plain})"),
            });
        }
    });
}
