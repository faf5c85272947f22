//! Expansions with a dollar or a backquote, and the inside of double quotes.

use super::{Lexer, Part, PartKind};

impl Lexer<'_> {
    /// Parses the inside of double quotes and the closing quote.
    pub(super) fn quoted(&mut self, end: Option<u8>) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            let start = self.at;
            let Some(byte) = self.peek(0) else {
                return end.is_none().then_some(parts);
            };
            let kind = match byte {
                _ if Some(byte) == end => {
                    self.at += 1;
                    return Some(parts);
                }
                b'\\' => {
                    self.at += 1;
                    self.character()?;
                    PartKind::Escaped
                }
                b'$' | b'`' => self.dollar()?,
                _ => {
                    self.character()?;
                    PartKind::Plain
                }
            };
            parts.push(Part {
                kind,
                start,
                end: self.at,
            });
        }
    }

    pub(super) fn dollar(&mut self) -> Option<PartKind> {
        if self.peek(0) == Some(b'`') {
            self.at += 1;
            loop {
                match self.character()? {
                    '\\' => _ = self.character()?,
                    '`' => return Some(PartKind::Backquotes),
                    _ => {}
                }
            }
        }
        self.at += 1;
        match self.peek(0) {
            Some(b'(') if self.peek(1) == Some(b'(') => {
                self.at += 2;
                self.arithmetic("))").map(PartKind::Arithmetic)
            }
            Some(b'(') => {
                self.at += 1;
                let inner = self.list(true, false)?;
                self.at += 1;
                Some(PartKind::Command(inner))
            }
            Some(b'[') => None,
            Some(b'{') => {
                self.at += 1;
                self.braces()?;
                Some(PartKind::Variable)
            }
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                while self
                    .peek(0)
                    .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                {
                    self.at += 1;
                }
                Some(PartKind::Variable)
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(&byte) => {
                self.at += 1;
                Some(PartKind::Variable)
            }
            _ => Some(PartKind::Plain),
        }
    }

    /// Parses up to the `}` of `${`.
    fn braces(&mut self) -> Option<()> {
        loop {
            match self.peek(0)? {
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.at += 1;
                    self.character()?;
                }
                b'\'' | b'"' => return None,
                b'$' | b'`' => _ = self.dollar()?,
                _ => _ = self.character()?,
            }
        }
    }

    /// Parses arithmetic and its end; returns the expansions in it.
    pub(super) fn arithmetic(&mut self, end: &str) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut open = 0_usize;
        loop {
            if open == 0 && self.rest().starts_with(end) {
                self.at += end.len();
                return Some(parts);
            }
            let start = self.at;
            match self.peek(0)? {
                b'$' | b'`' => {
                    let kind = self.dollar()?;
                    parts.push(Part {
                        kind,
                        start,
                        end: self.at,
                    });
                    continue;
                }
                b'\'' | b'"' | b'\\' => return None,
                b'(' => open += 1,
                b')' => open = open.checked_sub(1)?,
                _ => {}
            }
            self.character()?;
        }
    }
}
