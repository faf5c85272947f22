//! Templates: text with `{{ … }}` in it, parsed by a small scanner.
//!
//! This module knows no file and no workflow; offsets are bytes of the text itself.

use std::ops::Range;

use interlock_expr::text::{Base, ErrorPart, Expr, Piece, Text};

/// Advice for two literal braces.
pub(super) const ESCAPE: &str = "for the two braces themselves write `{{ \"{{\" }}`";

/// Maximum nesting of templates.
const DEPTH_MAX: usize = 24;

/// A text with the positions of its holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) parts: Vec<Part>,
}

/// A piece of a text and its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) piece: Piece,
    pub(super) at: Range<usize>,
}

/// Why a template cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParseError {
    /// Byte offset where the template opens.
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: String,
}

type Read<T> = Result<T, ParseError>;

impl Template {
    /// Parses `text`; the first error ends it.
    pub(super) fn parse(text: &str) -> Read<Self> {
        let mut scanner = Scanner {
            text,
            at: 0,
            open: 0,
            depth: 0,
        };
        scanner.text_until_end(false)
    }

    /// Creates a text without holes.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            parts: vec![Part {
                piece: Piece::Plain(text.to_owned()),
                at: 0..text.len(),
            }],
        }
    }

    /// Returns the text to be filled.
    pub(super) fn text(&self) -> Text {
        let mut text = Text::default();
        for part in &self.parts {
            push(&mut text, part.piece.clone());
        }
        text
    }

    /// Returns the holes and their positions.
    pub(super) fn holes(&self) -> impl Iterator<Item = (&Expr, Range<usize>)> {
        self.parts.iter().filter_map(|part| match &part.piece {
            Piece::Hole(expr) => Some((expr, part.at.clone())),
            Piece::Plain(_) => None,
        })
    }
}

/// Appends a piece, joining plain ones.
pub(super) fn push(text: &mut Text, piece: Piece) {
    match (text.pieces.last_mut(), piece) {
        (_, Piece::Plain(more)) if more.is_empty() => {}
        (Some(Piece::Plain(before)), Piece::Plain(more)) => before.push_str(&more),
        (_, piece) => text.pieces.push(piece),
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the outermost template opened.
    open: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn mistake<T>(&self, message: impl Into<String>, help: impl Into<String>) -> Read<T> {
        Err(ParseError {
            at: self.open,
            message: message.into(),
            help: help.into(),
        })
    }

    /// Parses to the end of the text; with `lenient`, an unclosed `{{` is literal.
    fn text_until_end(&mut self, lenient: bool) -> Read<Template> {
        let mut parts = Vec::new();
        while !self.rest().is_empty() {
            let Some(braces) = self.rest().find("{{") else {
                self.plain(&mut parts, self.text.len());
                break;
            };
            let open = self.innermost(self.at + braces);
            let closed = self
                .text
                .get(open + 2..)
                .is_some_and(|rest| rest.contains("}}"));
            if lenient && !closed {
                self.plain(&mut parts, self.text.len());
                break;
            }
            self.plain(&mut parts, open);
            if self.depth == 0 {
                self.open = open;
            }
            if !closed {
                return self.mistake("`{{` opens a template that nothing closes", ESCAPE);
            }
            let expr = self.hole()?;
            self.take(&mut parts, expr, open..self.at);
        }
        Ok(Template { parts })
    }

    /// Returns the position of the last two of the braces that begin at `at`.
    fn innermost(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let braces = rest.bytes().take_while(|byte| *byte == b'{').count();
        at + braces.saturating_sub(2)
    }

    fn plain(&mut self, parts: &mut Vec<Part>, end: usize) {
        let text = self.text.get(self.at..end).unwrap_or_default();
        if !text.is_empty() {
            parts.push(Part {
                piece: Piece::Plain(text.to_owned()),
                at: self.at..end,
            });
        }
        self.at = end;
    }

    /// Adds a hole; a hole that is a text itself is inserted directly.
    #[expect(clippy::unused_self, reason = "it reads beside `plain`")]
    fn take(&self, parts: &mut Vec<Part>, expr: Expr, at: Range<usize>) {
        let pieces = match expr {
            Expr::Text(text) => text.pieces,
            expr => vec![Piece::Hole(expr)],
        };
        parts.extend(pieces.into_iter().map(|piece| Part {
            piece,
            at: at.clone(),
        }));
    }

    /// Parses a template whose two braces are at the present position.
    fn hole(&mut self) -> Read<Expr> {
        self.at += 2;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.mistake(
                format!("templates are nested more than {DEPTH_MAX} deep"),
                "capture the inner values with `var(…)` first",
            );
        }
        self.blanks();
        if self.rest().starts_with("}}") {
            return self.mistake("a template without a name", ESCAPE);
        }
        if self.rest().starts_with("{{") {
            return self.mistake(
                "a template cannot begin with another",
                "one pair of braces is enough: `{{ name }}`",
            );
        }
        let value = self.value()?;
        let expr = self.compared(value)?;
        self.blanks();
        if !self.eat("}}") {
            return self.unexpected("`}}`");
        }
        self.depth -= 1;
        Ok(expr)
    }

    fn compared(&mut self, value: Expr) -> Read<Expr> {
        self.blanks();
        let same = if self.eat("==") {
            true
        } else if self.eat("!=") {
            false
        } else {
            return Ok(value);
        };
        self.blanks();
        let Some(right) = self.string()? else {
            return self.mistake(
                format!("what follows `{}` is not in quotes", if same { "==" } else { "!=" }),
                "compare with a text: `{{ name == 'text' }}`, or with a value: `{{ name == '{{ other }}' }}`",
            );
        };
        let value = Box::new(value);
        Ok(if same {
            Expr::Same(value, right)
        } else {
            Expr::Differs(value, right)
        })
    }

    fn value(&mut self) -> Read<Expr> {
        if let Some(text) = self.string()? {
            return Ok(Expr::Text(text));
        }
        let Some(first) = self.part() else {
            return self.unexpected("a name");
        };
        if first == "error" && self.eat(".") {
            return self.error_part();
        }
        if matches!(first, "file" | "path" | "quote") {
            let after = self.at;
            self.blanks();
            if self.eat("(") {
                return self.call(first);
            }
            self.at = after;
        }
        let mut name = first.to_owned();
        while self.eat("::") {
            let Some(part) = self.part() else {
                return self.unexpected("a name after `::`");
            };
            name.push_str("::");
            name.push_str(part);
        }
        Ok(Expr::Key(name))
    }

    /// Parses one part of a name.
    fn part(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        if !rest.starts_with(is_letter) {
            return None;
        }
        let end = rest
            .find(|c| !is_letter(c) && c != '-')
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end)
    }

    fn error_part(&mut self) -> Read<Expr> {
        const PARTS: [(&str, ErrorPart); 5] = [
            ("code", ErrorPart::Code),
            ("state", ErrorPart::State),
            ("stderr", ErrorPart::Stderr),
            ("stdout", ErrorPart::Stdout),
            ("message", ErrorPart::Message),
        ];
        let part = self.part().unwrap_or_default();
        match PARTS.into_iter().find(|(name, _)| *name == part) {
            Some((_, part)) => Ok(Expr::Error(part)),
            None => self.mistake(
                format!("an error has no part `{part}`"),
                "it has `error.code`, `error.state`, `error.stderr`, `error.stdout` and `error.message`",
            ),
        }
    }

    fn call(&mut self, name: &str) -> Read<Expr> {
        self.blanks();
        let expr = match name {
            "quote" => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return self.mistake("`quote` within `quote` too often", "quote a value once");
                }
                let value = self.value()?;
                self.depth -= 1;
                Expr::Quote(Box::new(value))
            }
            "file" => Expr::File(self.path("file")?),
            _ => Expr::Path(self.path("path")?, Base::RunDir),
        };
        self.blanks();
        if self.eat(")") {
            Ok(expr)
        } else {
            self.unexpected("`)`")
        }
    }

    fn path(&mut self, name: &str) -> Read<Text> {
        let text = match self.string()? {
            Some(text) => text,
            None => self.bare_path()?,
        };
        if text.as_plain().is_some_and(|text| text.trim().is_empty()) {
            return self.mistake(
                format!("`{name}()` without a path"),
                format!("name a file: `{name}(./out.txt)`, `{name}(@/README.md)`"),
            );
        }
        Ok(text)
    }

    /// Parses an unquoted path, up to the bracket that closes the call.
    fn bare_path(&mut self) -> Read<Text> {
        let mut text = Text::default();
        loop {
            let rest = self.rest();
            let end = rest.find([')', '{', '}']).unwrap_or(rest.len());
            push(
                &mut text,
                Piece::Plain(rest.get(..end).unwrap_or_default().to_owned()),
            );
            self.at += end;
            let rest = self.rest();
            if rest.is_empty() || rest.starts_with("}}") {
                return self.unexpected("`)`");
            }
            if rest.starts_with(')') {
                return Ok(trimmed(text));
            }
            if rest.starts_with("{{") {
                let open = self.innermost(self.at);
                let before = self.text.get(self.at..open).unwrap_or_default();
                push(&mut text, Piece::Plain(before.to_owned()));
                self.at = open;
                match self.hole()? {
                    Expr::Text(inner) => {
                        for piece in inner.pieces {
                            push(&mut text, piece);
                        }
                    }
                    expr => push(&mut text, Piece::Hole(expr)),
                }
            } else {
                push(
                    &mut text,
                    Piece::Plain(rest.get(..1).unwrap_or_default().to_owned()),
                );
                self.at += 1;
            }
        }
    }

    /// Parses a quoted text, if there is one; templates in it are parsed, too.
    fn string(&mut self) -> Read<Option<Text>> {
        let Some(quote) = self
            .rest()
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))
        else {
            return Ok(None);
        };
        let start = self.at + 1;
        let inner = self.text.get(start..).unwrap_or_default();
        let Some(length) = inner.find(quote) else {
            return self.mistake(format!("a text opened by {quote} is not closed"), ESCAPE);
        };
        let mut scanner = Scanner {
            text: inner.get(..length).unwrap_or_default(),
            at: 0,
            open: self.open,
            depth: self.depth,
        };
        let template = scanner.text_until_end(true)?;
        self.at = start + length + 1;
        Ok(Some(template.text()))
    }

    /// Reports what was expected and what was found.
    fn unexpected<T>(&self, wanted: &str) -> Read<T> {
        match self.rest().chars().next() {
            None => self.mistake("`{{` opens a template that nothing closes", ESCAPE),
            Some(found) => self.mistake(
                format!(
                    "a template with `{}` where {wanted} is expected",
                    found.escape_debug()
                ),
                ESCAPE,
            ),
        }
    }
}

/// Removes blanks after the last character of a path.
fn trimmed(mut text: Text) -> Text {
    if let Some(Piece::Plain(last)) = text.pieces.last_mut() {
        last.truncate(last.trim_end().len());
        if last.is_empty() {
            text.pieces.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests;
