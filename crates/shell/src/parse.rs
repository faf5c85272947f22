//! Parses the text of a line.
//!
//! The parser is strict: where bash would guess, backtrack or depend on an option, the line is refused. Recursion is limited by
//! [`NESTING_MAX`].

mod compound;
mod document;
mod dollar;
mod word;
mod zsh;

use crate::Dialect;
use crate::scan;
use crate::syntax::{AndOr, Command, Document, Join, List, Pipeline, Simple};
use crate::text::{COMMANDS_MAX, EXPANSIONS_MAX, NESTING_MAX, SUBSTITUTIONS_MAX, WORDS_MAX};

/// Why a line is not readable, as a text for the agent.
pub(crate) type Refusal = String;
/// Result of parsing a part of a line.
pub(crate) type Parsed<T> = Result<T, Refusal>;

/// Counters that the parsers of one line share.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) commands: usize,
    pub(crate) words: usize,
    pub(crate) substitutions: usize,
    pub(crate) expansions: usize,
}

/// Parses `line` as a whole program.
///
/// The text is inside another one, so positions in it are not kept.
pub(crate) fn parse(line: &str, dialect: Dialect, depth: usize, tally: &mut Tally) -> Parsed<List> {
    let parser = Parser::new(line, dialect, depth, *tally);
    finish(parser, tally).map(|(list, _)| list)
}

/// Parses `line` and marks what the second parser sees in another form.
pub(crate) fn parse_with_marks(
    line: &str,
    dialect: Dialect,
    depth: usize,
    tally: &mut Tally,
) -> Parsed<(List, Marks)> {
    let mut parser = Parser::new(line, dialect, depth, *tally);
    parser.keeps_places = true;
    finish(parser, tally)
}

fn finish(mut parser: Parser<'_>, tally: &mut Tally) -> Parsed<(List, Marks)> {
    let list = parser.program();
    *tally = parser.tally;
    let list = list?;
    if scan::substitutions(parser.src) != Some(parser.substitutions) {
        return Err("it is not certain where its substitutions begin and end".to_owned());
    }
    let marks = Marks {
        bodies: parser.bodies,
        selects: parser.selects,
    };
    Ok((list, marks))
}

/// What the second parser sees in another form.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Bodies of here-documents, in order.
    pub(crate) bodies: Vec<Body>,
    /// Positions of `select`, in order.
    pub(crate) selects: Vec<usize>,
}

/// Position of a here-document's body in a text, and its delimiter.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mark: String,
}

/// A here-document whose body has not been reached.
#[derive(Debug)]
struct Pending {
    document: Document,
    delimiter: String,
    strip_tabs: bool,
    quoted: bool,
}

/// A cursor over one text, with what was collected on the way.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    src: &'a str,
    pos: usize,
    depth: usize,
    dialect: Dialect,
    tally: Tally,
    pending: Vec<Pending>,
    /// Here-documents below this mark belong to an outer level.
    pending_base: usize,
    /// `$(`, backtick pairs, `<(` and `>(` of this text, for the byte scan.
    substitutions: usize,
    bodies: Vec<Body>,
    selects: Vec<usize>,
    /// Whether `pos` counts in the original text.
    keeps_places: bool,
}

impl<'a> Parser<'a> {
    fn new(src: &'a str, dialect: Dialect, depth: usize, tally: Tally) -> Self {
        Self {
            src,
            pos: 0,
            depth,
            dialect,
            tally,
            pending: Vec::new(),
            pending_base: 0,
            substitutions: 0,
            bodies: Vec::new(),
            selects: Vec::new(),
            keeps_places: false,
        }
    }

    fn program(&mut self) -> Parsed<List> {
        let list = self.list(&[])?;
        if self.peek().is_some() {
            return Err(self.unexpected());
        }
        if !self.pending.is_empty() {
            return Err("a here-document is not finished".to_owned());
        }
        Ok(list)
    }

    // ---- the cursor ----

    fn peek(&self) -> Option<u8> {
        self.src.as_bytes().get(self.pos).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.src.as_bytes().get(self.pos + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn rest(&self) -> &'a str {
        self.src.get(self.pos..).unwrap_or_default()
    }

    fn slice(&self, from: usize) -> &'a str {
        self.src.get(from..self.pos).unwrap_or_default()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.pos += text.len();
        }
        found
    }

    fn unexpected(&self) -> Refusal {
        match self.rest().chars().next() {
            Some(c) => format!("unexpected `{}` at byte {}", c.escape_debug(), self.pos),
            None => "the line ends too early".to_owned(),
        }
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_MAX {
            return Err("nested more than 100 deep".to_owned());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn posix_lacks(&self, what: &str) -> Parsed<()> {
        if self.dialect == Dialect::Posix {
            return Err(format!("{what} is not known to a POSIX shell"));
        }
        Ok(())
    }

    fn is_zsh(&self) -> bool {
        matches!(self.dialect, Dialect::Zsh | Dialect::Unknown)
    }

    // ---- blanks and line feeds ----

    /// Skips blanks, continued lines and comments; stops before a line feed.
    fn blanks(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                    if !self.pending.is_empty() {
                        return Err("a continued line before a here-document".to_owned());
                    }
                    self.pos += 2;
                }
                Some(b'#') if self.at_word_start() => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn at_word_start(&self) -> bool {
        match self
            .pos
            .checked_sub(1)
            .and_then(|at| self.src.as_bytes().get(at))
        {
            None => true,
            Some(before) => matches!(
                before,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            ),
        }
    }

    fn comment(&mut self) -> Parsed<()> {
        while let Some(c) = self.rest().chars().next() {
            if c == '\n' {
                break;
            }
            if crate::text::is_invisible(c) {
                return Err(format!("invisible character U+{:04X}", u32::from(c)));
            }
            self.pos += c.len_utf8();
        }
        Ok(())
    }

    /// Reads one line feed and the here-documents that follow it.
    fn line_feed(&mut self) -> Parsed<bool> {
        if self.peek() != Some(b'\n') {
            return Ok(false);
        }
        self.pos += 1;
        self.documents()?;
        Ok(true)
    }

    fn blank_lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks()?;
            if !self.line_feed()? {
                return Ok(());
            }
        }
    }

    // ---- lists ----

    /// Reads commands up to one of the words or brackets in `stop`.
    fn list(&mut self, stop: &[&str]) -> Parsed<List> {
        let mut items = Vec::new();
        loop {
            self.blank_lines()?;
            if self.peek().is_none() || self.at_stop(stop) {
                return Ok(List { items });
            }
            let mut item = self.and_or()?;
            self.blanks()?;
            let ended = match self.peek() {
                Some(b'&') => {
                    self.pos += 1;
                    if self.is_zsh() && matches!(self.peek(), Some(b'!' | b'|')) {
                        return Err("`&!` and `&|` are not read".to_owned());
                    }
                    item.background = true;
                    true
                }
                Some(b';') if self.peek_at(1) != Some(b';') && self.peek_at(1) != Some(b'&') => {
                    self.pos += 1;
                    true
                }
                Some(b'\n') => true,
                _ => false,
            };
            items.push(item);
            if !ended {
                self.blanks()?;
                if self.peek().is_none() || self.at_stop(stop) {
                    return Ok(List { items });
                }
                return Err(self.unexpected());
            }
        }
    }

    fn at_stop(&self, stop: &[&str]) -> bool {
        stop.iter().any(|word| match *word {
            ")" => self.peek() == Some(b')'),
            ";;" => self.starts_with(";;") || self.starts_with(";&"),
            _ => self.bare_word() == *word,
        })
    }

    /// Returns the text up to the next character that ends a word.
    fn bare_word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(is_meta).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.bare_word() == word;
        if found {
            self.pos += word.len();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        self.blank_lines()?;
        if self.eat_word(word) {
            Ok(())
        } else {
            Err(format!("`{word}` is missing"))
        }
    }

    /// Reads a non-empty list that ends with `stop`.
    fn body(&mut self, stop: &[&str]) -> Parsed<List> {
        let list = self.nested(|parser| parser.list(stop))?;
        if list.items.is_empty() {
            return Err(self.unexpected());
        }
        Ok(list)
    }

    fn and_or(&mut self) -> Parsed<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks()?;
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                return Ok(AndOr {
                    first,
                    rest,
                    background: false,
                });
            };
            self.blank_lines()?;
            rest.push((join, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut bang = false;
        let mut prefixed = false;
        loop {
            self.blanks()?;
            if self.eat_word("!") {
                if self.peek() == Some(b'(') {
                    return Err("put a blank between `!` and `(`".to_owned());
                }
                bang = !bang;
                prefixed = true;
            } else if self.at_timed() {
                self.pos += "time".len();
                self.blanks()?;
                if self.eat_word("-p") && self.is_zsh() {
                    return Err("zsh takes `-p` behind `time` for a program".to_owned());
                }
                prefixed = true;
            } else {
                break;
            }
        }
        if prefixed && matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')')) {
            return Err("a command is missing after `!` or `time`".to_owned());
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks()?;
            if self.starts_with("||") || self.peek() != Some(b'|') {
                return Ok(Pipeline { bang, commands });
            }
            self.pos += 1;
            if self.peek() == Some(b'&') {
                self.posix_lacks("`|&`")?;
                self.pos += 1;
            }
            self.blank_lines()?;
            commands.push(self.command()?);
        }
    }

    /// Returns whether `time` is a reserved word here.
    fn at_timed(&self) -> bool {
        if self.bare_word() != "time" || self.dialect == Dialect::Posix {
            return false;
        }
        let mut after = self.rest().get("time".len()..).unwrap_or_default();
        while let Some(rest) = after
            .strip_prefix([' ', '\t'])
            .or_else(|| after.strip_prefix("\\\n"))
        {
            after = rest;
        }
        !after.starts_with('-') || after.starts_with("-p ")
    }

    fn command(&mut self) -> Parsed<Command> {
        self.blanks()?;
        if let Some(compound) = self.compound()? {
            return Ok(compound);
        }
        self.simple()
    }

    fn simple(&mut self) -> Parsed<Command> {
        self.count_command()?;
        let mut simple = Simple::default();
        let mut declares = false;
        let mut start = None;
        loop {
            let end = self.pos;
            self.blanks()?;
            if self.at_command_end() {
                let start = start.filter(|_| self.keeps_places);
                simple.span = start.map(|start| (start, end));
                break;
            }
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if self.peek() == Some(b'(') {
                return self.function_after(&simple);
            }
            self.count_word()?;
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment(declares)?
            {
                let kept = if declares {
                    &mut simple.declared
                } else {
                    &mut simple.assignments
                };
                kept.push(assignment);
                continue;
            }
            let at = self.pos;
            let word = self.word()?;
            if self.is_zsh() {
                self.zsh_word(&word, !simple.words.is_empty())?;
            }
            if simple.words.is_empty() {
                start = Some(at);
                declares = matches!(
                    word.source.as_str(),
                    "declare" | "typeset" | "local" | "export" | "readonly"
                );
            }
            simple.words.push(word);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Command::Simple(simple))
    }

    fn at_command_end(&self) -> bool {
        match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => true,
            Some(b'&') => self.peek_at(1) != Some(b'>'),
            _ => false,
        }
    }

    fn count_command(&mut self) -> Parsed<()> {
        self.tally.commands += 1;
        if self.tally.commands > COMMANDS_MAX {
            return Err("more than 1,000 commands".to_owned());
        }
        Ok(())
    }

    fn count_expansion(&mut self) -> Parsed<()> {
        self.tally.expansions += 1;
        if self.tally.expansions > EXPANSIONS_MAX {
            return Err("more than 10,000 expansions".to_owned());
        }
        Ok(())
    }

    /// Counts a substitution for the byte scan and for the line.
    fn count_substitution(&mut self) -> Parsed<()> {
        self.substitutions += 1;
        self.tally.substitutions += 1;
        if self.tally.substitutions > SUBSTITUTIONS_MAX {
            return Err("more than 1,000 substitutions".to_owned());
        }
        Ok(())
    }

    fn count_word(&mut self) -> Parsed<()> {
        self.tally.words += 1;
        if self.tally.words > WORDS_MAX {
            return Err("more than 4,000 words".to_owned());
        }
        Ok(())
    }
}

/// Returns whether `byte` ends a word.
fn is_meta(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
    )
}

/// Returns whether `text` is a name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
