//! Quotes, substitutions, arithmetic and here-documents.

use super::{Document, End, HOLE, OTHER, Position, Scan, Token, Word};

/// The context of the word in `${…}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    Word,
    Numbers,
    Pattern,
}

impl Scan {
    /// Parses the rest of a text in double quotes.
    pub(super) fn double(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.peek(0)? {
                Token::Char('"') => {
                    self.at += 1;
                    return Some(());
                }
                Token::Char('\\') => {
                    self.escaped(Position::Quotes, Some(&mut *word));
                }
                Token::Char('$' | '`') => {
                    word.text.push(OTHER);
                    self.dollar(Some(&mut *word), true)?;
                }
                Token::Char(c) => {
                    word.text.push(c);
                    self.at += 1;
                }
                Token::Hole(hole) => {
                    self.note(hole, Position::Quotes, None);
                    word.text.push(HOLE);
                    word.holes.push(hole);
                    self.at += 1;
                }
            }
        }
    }

    /// Skips a backslash and the following character.
    fn escaped(&mut self, position: Position, word: Option<&mut Word>) {
        self.at += 1;
        match (self.peek(0), word) {
            (Some(Token::Hole(hole)), _) => self.note(hole, position, Some("behind a backslash")),
            (Some(Token::Char(c)), Some(word)) if c != '\n' => word.text.push(c),
            _ => {}
        }
        self.at += 1;
    }

    /// Parses what begins with `$` or a backquote.
    pub(super) fn dollar(&mut self, word: Option<&mut Word>, quoted: bool) -> Option<()> {
        if self.char(0) == Some('`') {
            self.at += 1;
            return self.commands(End::Backquote);
        }
        self.at += 1;
        match self.peek(0) {
            Some(Token::Hole(hole)) => {
                self.note(hole, Position::Word, Some("as the name of a variable"));
                if let Some(word) = word {
                    word.holes.push(hole);
                }
                self.at += 1;
            }
            Some(Token::Char('(')) if self.char(1) == Some('(') => {
                self.at += 2;
                self.arithmetic(')', 2)?;
            }
            Some(Token::Char('(')) => {
                self.at += 1;
                self.commands(End::Bracket)?;
            }
            Some(Token::Char('[')) => {
                self.at += 1;
                self.arithmetic(']', 1)?;
            }
            Some(Token::Char('{')) => {
                self.at += 1;
                self.parameter(quoted)?;
            }
            Some(Token::Char('\'')) if !quoted => self.escapes()?,
            Some(Token::Char('"')) if !quoted => {
                self.at += 1;
                self.double(&mut Word::default())?;
            }
            _ => {}
        }
        Some(())
    }

    /// Parses `$'…'`, in which backslashes are escapes.
    fn escapes(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek(0)? {
                Token::Char('\'') => {
                    self.at += 1;
                    return Some(());
                }
                Token::Char('\\') => self.escaped(Position::Single, None),
                Token::Char(_) => self.at += 1,
                Token::Hole(hole) => {
                    self.note(hole, Position::Single, Some("within `$'…'`"));
                    self.at += 1;
                }
            }
        }
    }

    /// Parses the rest of a `${…}`.
    fn parameter(&mut self, quoted: bool) -> Option<()> {
        self.enter()?;
        while matches!(self.char(0), Some('!' | '#')) {
            self.at += 1;
        }
        loop {
            match self.peek(0)? {
                Token::Char(c)
                    if c.is_alphanumeric() || matches!(c, '_' | '@' | '*' | '?' | '$') =>
                {
                    self.at += 1;
                    if matches!(c, '@' | '*' | '?' | '$') {
                        break;
                    }
                }
                Token::Hole(hole) => {
                    self.note(hole, Position::Word, Some("as the name of a variable"));
                    self.at += 1;
                }
                Token::Char(_) => break,
            }
        }
        if self.char(0) == Some('[') {
            self.at += 1;
            self.arithmetic(']', 1)?;
        }
        let operand = match (self.char(0), self.char(1)) {
            (Some(':'), Some('-' | '=' | '?' | '+')) => {
                self.at += 2;
                Operand::Word
            }
            (Some('-' | '=' | '?' | '+'), _) => {
                self.at += 1;
                Operand::Word
            }
            (Some(':'), _) => Operand::Numbers,
            _ => Operand::Pattern,
        };
        self.operand(operand, quoted)?;
        self.depth -= 1;
        Some(())
    }

    fn operand(&mut self, operand: Operand, quoted: bool) -> Option<()> {
        let position = if quoted {
            Position::Quotes
        } else {
            Position::Word
        };
        loop {
            match self.peek(0)? {
                Token::Char('}') => {
                    self.at += 1;
                    return Some(());
                }
                Token::Char('\\') => self.escaped(position, None),
                Token::Char('"') => {
                    self.at += 1;
                    let mut word = Word::default();
                    self.double(&mut word)?;
                    if operand != Operand::Word {
                        for hole in word.holes {
                            self.blame(hole, "within the pattern of a `${…}`");
                        }
                    }
                }
                Token::Char('\'') if !quoted => {
                    self.at += 1;
                    while let Some(token) = self.peek(0).filter(|t| *t != Token::Char('\'')) {
                        if let Token::Hole(hole) = token {
                            self.note(hole, Position::Single, None);
                        }
                        self.at += 1;
                    }
                    self.at += 1;
                }
                Token::Char('$' | '`') => self.dollar(None, quoted)?,
                Token::Char(_) => self.at += 1,
                Token::Hole(hole) => {
                    match operand {
                        Operand::Word => self.note(hole, position, None),
                        Operand::Numbers => self.note(hole, Position::Arithmetic, None),
                        Operand::Pattern => {
                            self.note(hole, position, Some("within the pattern of a `${…}`"));
                        }
                    }
                    self.at += 1;
                }
            }
        }
    }

    /// Parses arithmetic up to `count` brackets of the kind `close`.
    pub(super) fn arithmetic(&mut self, close: char, count: usize) -> Option<()> {
        self.enter()?;
        let open = if close == ')' { '(' } else { '[' };
        let mut depth = count;
        loop {
            match self.peek(0)? {
                Token::Hole(hole) => {
                    self.note(hole, Position::Arithmetic, None);
                    self.at += 1;
                }
                Token::Char('$' | '`') => self.dollar(None, true)?,
                Token::Char('\\') => self.escaped(Position::Arithmetic, None),
                Token::Char(c) => {
                    self.at += 1;
                    if c == open {
                        depth += 1;
                    } else if c == close {
                        depth -= 1;
                        if depth == 0 {
                            self.depth -= 1;
                            return Some(());
                        }
                    }
                }
            }
        }
    }

    /// Reads the bodies of the here-documents of the line that ended.
    pub(super) fn bodies(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.documents) {
            let (end, after) = self.end_of(&document)?;
            let position = if document.quoted {
                Position::Document
            } else {
                Position::Quotes
            };
            let fault = document.fault.or_else(|| {
                document
                    .quoted
                    .then_some("within a here-document whose mark is in quotes")
            });
            while self.at < end {
                match self.peek(0)? {
                    Token::Hole(hole) => {
                        self.note(hole, position, fault);
                        self.at += 1;
                    }
                    Token::Char('\\') if !document.quoted => self.escaped(position, None),
                    Token::Char('$' | '`') if !document.quoted => {
                        self.dollar(None, true)?;
                    }
                    Token::Char(_) => self.at += 1,
                }
            }
            if self.at > end {
                return None;
            }
            self.at = after;
        }
        Some(())
    }

    /// Finds the line that ends a here-document: its start and that of the next line.
    fn end_of(&self, document: &Document) -> Option<(usize, usize)> {
        let mut start = self.at;
        loop {
            let rest = self.tokens.get(start..)?;
            if rest.is_empty() {
                // Bash treats the end of the text as the end of the document.
                return Some((start, start));
            }
            let line = rest
                .split(|token| *token == Token::Char('\n'))
                .next()
                .unwrap_or_default();
            let text: String = line
                .iter()
                .map(|token| match token {
                    Token::Char(c) => *c,
                    Token::Hole(_) => HOLE,
                })
                .collect();
            let bare = if document.strips_tabs {
                text.trim_start_matches('\t')
            } else {
                &text
            };
            let after = (start + line.len() + 1).min(self.tokens.len());
            if bare == document.mark {
                return Some((start, after));
            }
            start = after;
        }
    }
}
