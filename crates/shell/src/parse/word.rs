//! Words, quotes and assignments.

use super::{Parsed, Parser, is_meta, is_name};
use crate::syntax::{AssignedValue, Assignment, Element, Piece, Substitution, Word};

impl Parser<'_> {
    /// Parses one non-empty word.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let start = self.pos;
        if self.is_zsh() {
            self.zsh_word_start()?;
        }
        let word = self.word_or_empty(start)?;
        if self.pos == start {
            return Err(self.unexpected());
        }
        Ok(word)
    }

    fn word_or_empty(&mut self, start: usize) -> Parsed<Word> {
        let mut pieces = Vec::new();
        self.word_pieces(&mut pieces)?;
        let source = self.slice(start).to_owned();
        if !self.pending.is_empty() && source.contains('\n') {
            return Err("a line feed in a word before a here-document".to_owned());
        }
        Ok(Word { pieces, source })
    }

    /// Parses pieces up to a character that ends a word.
    pub(super) fn word_pieces(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => self.process(pieces)?,
                _ if is_meta(byte) => return Ok(()),
                b'\\' if self.peek_at(1) == Some(b'\n') => {
                    return match self.peek_at(2) {
                        Some(after) if !is_meta(after) => {
                            Err("a line is continued inside a word".to_owned())
                        }
                        _ => Ok(()),
                    };
                }
                _ => self.unquoted(pieces)?,
            }
        }
        Ok(())
    }

    /// Parses one quoted string, escape, expansion or character outside quotes.
    pub(super) fn unquoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        match self.peek() {
            Some(b'\'') => self.single_quoted(pieces),
            Some(b'"') => {
                self.pos += 1;
                push_text(pieces, "", true);
                self.nested(|parser| parser.quoted_pieces(pieces, Some(b'"')))
            }
            Some(b'$') if self.starts_with("$'") => self.ansi_quoted(pieces),
            Some(b'$') if self.starts_with("$\"") => {
                self.posix_lacks("`$\"`")?;
                self.pos += 2;
                let mut inner = Vec::new();
                self.nested(|parser| parser.quoted_pieces(&mut inner, Some(b'"')))?;
                pieces.push(Piece::Locale(inner));
                Ok(())
            }
            Some(b'$' | b'`') => self.dollar(pieces, false),
            Some(b'\\') => {
                self.pos += 1;
                match self.bump() {
                    None | Some('\n') => Err("a backslash at the end of a word".to_owned()),
                    Some(c) => self.push_char(pieces, c, true),
                }
            }
            _ => match self.bump() {
                Some(c) => self.push_char(pieces, c, false),
                None => Err(self.unexpected()),
            },
        }
    }

    fn push_char(&self, pieces: &mut Vec<Piece>, c: char, quoted: bool) -> Parsed<()> {
        if crate::text::is_invisible(c) {
            return Err(format!(
                "invisible character U+{:04X} outside quotes",
                u32::from(c)
            ));
        }
        push_text(pieces, c.encode_utf8(&mut [0; 4]), quoted);
        Ok(())
    }

    fn single_quoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.pos += 1;
        let Some((text, _)) = self.rest().split_once('\'') else {
            return Err("a single quote is not closed".to_owned());
        };
        push_text(pieces, text, true);
        self.pos += text.len() + 1;
        Ok(())
    }

    fn ansi_quoted(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.posix_lacks("`$'`")?;
        self.pos += 2;
        let mut bytes = Vec::new();
        loop {
            match self.bump() {
                None => return Err("a quote `$'` is not closed".to_owned()),
                Some('\'') => break,
                Some('\\') => self.ansi_escape(&mut bytes)?,
                Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => push_text(pieces, &text, true),
            _ => return Err("a quote `$'` with bytes that are not text".to_owned()),
        }
        Ok(())
    }

    fn ansi_escape(&mut self, bytes: &mut Vec<u8>) -> Parsed<()> {
        let refusal = || "a quote `$'` with an odd escape".to_owned();
        let c = self.bump().ok_or_else(refusal)?;
        let value = match c {
            'a' => 0x07,
            'b' => 0x08,
            'e' | 'E' => 0x1B,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            '\\' | '\'' | '"' | '?' => u32::from(c),
            'x' => return self.ansi_number(16, 2, bytes, false),
            'u' => return self.ansi_number(16, 4, bytes, true),
            'U' => return self.ansi_number(16, 8, bytes, true),
            '0'..='7' => {
                self.pos -= 1;
                return self.ansi_number(8, 3, bytes, false);
            }
            _ => return Err(refusal()),
        };
        bytes.push(u8::try_from(value).map_err(|_| refusal())?);
        Ok(())
    }

    fn ansi_number(
        &mut self,
        radix: u32,
        digits: usize,
        bytes: &mut Vec<u8>,
        is_char: bool,
    ) -> Parsed<()> {
        let refusal = || "a quote `$'` with an odd escape".to_owned();
        let width = self
            .rest()
            .chars()
            .take(digits)
            .take_while(|c| c.is_digit(radix))
            .count();
        let text = self.rest().get(..width).unwrap_or_default();
        let value = u32::from_str_radix(text, radix).map_err(|_| refusal())?;
        self.pos += width;
        // In some locales, a character beyond ASCII stays as it is written.
        let byte = u8::try_from(value).ok();
        let byte = byte.filter(|byte| !is_char || byte.is_ascii());
        bytes.push(byte.ok_or_else(refusal)?);
        Ok(())
    }

    /// Parses text in double quotes, or a whole here-document body without `end`.
    pub(super) fn quoted_pieces(&mut self, pieces: &mut Vec<Piece>, end: Option<u8>) -> Parsed<()> {
        loop {
            let Some(byte) = self.peek() else {
                return if end.is_none() {
                    Ok(())
                } else {
                    Err("a double quote is not closed".to_owned())
                };
            };
            match byte {
                _ if Some(byte) == end => {
                    self.pos += 1;
                    return Ok(());
                }
                b'$' | b'`' => self.dollar(pieces, true)?,
                b'\\' => self.quoted_escape(pieces, end)?,
                _ => {
                    let run = self
                        .rest()
                        .bytes()
                        .take_while(|byte| !matches!(byte, b'$' | b'`' | b'\\' | b'"'))
                        .count();
                    let text = self.rest().get(..run.max(1)).unwrap_or_default();
                    push_text(pieces, text, true);
                    self.pos += run.max(1);
                }
            }
        }
    }

    fn quoted_escape(&mut self, pieces: &mut Vec<Piece>, end: Option<u8>) -> Parsed<()> {
        self.pos += 1;
        match self.peek() {
            Some(b'\n') if end.is_some() => {
                return Err("a line is continued inside double quotes".to_owned());
            }
            Some(b'\n') => self.pos += 1,
            Some(byte @ (b'$' | b'`' | b'\\')) => {
                push_text(pieces, char::from(byte).encode_utf8(&mut [0; 4]), true);
                self.pos += 1;
            }
            Some(b'"') if end.is_some() => {
                push_text(pieces, "\"", true);
                self.pos += 1;
            }
            _ => push_text(pieces, "\\", true),
        }
        Ok(())
    }

    fn process(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        self.posix_lacks("`<(`")?;
        self.pos += 2;
        let body = self.substitution()?;
        pieces.push(Piece::Process(Box::new(body)));
        Ok(())
    }

    /// Parses commands up to the bracket that closes a substitution.
    pub(super) fn substitution(&mut self) -> Parsed<Substitution> {
        self.count_substitution()?;
        let start = self.pos;
        let base = std::mem::replace(&mut self.pending_base, self.pending.len());
        let list = self.nested(|parser| parser.list(&[")"]))?;
        if self.pending.len() != self.pending_base {
            return Err("a here-document is not finished in its substitution".to_owned());
        }
        self.pending_base = base;
        let source = self.slice(start).to_owned();
        self.close(")")?;
        Ok(Substitution { list, source })
    }

    /// Parses an assignment if one begins here.
    pub(super) fn assignment(&mut self, declares: bool) -> Parsed<Option<Assignment>> {
        let start = self.pos;
        let width = self
            .rest()
            .bytes()
            .take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
            .count();
        let name = self.rest().get(..width).unwrap_or_default().to_owned();
        let after = self.rest().get(width..).unwrap_or_default();
        if !is_name(&name) || !(after.starts_with(['=', '[']) || after.starts_with("+=")) {
            return Ok(None);
        }
        self.pos += width;
        let mut subscript = None;
        if self.eat("[") {
            self.posix_lacks("an array")?;
            let (index, _) = self.nested(|parser| parser.arith_until(&["]"]))?;
            subscript = Some(index);
        }
        let append = self.eat("+");
        if !self.eat("=") {
            return Err(format!("`{name}[` is neither a word nor an assignment"));
        }
        let value = if self.peek() == Some(b'(') {
            self.array(declares && subscript.is_some())?
        } else {
            let value_start = self.pos;
            let word = self.word_or_empty(value_start)?;
            if self.is_zsh() {
                self.zsh_value(&word)?;
            }
            AssignedValue::Scalar(word)
        };
        Ok(Some(Assignment {
            name,
            append,
            subscript,
            value,
            source: self.slice(start).to_owned(),
        }))
    }

    fn array(&mut self, refused: bool) -> Parsed<AssignedValue> {
        self.posix_lacks("an array")?;
        if refused {
            return Err(self.unexpected());
        }
        self.pos += 1;
        let mut words = Vec::new();
        loop {
            self.blank_lines()?;
            match self.peek() {
                Some(b')') => {
                    self.pos += 1;
                    // Bash treats what follows without a blank as part of the assignment.
                    if self.peek().is_some_and(|byte| !is_meta(byte)) {
                        return Err(self.unexpected());
                    }
                    return Ok(AssignedValue::Array(words));
                }
                Some(b'[') => {
                    self.count_word()?;
                    words.push(self.element()?);
                }
                _ => {
                    self.count_word()?;
                    words.push(Element {
                        subscript: None,
                        word: self.word()?,
                    });
                }
            }
        }
    }

    /// Parses `[k]=value`; the text of `k` must be plain.
    fn element(&mut self) -> Parsed<Element> {
        let refusal = || "an array with odd subscripts".to_owned();
        self.pos += 1;
        let (text, _) = self.rest().split_once(']').ok_or_else(refusal)?;
        let inner = ['"', '\'']
            .iter()
            .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(text);
        let is_plain = inner
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/, @+".contains(&byte));
        let has_blank = inner.contains(' ') && inner.len() == text.len();
        if !is_plain || inner.is_empty() || has_blank {
            return Err(refusal());
        }
        let subscript = Some(inner.to_owned());
        self.pos += text.len() + 1;
        self.close("=")?;
        let start = self.pos;
        let word = self.word_or_empty(start)?;
        Ok(Element { subscript, word })
    }
}

/// Appends text to the last piece if it has the same quoting.
pub(super) fn push_text(pieces: &mut Vec<Piece>, text: &str, quoted: bool) {
    match pieces.last_mut() {
        Some(Piece::Text {
            text: before,
            quoted: same,
        }) if *same == quoted => before.push_str(text),
        _ => pieces.push(Piece::Text {
            text: text.to_owned(),
            quoted,
        }),
    }
}
