//! Splits a line into tokens, just precisely enough to write it in another way.
//!
//! It shares no code with the reader. If it does not understand a line, it refuses it, and the line is skipped.

mod expansions;

/// A token of a line and its position.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Word(Vec<Part>),
    Operator,
    /// `>`, `2>>`, `<<-`, with its number.
    Redirect,
    LineFeed,
    Comment,
    /// `[[ … ]]`.
    Test(Vec<Token>),
    /// `(( … ))`.
    Arithmetic,
    /// The body of a here-document and its end mark; the index is that of its `<<` among the tokens.
    Body {
        mark: usize,
        opener: usize,
    },
}

/// A part of a word.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) enum PartKind {
    Plain,
    Escaped,
    Single,
    Double(Vec<Part>),
    Ansi,
    /// `$x` and `${…}`.
    Variable,
    /// `$( … )`.
    Command(Vec<Token>),
    Backquotes,
    /// `$(( … ))`.
    Arithmetic(Vec<Part>),
    /// `<( … )` and `>( … )`.
    Process(Vec<Token>),
    /// The brackets after `a=`.
    Array,
}

/// Words that begin or continue a compound command.
pub(crate) const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "select", "case",
    "esac", "in", "{", "}", "!", "[[", "]]", "time", "function", "coproc",
];

/// Splits a line; returns `None` if it cannot.
pub(crate) fn tokens(line: &str) -> Option<Vec<Token>> {
    // A dollar that belongs to another one does not start a quote, which not every shell knows.
    if line.contains("$$'") {
        return None;
    }
    let mut lexer = Lexer {
        bytes: line.as_bytes(),
        line,
        at: 0,
    };
    let tokens = lexer.list(false, false)?;
    (lexer.at == line.len()).then_some(tokens)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    line: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &str {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// Parses tokens up to the end, or up to a `)` that was not opened here.
    fn list(&mut self, inside: bool, test: bool) -> Option<Vec<Token>> {
        let mut tokens: Vec<Token> = Vec::new();
        let mut open = 0_usize;
        let mut cases = 0_usize;
        let mut pending: Vec<usize> = Vec::new();
        let mut begins = true;
        loop {
            let start = self.at;
            let Some(byte) = self.peek(0) else {
                return (!inside && !test && pending.is_empty() && open == 0).then_some(tokens);
            };
            let kind = match byte {
                b' ' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                b'\\' if self.peek(1) == Some(b'\n') => {
                    self.at += 2;
                    continue;
                }
                b'#' => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                    Kind::Comment
                }
                b'\n' => {
                    self.at += 1;
                    tokens.push(Token {
                        kind: Kind::LineFeed,
                        start,
                        end: self.at,
                    });
                    for opener in std::mem::take(&mut pending) {
                        let body = self.body(&tokens, opener)?;
                        tokens.push(body);
                    }
                    begins = true;
                    continue;
                }
                b'(' if self.peek(1) == Some(b'(') && begins && !test => {
                    self.at += 2;
                    self.arithmetic("))")?;
                    Kind::Arithmetic
                }
                b')' if open == 0 && cases == 0 && inside => return Some(tokens),
                b'(' | b')' => {
                    if byte == b'(' {
                        open += 1;
                    } else if open > 0 {
                        open -= 1;
                    } else if cases == 0 {
                        return None;
                    }
                    self.at += 1;
                    begins = true;
                    Kind::Operator
                }
                b'<' | b'>' if self.peek(1) == Some(b'(') => {
                    begins = false;
                    self.word(test)?
                }
                b'<' | b'>' if test => {
                    self.at += 1;
                    Kind::Operator
                }
                b'&' if self.peek(1) == Some(b'>') && !test => self.redirect()?,
                b'<' | b'>' => self.redirect()?,
                b';' | b'&' | b'|' => {
                    let operators = ["&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|"];
                    let found = operators
                        .iter()
                        .find(|text| self.rest().starts_with(**text))?;
                    self.at += found.len();
                    begins = true;
                    Kind::Operator
                }
                b'0'..=b'9' if self.is_numbered() && !test => self.redirect()?,
                b'{' if self.is_named() && !test => self.redirect()?,
                _ => {
                    let word = self.word(test)?;
                    let text = self.line.get(start..self.at)?;
                    if test && text == "]]" {
                        tokens.push(Token {
                            kind: word,
                            start,
                            end: self.at,
                        });
                        return Some(tokens);
                    }
                    if begins && !test && text == "[[" {
                        begins = false;
                        Kind::Test(self.list(false, true)?)
                    } else {
                        let is_assignment = text
                            .split_once('=')
                            .is_some_and(|(name, _)| is_name(name.trim_end_matches('+')));
                        match text {
                            "case" if begins => cases += 1,
                            "esac" if cases > 0 => cases -= 1,
                            _ => {}
                        }
                        // After the words of a compound command, another command begins.
                        begins = begins
                            && (is_assignment
                                || matches!(
                                    text,
                                    "if" | "then"
                                        | "else"
                                        | "elif"
                                        | "do"
                                        | "while"
                                        | "until"
                                        | "{"
                                        | "!"
                                        | "time"
                                        | "for"
                                ));
                        word
                    }
                }
            };
            let text = self.line.get(start..self.at)?;
            if matches!(kind, Kind::Redirect) && (text.ends_with("<<") || text.ends_with("<<-")) {
                pending.push(tokens.len());
            }
            tokens.push(Token {
                kind,
                start,
                end: self.at,
            });
        }
    }

    fn is_numbered(&self) -> bool {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        matches!(self.peek(digits), Some(b'<' | b'>')) && self.peek(digits + 1) != Some(b'(')
    }

    fn is_named(&self) -> bool {
        self.rest()
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
            .is_some_and(|(name, after)| is_name(name) && after.starts_with(['<', '>']))
    }

    fn redirect(&mut self) -> Option<Kind> {
        if self.peek(0) == Some(b'{') {
            self.at += self.rest().find('}')? + 1;
        }
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let operators = [
            "&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">",
        ];
        let found = operators
            .iter()
            .find(|text| self.rest().starts_with(**text))?;
        self.at += found.len();
        Some(Kind::Redirect)
    }

    /// Parses the body that belongs to the `<<` at this index.
    fn body(&mut self, tokens: &[Token], opener: usize) -> Option<Token> {
        let token = tokens.get(opener)?;
        let tabs = self.line.get(token.start..token.end)?.ends_with('-');
        let mark = tokens.get(opener + 1)?;
        let source = self.line.get(mark.start..mark.end)?;
        let wanted: String = source.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        // After the end mark of another one, its line ends first.
        if matches!(
            tokens.last().map(|last| &last.kind),
            Some(Kind::Body { .. })
        ) {
            self.at += 1;
        }
        let start = self.at;
        loop {
            let from = self.at;
            let line = self.rest().split('\n').next()?.to_owned();
            if self.at >= self.line.len() {
                return None;
            }
            self.at += line.len();
            let shown = if tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if shown == wanted {
                return Some(Token {
                    kind: Kind::Body { mark: from, opener },
                    start,
                    end: self.at,
                });
            }
            if self.peek(0) == Some(b'\n') {
                self.at += 1;
            }
        }
    }

    fn word(&mut self, test: bool) -> Option<Kind> {
        let mut parts: Vec<Part> = Vec::new();
        let from = self.at;
        while let Some(byte) = self.peek(0) {
            let start = self.at;
            let kind = match byte {
                b'<' | b'>' if self.peek(1) == Some(b'(') => {
                    self.at += 2;
                    let inner = self.list(true, false)?;
                    self.at += 1;
                    PartKind::Process(inner)
                }
                b'(' if !test && self.at > from => {
                    let before = self.line.get(from..self.at)?;
                    if before.ends_with('=') {
                        self.at += 1;
                        self.list(true, false)?;
                        self.at += 1;
                        PartKind::Array
                    } else if self.peek(1) == Some(b')') {
                        break;
                    } else {
                        return None;
                    }
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' => {
                    if self.peek(1)? == b'\n' {
                        let ends = self
                            .peek(2)
                            .is_none_or(|after| b" \t\n;&|<>()".contains(&after));
                        return (ends && self.at > from).then_some(Kind::Word(parts));
                    }
                    self.at += 1;
                    self.character()?;
                    PartKind::Escaped
                }
                b'\'' => {
                    self.at += 1;
                    self.at += self.rest().find('\'')? + 1;
                    PartKind::Single
                }
                b'"' => {
                    self.at += 1;
                    PartKind::Double(self.quoted(Some(b'"'))?)
                }
                b'$' if self.peek(1) == Some(b'\'') => {
                    self.at += 2;
                    loop {
                        match self.character()? {
                            '\\' => _ = self.character()?,
                            '\'' => break,
                            _ => {}
                        }
                    }
                    PartKind::Ansi
                }
                b'$' if self.peek(1) == Some(b'"') => return None,
                b'$' | b'`' => self.dollar()?,
                _ => {
                    self.character()?;
                    PartKind::Plain
                }
            };
            let end = self.at;
            match (parts.last_mut(), &kind) {
                (Some(last), PartKind::Plain) if matches!(last.kind, PartKind::Plain) => {
                    last.end = end;
                }
                _ => parts.push(Part { kind, start, end }),
            }
        }
        (self.at > from).then_some(Kind::Word(parts))
    }

    fn character(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
