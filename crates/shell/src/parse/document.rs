//! Redirections and here-documents.

use super::{Body, Parsed, Parser, Pending, is_name};
use crate::syntax::{Document, Piece, Redirect, RedirectKind, Word};

/// Prefix of a redirection's operator, and its width.
type Prefix = (Option<String>, Option<u32>, usize);

impl Parser<'_> {
    /// Parses a redirection if one begins here.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let Some((variable, descriptor, width)) = self.redirect_prefix()? else {
            return Ok(None);
        };
        if self.is_zsh() {
            self.zsh_redirect(width)?;
        }
        self.pos += width;
        let kind = self.redirect_kind(variable.is_some() || descriptor.is_some())?;
        Ok(Some(Redirect {
            kind,
            variable,
            descriptor,
        }))
    }

    /// Finds `N` or `{name}` and the operator after it, without consuming them.
    fn redirect_prefix(&self) -> Parsed<Option<Prefix>> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_operator = |at: usize| matches!(rest.as_bytes().get(at), Some(b'<' | b'>'));
        let is_process = |at: usize| is_operator(at) && rest.as_bytes().get(at + 1) == Some(&b'(');
        if digits > 0 && is_operator(digits) {
            if digits > 5 || is_process(digits) {
                return Err("a redirection of an odd number".to_owned());
            }
            let number = rest.get(..digits).and_then(|text| text.parse().ok());
            return Ok(Some((None, number, digits)));
        }
        if let Some(inner) = rest.strip_prefix('{')
            && let Some((name, after)) = inner.split_once('}')
            && is_name(name)
            && after.starts_with(['<', '>'])
            && !after.get(1..).unwrap_or_default().starts_with('(')
        {
            return Ok(Some((Some(name.to_owned()), None, name.len() + 2)));
        }
        let here = is_operator(0) && !is_process(0) || rest.starts_with("&>");
        Ok(here.then_some((None, None, 0)))
    }

    fn redirect_kind(&mut self, prefixed: bool) -> Parsed<RedirectKind> {
        if !prefixed && self.starts_with("&>") {
            self.posix_lacks("`&>`")?;
            self.pos += 2;
            let append = self.eat(">");
            return Ok(RedirectKind::Write {
                target: self.target()?,
                append,
            });
        }
        if self.eat("<<<") {
            self.posix_lacks("`<<<`")?;
            return Ok(RedirectKind::HereString(self.target()?));
        }
        if self.eat("<<") {
            return self.document_start().map(RedirectKind::HereDocument);
        }
        if self.eat("<&") {
            return Ok(RedirectKind::Duplicate {
                target: self.duplicated()?,
                output: false,
            });
        }
        if self.eat("<>") {
            return Ok(RedirectKind::ReadWrite(self.target()?));
        }
        if self.eat("<") {
            return Ok(RedirectKind::Read(self.target()?));
        }
        if self.eat(">&") {
            return Ok(RedirectKind::Duplicate {
                target: self.duplicated()?,
                output: true,
            });
        }
        let append = self.eat(">>");
        if !append && !self.eat(">|") && !self.eat(">") {
            return Err(self.unexpected());
        }
        if self.is_zsh() && matches!(self.peek(), Some(b'!' | b'|' | b'&')) {
            return Err("`>!` is not read".to_owned());
        }
        Ok(RedirectKind::Write {
            target: self.target()?,
            append,
        })
    }

    /// Parses what follows `>&`: a `-` closes and is not part of a word.
    fn duplicated(&mut self) -> Parsed<Word> {
        self.blanks()?;
        if !self.eat("-") {
            return self.target();
        }
        self.count_word()?;
        let text = "-".to_owned();
        Ok(Word {
            source: text.clone(),
            pieces: vec![Piece::Text {
                text,
                quoted: false,
            }],
        })
    }

    fn target(&mut self) -> Parsed<Word> {
        self.blanks()?;
        self.count_word()?;
        self.word()
    }

    fn document_start(&mut self) -> Parsed<Document> {
        let strip_tabs = self.eat("-");
        self.blanks()?;
        let start = self.pos;
        let word = self.word()?;
        let source = self.slice(start);
        let quoted = source.contains(['\'', '"', '\\']);
        let Some(delimiter) = word
            .plain()
            .filter(|text| !source.contains(['$', '`', '\n']) && !text.is_empty())
        else {
            return Err("the end mark of a here-document must be a plain word".to_owned());
        };
        let document = Document::default();
        self.pending.push(Pending {
            document: document.clone(),
            delimiter,
            strip_tabs,
            quoted,
        });
        Ok(document)
    }

    /// Reads the bodies of the here-documents that begin on this line.
    pub(super) fn documents(&mut self) -> Parsed<()> {
        if self.pending_base > 0 && !self.pending.is_empty() {
            return Err("a line feed in a substitution before a here-document".to_owned());
        }
        for pending in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let body = self.document_text(&pending)?;
            self.bodies.push(Body {
                start,
                end: self.pos,
                mark: pending.delimiter.clone(),
            });
            let pieces = if pending.quoted {
                vec![Piece::Text {
                    text: body,
                    quoted: true,
                }]
            } else {
                self.document_pieces(&body)?
            };
            // Each body is read once, so the cell is always empty here.
            let _ = pending.document.set(pieces);
        }
        Ok(())
    }

    /// Reads the lines of one body and its delimiter.
    fn document_text(&mut self, pending: &Pending) -> Parsed<String> {
        let mut body = String::new();
        let mut joined = String::new();
        while self.peek().is_some() {
            let rest = self.rest();
            let line = rest.split('\n').next().unwrap_or_default();
            self.pos += line.len();
            let ended = self.eat("\n");
            let shown = if pending.strip_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            let continues = !pending.quoted
                && line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            if joined.is_empty() && shown == pending.delimiter {
                return Ok(body);
            }
            if !ended {
                break;
            }
            body.push_str(shown);
            body.push('\n');
            joined.push_str(line);
            if continues {
                joined.pop();
                continue;
            }
            if joined.trim_start_matches('\t') == pending.delimiter {
                return Err("a here-document with a divided end mark".to_owned());
            }
            joined.clear();
        }
        Err(format!(
            "the here-document `{}` is not finished",
            pending.delimiter
        ))
    }

    /// Parses the expansions in an unquoted body.
    fn document_pieces(&mut self, body: &str) -> Parsed<Vec<Piece>> {
        let mut inner = Parser::new(body, self.dialect, self.depth, self.tally);
        let pieces = inner.nested(|parser| {
            let mut pieces = Vec::new();
            parser.quoted_pieces(&mut pieces, None)?;
            Ok(pieces)
        });
        self.tally = inner.tally;
        self.substitutions += inner.substitutions;
        pieces
    }
}
