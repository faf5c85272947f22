//! Texts with `${ctx.…}` in them, parsed by a small scanner.
//!
//! This module knows no file and no workflow; offsets are bytes of the text itself.

use std::ops::Range;

use interlock_expr::text::{Expr, Piece, Text};

/// A text, its holes, and its errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    /// Text to fill from the context.
    pub(super) text: Text,
    /// Holes in order.
    pub(super) holes: Vec<Hole>,
    /// Errors in order.
    pub(super) mistakes: Vec<ParseError>,
}

/// A path into the context, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    /// Path without `ctx`; at least one name.
    pub(super) path: Vec<String>,
    /// From the dollar to the closing brace.
    pub(super) at: Range<usize>,
}

/// Why a hole cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParseError {
    pub(super) at: Range<usize>,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Opening of a hole.
pub(super) const OPEN: &str = "${";

/// First name of every path.
const ROOT: &str = "ctx";

impl Template {
    /// Parses `text`. Only `${ctx` opens a hole, and `$${ctx` represents that text itself.
    pub(super) fn parse(text: &str) -> Self {
        let mut template = Self::default();
        let mut plain = 0;
        let mut at = 0;
        while let Some(found) = rest(text, at).find(OPEN) {
            let open = at + found;
            at = open + OPEN.len();
            if !begins_hole(rest(text, at)) {
                continue;
            }
            let escaped = rest(text, plain).get(..open - plain).unwrap_or_default();
            if let Some(before) = escaped.strip_suffix('$') {
                template.plain(before);
                plain = open;
                continue;
            }
            template.plain(escaped);
            let end = template.hole(text, open);
            plain = end;
            at = end;
        }
        template.plain(rest(text, plain));
        template
    }

    fn plain(&mut self, more: &str) {
        match self.text.pieces.last_mut() {
            _ if more.is_empty() => {}
            Some(Piece::Plain(before)) => before.push_str(more),
            _ => self.text.pieces.push(Piece::Plain(more.to_owned())),
        }
    }

    /// Parses the hole that opens at `open`, and returns its end.
    fn hole(&mut self, text: &str, open: usize) -> usize {
        let inner = open + OPEN.len();
        // A brace in another line, or after another opening, closes something else.
        let length = rest(text, inner).find(['}', '\n', '{']);
        let closed = length.filter(|length| rest(text, inner + length).starts_with('}'));
        let Some(length) = closed else {
            let end = inner + ROOT.len();
            self.mistakes.push(ParseError {
                at: open..end,
                message: "`${ctx` is not closed".to_owned(),
                help: "close it by `}` in the same line; for the text itself write `$${ctx`",
            });
            return end;
        };
        let end = inner + length + 1;
        let written = rest(text, inner).get(ROOT.len()..length);
        match path(written.unwrap_or_default()) {
            Ok(path) => {
                self.text
                    .pieces
                    .push(Piece::Hole(Expr::Value(path.clone())));
                self.holes.push(Hole {
                    path,
                    at: open..end,
                });
            }
            Err(why) => self.mistakes.push(ParseError {
                at: open..end,
                message: format!("`{}` {why}", rest(text, open).get(..end - open).unwrap_or_default()),
                help: "write `${ctx.name}` or `${ctx.name.part}`, an item of a list as `${ctx.name.0}`; for the text itself `$${ctx…}`",
            }),
        }
        end
    }
}

fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Returns whether `${` is followed by the word `ctx`.
fn begins_hole(rest: &str) -> bool {
    let after = rest.strip_prefix(ROOT).map(|after| after.chars().next());
    after.is_some_and(|next| !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_'))
}

/// Parses the text between `ctx` and the brace.
fn path(written: &str) -> Result<Vec<String>, String> {
    if written.is_empty() {
        return Err("names nothing in the context".to_owned());
    }
    if written.contains('[') {
        return Err("has brackets: an item is named by its number behind a dot".to_owned());
    }
    let Some(parts) = written.strip_prefix('.') else {
        return Err("has no dot behind `ctx`".to_owned());
    };
    let mut path = Vec::new();
    for (at, part) in parts.split('.').enumerate() {
        let fits =
            |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || at > 0 && byte == b'-';
        if part.is_empty() {
            return Err("has a name that is empty".to_owned());
        }
        if !part.bytes().all(fits) {
            return Err(format!("has `{part}`, which is not a name"));
        }
        path.push(part.to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::Template;

    /// Formats a template as its pieces, or as its errors.
    fn read(text: &str) -> String {
        let template = Template::parse(text);
        let mistakes = template.mistakes.iter();
        let mistakes: Vec<String> = mistakes
            .map(|mistake| {
                format!(
                    "{}-{} {}",
                    mistake.at.start, mistake.at.end, mistake.message
                )
            })
            .collect();
        if mistakes.is_empty() {
            serde_json::to_string(&template.text).unwrap_or_default()
        } else {
            mistakes.join("; ")
        }
    }

    #[test]
    fn only_ctx_opens_a_hole() {
        for (text, wanted) in [
            ("", "[]"),
            ("plain $ {x}", r#"[{"plain":"plain $ {x}"}]"#),
            (
                "${HOME} ${ctxs.x} ${ ctx.x}",
                r#"[{"plain":"${HOME} ${ctxs.x} ${ ctx.x}"}]"#,
            ),
            ("$${HOME}", r#"[{"plain":"$${HOME}"}]"#),
            (
                "a${ctx.task}b",
                r#"[{"plain":"a"},{"hole":{"value":["task"]}},{"plain":"b"}]"#,
            ),
            (
                "${ctx.a.b-c.0}${ctx.d}",
                r#"[{"hole":{"value":["a","b-c","0"]}},{"hole":{"value":["d"]}}]"#,
            ),
            ("$${ctx.x}", r#"[{"plain":"${ctx.x}"}]"#),
            ("$$${ctx.x} $${ctx}", r#"[{"plain":"$${ctx.x} ${ctx}"}]"#),
            (
                "$${ctx.x}${ctx.y}",
                r#"[{"plain":"${ctx.x}"},{"hole":{"value":["y"]}}]"#,
            ),
            (
                "${${ctx.y}}",
                r#"[{"plain":"${"},{"hole":{"value":["y"]}},{"plain":"}"}]"#,
            ),
            ("é${ctx.y}", r#"[{"plain":"é"},{"hole":{"value":["y"]}}]"#),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[test]
    fn every_mistake_is_found_where_it_is() {
        for (text, wanted) in [
            ("${ctx}", "0-6 `${ctx}` names nothing in the context"),
            (
                "a ${ctx.x[0]}",
                "2-13 `${ctx.x[0]}` has brackets: an item is named by its number behind a dot",
            ),
            ("${ctx.x", "0-5 `${ctx` is not closed"),
            ("${ctx.x\n}", "0-5 `${ctx` is not closed"),
            ("${ctx.x ${ctx.y}", "0-5 `${ctx` is not closed"),
            ("${ctx.}", "0-7 `${ctx.}` has a name that is empty"),
            ("${ctx..a}", "0-9 `${ctx..a}` has a name that is empty"),
            ("${ctx-1}", "0-8 `${ctx-1}` has no dot behind `ctx`"),
            (
                "${ctx.a-b}",
                "0-10 `${ctx.a-b}` has `a-b`, which is not a name",
            ),
            (
                "${ctx.a b}${ctx}",
                "0-10 `${ctx.a b}` has `a b`, which is not a name; 10-16 `${ctx}` names nothing in the context",
            ),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }
}
