//! Pieces to a tree: the pieces one after the other, and how deep they may lie.

mod operators;
mod values;

use super::{
    ParseError,
    lexer::{Kind, Token, tokens},
};
use crate::expression::{At, Expression, Node};

/// Expressions within expressions.
const DEPTH_MAX: usize = 64;
/// Parts of an expression that are made of each other.
const TREE_DEPTH_MAX: usize = 300;
/// Pieces of one expression.
const TOKENS_MAX: usize = 4_000;

/// Words that mean something in Python and nothing here.
const REFUSED: [(&str, &str); 12] = [
    ("lambda", "functions cannot be defined"),
    (
        "for",
        "there are no comprehensions; `any`, `all`, `sum` and `len` take a list",
    ),
    ("import", "nothing can be imported"),
    ("await", "nothing is awaited"),
    ("yield", "nothing is yielded"),
    ("def", "functions cannot be defined"),
    ("class", "types cannot be defined"),
    ("return", "write the value itself"),
    ("del", "nothing is deleted"),
    ("assert", "write the condition itself"),
    ("raise", "nothing is raised"),
    ("with", "write the value itself"),
];

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, ParseError> {
    let tokens = tokens(text)?;
    if tokens.len() > TOKENS_MAX {
        return Err(ParseError::new(
            0..0,
            format!("an expression of more than {TOKENS_MAX} pieces"),
            "compute a part of it in a state of its own",
        ));
    }
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        expression: Expression::default(),
        depths: Vec::new(),
    };
    if parser.peek().kind == Kind::End {
        return Err(ParseError::new(
            0..0,
            "an empty expression",
            "write what must hold: `count > 10`",
        ));
    }
    parser.choice()?;
    parser.expect_end()?;
    Ok(parser.expression)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    expression: Expression,
    /// How deep each part is.
    depths: Vec<usize>,
}

/// The end, for a place behind it.
static END: Token = Token {
    kind: Kind::End,
    at: 0..0,
};

impl Parser {
    /// Adds a part to the expression.
    fn push(&mut self, node: Node) -> Result<At, ParseError> {
        let parts = node.parts();
        let depths = parts
            .iter()
            .filter_map(|part| self.depths.get(part.index()));
        let depth = 1 + depths.max().copied().unwrap_or_default();
        if depth > TREE_DEPTH_MAX {
            return Err(ParseError::new(
                self.peek().at.clone(),
                "too many operators beside or within each other",
                "ask `in` a list, or compute a part of it in a state of its own",
            ));
        }
        self.depths.push(depth);
        Ok(self.expression.push(node))
    }

    fn peek(&self) -> &Token {
        self.tokens
            .get(self.next)
            .or_else(|| self.tokens.last())
            .unwrap_or(&END)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek().kind, Kind::Sign(known) if known == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, Kind::Name(known) if known == word)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        self.next += usize::from(is);
        is
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.next += usize::from(is);
        is
    }

    fn expect_sign(&mut self, sign: &str, opened: &str) -> Result<(), ParseError> {
        if self.take_sign(sign) {
            return Ok(());
        }
        self.refuse_word()?;
        let token = self.peek();
        let message = match token.kind {
            Kind::End => format!("`{opened}` is not closed"),
            _ => format!("`{sign}` is missing before {}", named(token)),
        };
        Err(ParseError::new(
            token.at.clone(),
            message,
            format!("write `{sign}`"),
        ))
    }

    fn expect_end(&self) -> Result<(), ParseError> {
        let token = self.peek();
        self.refuse_word()?;
        let (message, help) = match &token.kind {
            Kind::End => return Ok(()),
            Kind::Sign("=") => (
                "`=` stores, and an expression stores nothing".to_owned(),
                "to compare write `==`",
            ),
            Kind::Sign(")" | "]" | "}") => (format!("{} opens nowhere", named(token)), "remove it"),
            Kind::Sign(",") => (
                "`,` is outside of brackets".to_owned(),
                "put a list in brackets",
            ),
            _ => (
                format!("{} stands beside another value", named(token)),
                "put an operator between the two",
            ),
        };
        Err(ParseError::new(token.at.clone(), message, help))
    }

    /// Refuses a word of Python's that means nothing here.
    fn refuse_word(&self) -> Result<(), ParseError> {
        let token = self.peek();
        let Kind::Name(word) = &token.kind else {
            return Ok(());
        };
        match REFUSED.iter().find(|(known, _)| known == word) {
            Some((word, help)) => Err(ParseError::new(
                token.at.clone(),
                format!("`{word}` is not known here"),
                *help,
            )),
            None => Ok(()),
        }
    }

    /// Reads one level deeper.
    fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ParseError::new(
                self.peek().at.clone(),
                format!("more than {DEPTH_MAX} expressions within each other"),
                "compute a part of it in a state of its own",
            ));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }
}

fn named(token: &Token) -> String {
    match &token.kind {
        Kind::Name(text) | Kind::Number(text) => format!("`{text}`"),
        Kind::Text(_) => "a text".to_owned(),
        Kind::Sign(sign) => format!("`{sign}`"),
        Kind::End => "the end".to_owned(),
    }
}
