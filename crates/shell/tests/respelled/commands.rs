//! Finds the simple commands among the tokens of a line.

use super::lexer::{Kind, PartKind, RESERVED, Token};

/// A simple command: indices of tokens.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<usize>,
    pub(crate) words: Vec<usize>,
    /// The operators, each followed by its target.
    pub(crate) redirects: Vec<usize>,
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty() && self.redirects.is_empty()
    }

    /// Returns the tokens from the first to the last.
    pub(crate) fn ends(&self) -> Option<(usize, usize)> {
        let targets = self.redirects.iter().map(|at| at + 1);
        let all = || {
            self.assignments
                .iter()
                .chain(&self.words)
                .chain(&self.redirects)
                .copied()
                .chain(targets.clone())
        };
        Some((all().min()?, all().max()?))
    }
}

/// Calls `each` with every list of tokens, including those in substitutions.
pub(crate) fn lists<'a>(tokens: &'a [Token], each: &mut impl FnMut(&'a [Token])) {
    each(tokens);
    for token in tokens {
        match &token.kind {
            Kind::Word(parts) => inner(parts, each),
            Kind::Test(tokens) => {
                for token in tokens {
                    if let Kind::Word(parts) = &token.kind {
                        inner(parts, each);
                    }
                }
            }
            _ => {}
        }
    }
}

fn inner<'a>(parts: &'a [super::lexer::Part], each: &mut impl FnMut(&'a [Token])) {
    for part in parts {
        match &part.kind {
            PartKind::Command(tokens) | PartKind::Process(tokens) => lists(tokens, each),
            PartKind::Double(parts) | PartKind::Arithmetic(parts) => inner(parts, each),
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A command may begin, or has begun.
    Command,
    /// After `for NAME`, up to the end of its words.
    Header,
    /// After `case`, up to `in`.
    Case,
    /// Before the `)` of a pattern.
    Pattern,
    /// After a compound command, where only redirections are possible.
    Behind,
    /// The name of a function, or of a coprocess.
    Name,
}

/// Returns the simple commands in this list itself.
pub(crate) fn simples(line: &str, tokens: &[Token]) -> Vec<Simple> {
    let mut found = Vec::new();
    let mut current = Simple::default();
    let mut place = Place::Command;
    let mut cases = 0_usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let text = line.get(token.start..token.end).unwrap_or_default();
        let is_new = current.is_empty();
        match (&token.kind, place) {
            (Kind::Comment | Kind::Body { .. }, _) => {}
            (Kind::Redirect, Place::Command) => {
                current.redirects.push(at);
                at += 1;
            }
            (Kind::Redirect, _) => at += 1,
            (Kind::Test(_) | Kind::Arithmetic, _) => place = Place::Behind,
            (Kind::LineFeed | Kind::Operator, _) => {
                let is_function = text == "("
                    && tokens
                        .get(at + 1)
                        .is_some_and(|next| line.get(next.start..next.end) == Some(")"))
                    && current.words.len() == 1;
                if is_function {
                    current = Simple::default();
                    at += 1;
                } else if !current.is_empty() {
                    found.push(std::mem::take(&mut current));
                }
                place = match (text, place) {
                    ("\n", Place::Case) => Place::Case,
                    ("\n" | "(" | "|", Place::Pattern) => Place::Pattern,
                    (";;" | ";&" | ";;&", _) if cases > 0 => Place::Pattern,
                    _ => Place::Command,
                };
            }
            (Kind::Word(_), Place::Command) if is_new && RESERVED.contains(&text) => match text {
                "fi" | "done" | "}" => place = Place::Behind,
                "esac" => {
                    cases = cases.saturating_sub(1);
                    place = Place::Behind;
                }
                "for" | "select" => place = Place::Header,
                "case" => {
                    cases += 1;
                    place = Place::Case;
                }
                "function" | "coproc" => place = Place::Name,
                _ => {}
            },
            (Kind::Word(_), Place::Header) if text == "do" => place = Place::Command,
            (Kind::Word(_), Place::Case) if text == "in" => place = Place::Pattern,
            (Kind::Word(_), Place::Pattern) if text == "esac" => {
                cases = cases.saturating_sub(1);
                place = Place::Behind;
            }
            (Kind::Word(_), Place::Behind) if RESERVED.contains(&text) => place = Place::Command,
            (Kind::Word(_), Place::Name) if text == "{" => place = Place::Command,
            (Kind::Word(parts), Place::Command) => {
                let is_assignment = current.words.is_empty()
                    && matches!(parts.first(), Some(part) if matches!(part.kind, PartKind::Plain))
                    && text.split_once('=').is_some_and(|(name, _)| {
                        let name = name.split(['[', '+']).next().unwrap_or_default();
                        !name.is_empty()
                            && !name.starts_with(|c: char| c.is_ascii_digit())
                            && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
                    });
                if is_assignment {
                    current.assignments.push(at);
                } else {
                    current.words.push(at);
                }
            }
            (Kind::Word(_), _) => {}
        }
        at += 1;
    }
    if !current.is_empty() {
        found.push(current);
    }
    found
}
