//! The position of each hole in a bash command.
//!
//! A small parser of bash that follows quotes, substitutions, arithmetic and here-documents, and knows the commands that treat
//! their arguments as code. It runs nothing and reports no errors of the command itself. [`read`](crate::read) refuses what it
//! cannot parse for certain; this parser follows any command whose quotes and brackets are closed.

mod evaluators;
mod expansions;
mod judge;
mod words;

use std::collections::BTreeMap;

/// Position of a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A word, or a part of one.
    Word,
    /// Within double quotes, or a here-document that is expanded.
    Quotes,
    /// Within single quotes.
    Single,
    /// Within arithmetic or an index.
    Arithmetic,
    /// After a `#`.
    Comment,
    /// Within a here-document that is not expanded.
    Document,
}

/// What is known of a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Position of the hole.
    pub position: Position,
    /// Why no variable could be there, as the end of a sentence: "behind a backslash".
    pub fault: Option<&'static str>,
}

/// Maximum nesting of substitutions.
const DEPTH_MAX: usize = 50;

/// Returns the position of each hole of a command, in order; `None` if the command cannot be followed.
///
/// `pieces` are the parts of the command: text, or `None` for a hole.
pub fn spots<'t>(pieces: impl IntoIterator<Item = Option<&'t str>>) -> Option<Vec<Spot>> {
    let mut tokens = Vec::new();
    let mut count = 0;
    for piece in pieces {
        if let Some(text) = piece {
            tokens.extend(text.chars().map(Token::Char));
        } else {
            tokens.push(Token::Hole(count));
            count += 1;
        }
    }
    let mut scan = Scan {
        tokens,
        at: 0,
        depth: 0,
        spots: BTreeMap::new(),
        documents: Vec::new(),
        lost: None,
    };
    scan.commands(End::File)?;
    let spots: Vec<Spot> = scan.spots.into_values().collect();
    (spots.len() == count).then_some(spots)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    Hole(usize),
}

/// What ends a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    File,
    Bracket,
    Backquote,
}

struct Scan {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    spots: BTreeMap<usize, Spot>,
    /// Here-documents whose bodies are still to come.
    documents: Vec<Document>,
    /// The token from which on nothing can be followed, and why.
    lost: Option<&'static str>,
}

/// A here-document.
struct Document {
    mark: String,
    quoted: bool,
    strips_tabs: bool,
    /// Index of its command among the tokens.
    from: usize,
    /// Why its body cannot contain variables.
    fault: Option<&'static str>,
}

/// One word of a command.
#[derive(Debug, Default, Clone)]
struct Word {
    /// Text without quotes; a hole is [`HOLE`], any expansion is [`OTHER`].
    text: String,
    holes: Vec<usize>,
    quoted: bool,
}

/// Represents a hole in the text of a word.
const HOLE: char = '\u{fffc}';
/// Represents an expansion of the shell.
const OTHER: char = '\u{fffd}';

/// The state of parsing a list of commands.
#[derive(Default)]
struct CommandRead {
    words: Vec<Word>,
    word: Option<Word>,
    /// Role of the next word.
    role: Role,
    /// Holes of here-strings.
    strings: Vec<usize>,
    /// Start of the pipeline.
    pipeline: usize,
    /// Start of the command itself.
    command: usize,
    /// Pipelines around the open compound commands.
    compounds: Vec<usize>,
    /// Open `case` commands.
    cases: Vec<Case>,
    /// Whether the position is between `[[` and `]]`.
    tests: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Argument,
    Redirect,
    HereString,
    /// The delimiter of a here-document; `true` to strip tabs.
    Mark(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// After `case`.
    Word,
    /// At a pattern.
    Pattern,
    /// In the commands of a branch.
    Commands,
}

impl Scan {
    fn peek(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn char(&self, ahead: usize) -> Option<char> {
        match self.peek(ahead) {
            Some(Token::Char(c)) => Some(c),
            _ => None,
        }
    }

    fn starts(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, c)| self.char(ahead) == Some(c))
    }

    fn note(&mut self, hole: usize, position: Position, fault: Option<&'static str>) {
        let fault = fault.or(self.lost);
        self.spots.insert(hole, Spot { position, fault });
    }

    fn blame(&mut self, hole: usize, fault: &'static str) {
        if let Some(spot) = self.spots.get_mut(&hole) {
            spot.fault.get_or_insert(fault);
        }
    }

    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEPTH_MAX).then_some(())
    }

    /// Parses commands up to `end`, which is consumed.
    fn commands(&mut self, end: End) -> Option<()> {
        self.enter()?;
        let mut line = CommandRead {
            pipeline: self.at,
            command: self.at,
            ..CommandRead::default()
        };
        loop {
            let Some(token) = self.peek(0) else {
                self.end_command(&mut line);
                self.depth -= 1;
                return (end == End::File).then_some(());
            };
            match token {
                Token::Hole(hole) => {
                    self.note(hole, Position::Word, None);
                    let word = line.word.get_or_insert_default();
                    word.text.push(HOLE);
                    word.holes.push(hole);
                    self.at += 1;
                }
                Token::Char(')') if end == End::Bracket && !line.in_pattern() => {
                    self.end_command(&mut line);
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                Token::Char('`') if end == End::Backquote => {
                    self.end_command(&mut line);
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                Token::Char(c) => self.step(c, &mut line, end)?,
            }
        }
    }

    fn step(&mut self, c: char, line: &mut CommandRead, end: End) -> Option<()> {
        match c {
            ' ' | '\t' | '\r' => {
                self.end_word(line);
                self.at += 1;
            }
            '\n' if line.tests => {
                self.end_word(line);
                self.at += 1;
            }
            '\n' => {
                self.end_command(line);
                line.restart(self.at + 1);
                self.at += 1;
                self.bodies()?;
            }
            '<' | '>' | '&' | '|' | '(' | ')' | ';' if line.tests => {
                self.end_word(line);
                line.words.push(Word {
                    text: c.to_string(),
                    ..Word::default()
                });
                self.at += 1;
            }
            '#' if line.word.is_none() => self.comment(),
            '\\' => self.backslash(line, end),
            '\'' => self.single(line)?,
            '"' => {
                self.at += 1;
                let word = line.quoted_word();
                self.double(word)?;
            }
            '$' | '`' => {
                let word = line.word.get_or_insert_default();
                word.text.push(OTHER);
                self.dollar(Some(word), false)?;
            }
            '<' | '>' if self.char(1) == Some('(') => {
                line.word.get_or_insert_default().text.push(OTHER);
                self.at += 2;
                self.commands(End::Bracket)?;
            }
            '<' | '>' => self.redirect(line),
            ';' | '&' | '|' => self.operator(c, line),
            '(' | ')' => self.bracket(c, line)?,
            '[' if line.is_index() => {
                line.word.get_or_insert_default().text.push('[');
                self.at += 1;
                self.arithmetic(']', 1)?;
                line.word.get_or_insert_default().text.push(']');
            }
            _ => {
                line.word.get_or_insert_default().text.push(c);
                self.at += 1;
            }
        }
        Some(())
    }

    fn comment(&mut self) {
        while let Some(token) = self.peek(0) {
            match token {
                Token::Char('\n') => return,
                Token::Char(_) => {}
                Token::Hole(hole) => self.note(hole, Position::Comment, None),
            }
            self.at += 1;
        }
    }

    fn backslash(&mut self, line: &mut CommandRead, end: End) {
        self.at += 1;
        match self.peek(0) {
            Some(Token::Hole(hole)) => {
                self.note(hole, Position::Word, Some("behind a backslash"));
                let word = line.word.get_or_insert_default();
                word.text.push(HOLE);
                word.holes.push(hole);
            }
            Some(Token::Char('\n')) => {}
            Some(Token::Char(c)) => {
                if end == End::Backquote && matches!(c, '`' | '"' | '\\') {
                    self.lost = Some("behind a backslash within backquotes");
                }
                line.quoted_word().text.push(c);
            }
            None => return,
        }
        self.at += 1;
    }

    fn single(&mut self, line: &mut CommandRead) -> Option<()> {
        self.at += 1;
        let word = line.quoted_word();
        loop {
            match self.peek(0)? {
                Token::Char('\'') => {
                    self.at += 1;
                    return Some(());
                }
                Token::Char(c) => word.text.push(c),
                Token::Hole(hole) => {
                    self.note(hole, Position::Single, None);
                    word.text.push(HOLE);
                    word.holes.push(hole);
                }
            }
            self.at += 1;
        }
    }

    /// Parses a redirection's operator; the following word is its target.
    fn redirect(&mut self, line: &mut CommandRead) {
        let is_number = |word: &Word| {
            !word.quoted && !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit())
        };
        if line.word.as_ref().is_some_and(is_number) {
            line.word = None;
        }
        self.end_word(line);
        line.role = if self.starts("<<<") {
            self.at += 3;
            Role::HereString
        } else if self.starts("<<") {
            self.at += 2;
            let strips = self.char(0) == Some('-');
            self.at += usize::from(strips);
            Role::Mark(strips)
        } else {
            self.at += 1;
            while matches!(self.char(0), Some('>' | '<' | '&' | '|')) {
                self.at += 1;
            }
            Role::Redirect
        };
    }

    fn operator(&mut self, c: char, line: &mut CommandRead) {
        if c == '&' && self.char(1) == Some('>') {
            self.end_word(line);
            self.at += 1;
            self.redirect(line);
            return;
        }
        self.end_command(line);
        let is_pipe = c == '|' && self.char(1) != Some('|');
        let mut width = 1;
        while self
            .char(width)
            .is_some_and(|next| matches!(next, ';' | '&' | '|'))
        {
            width += 1;
        }
        if c == ';' && width > 1 {
            line.end_branch();
        }
        self.at += width;
        line.command = self.at;
        if !is_pipe {
            line.pipeline = self.at;
        }
    }

    fn bracket(&mut self, c: char, line: &mut CommandRead) -> Option<()> {
        if line.in_pattern() {
            self.end_pattern(c, line);
            return Some(());
        }
        if c == ')' {
            // A bracket that closes no open one: of an array or a function.
            self.end_word(line);
            self.at += 1;
            return Some(());
        }
        let opens_command = line.word.is_none() && line.words.is_empty();
        let opens_arithmetic = self.char(1) == Some('(')
            && (opens_command || line.words.last().is_some_and(|word| word.text == "for"));
        if opens_arithmetic {
            self.at += 2;
            return self.arithmetic(')', 2);
        }
        let assigns = line
            .word
            .as_ref()
            .is_some_and(|word| word.text.ends_with('=') && !word.quoted);
        self.at += 1;
        if assigns {
            return self.array(line);
        }
        if opens_command {
            let before = line.pipeline;
            self.commands(End::Bracket)?;
            line.pipeline = before;
            line.words.push(Word {
                text: OTHER.to_string(),
                ..Word::default()
            });
            return Some(());
        }
        line.word.get_or_insert_default().text.push('(');
        Some(())
    }

    /// Parses the elements of an array.
    fn array(&mut self, line: &mut CommandRead) -> Option<()> {
        let name = line.word.take().unwrap_or_default();
        let mut inner = CommandRead::default();
        loop {
            match self.peek(0)? {
                Token::Char(')') => {
                    self.at += 1;
                    self.end_word(&mut inner);
                    break;
                }
                Token::Char('[') if inner.word.is_none() => {
                    self.at += 1;
                    self.arithmetic(']', 1)?;
                    inner.word = Some(Word::default());
                }
                Token::Char('\n') => {
                    self.end_word(&mut inner);
                    self.at += 1;
                }
                Token::Char(c) if matches!(c, ';' | '&' | '|' | '(' | '<' | '>') => {
                    inner.word.get_or_insert_default().text.push(c);
                    self.at += 1;
                }
                Token::Char(c) => self.step(c, &mut inner, End::Bracket)?,
                Token::Hole(hole) => {
                    self.note(hole, Position::Word, None);
                    inner.word.get_or_insert_default().holes.push(hole);
                    self.at += 1;
                }
            }
        }
        let mut word = name;
        for element in inner.words {
            word.holes.extend(element.holes);
        }
        word.text.push(OTHER);
        line.word = Some(word);
        Some(())
    }

    /// Ends the pattern of a `case` at the following bracket.
    fn end_pattern(&mut self, c: char, line: &mut CommandRead) {
        self.at += 1;
        if c == '(' {
            return;
        }
        self.end_word(line);
        for word in std::mem::take(&mut line.words) {
            for hole in word.holes {
                self.blame(hole, "in the pattern of a `case`");
            }
        }
        if let Some(case) = line.cases.last_mut() {
            *case = Case::Commands;
        }
        line.restart(self.at);
    }
}

impl CommandRead {
    fn restart(&mut self, at: usize) {
        self.pipeline = at;
        self.command = at;
    }

    fn quoted_word(&mut self) -> &mut Word {
        let word = self.word.get_or_insert_default();
        word.quoted = true;
        word
    }

    fn in_pattern(&self) -> bool {
        self.cases.last() == Some(&Case::Pattern)
    }

    fn end_branch(&mut self) {
        if let Some(case) = self.cases.last_mut() {
            *case = Case::Pattern;
        }
    }

    /// Returns whether a bracket here begins the index of an assignment.
    fn is_index(&self) -> bool {
        let assignments = self.words.iter().all(|word| word.text.contains('='));
        assignments
            && self.role == Role::Argument
            && self.word.as_ref().is_some_and(|word| {
                !word.quoted
                    && !word.text.is_empty()
                    && word
                        .text
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
    }
}
