//! Operators, by the precedence that Python gives them.

use serde_json::Value;

use super::{
    super::{ParseError, lexer::Kind},
    Parser,
};
use crate::expression::{At, Comparison, Node, Operator};

impl Parser {
    pub(super) fn choice(&mut self) -> Result<At, ParseError> {
        self.within(|parser| {
            let then = parser.or()?;
            if !parser.take_word("if") {
                return Ok(then);
            }
            let condition = parser.or()?;
            if !parser.take_word("else") {
                let token = parser.peek();
                return Err(ParseError::new(
                    token.at.clone(),
                    "`if` without `else`",
                    "write `a if condition else b`",
                ));
            }
            let otherwise = parser.choice()?;
            parser.push(Node::Choose {
                condition,
                then,
                otherwise,
            })
        })
    }

    fn or(&mut self) -> Result<At, ParseError> {
        let mut left = self.and()?;
        while self.take_word("or") {
            let right = self.and()?;
            left = self.push(Node::Or(left, right))?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<At, ParseError> {
        let mut left = self.not()?;
        while self.take_word("and") {
            let right = self.not()?;
            left = self.push(Node::And(left, right))?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<At, ParseError> {
        if self.take_word("not") {
            let inner = self.within(Self::not)?;
            return self.push(Node::Not(inner));
        }
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(how) = self.comparison() {
            let place = self.peek().at.clone();
            let right = self.sum()?;
            let is_constant = matches!(
                self.expression.node(right),
                Some(Node::Literal(Value::Null | Value::Bool(_)))
            );
            if matches!(how, Comparison::Is | Comparison::IsNot) && !is_constant {
                return Err(ParseError::new(
                    place,
                    "`is` asks for None, True or False only",
                    "write `==`",
                ));
            }
            rest.push((how, right));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.push(Node::Compare(first, rest))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let how = match &self.peek().kind {
            Kind::Sign("==") => Comparison::Equal,
            Kind::Sign("!=") => Comparison::NotEqual,
            Kind::Sign("<") => Comparison::Less,
            Kind::Sign("<=") => Comparison::LessEqual,
            Kind::Sign(">") => Comparison::Greater,
            Kind::Sign(">=") => Comparison::GreaterEqual,
            Kind::Name(word) if word == "in" => Comparison::In,
            Kind::Name(word) if word == "is" => {
                self.next += 1;
                let negated = self.take_word("not");
                return Some(if negated {
                    Comparison::IsNot
                } else {
                    Comparison::Is
                });
            }
            Kind::Name(word) if word == "not" => {
                let second = self.tokens.get(self.next + 1);
                let is_in = second.is_some_and(|token| token.kind == Kind::Name("in".to_owned()));
                if !is_in {
                    return None;
                }
                self.next += 2;
                return Some(Comparison::NotIn);
            }
            _ => return None,
        };
        self.next += 1;
        Some(how)
    }

    fn sum(&mut self) -> Result<At, ParseError> {
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Result<At, ParseError> {
        let signs = [
            ("*", Operator::Multiply),
            ("//", Operator::FloorDivide),
            ("/", Operator::Divide),
            ("%", Operator::Remainder),
        ];
        self.chain(&signs, Self::signed)
    }

    fn chain(
        &mut self,
        signs: &[(&str, Operator)],
        operand: impl Fn(&mut Self) -> Result<At, ParseError>,
    ) -> Result<At, ParseError> {
        let mut left = operand(self)?;
        while let Some((_, with)) = signs.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.next += 1;
            let right = operand(self)?;
            left = self.push(Node::Reckon(*with, left, right))?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<At, ParseError> {
        if self.take_sign("-") {
            let inner = self.within(Self::signed)?;
            return self.push(Node::Negative(inner));
        }
        if self.take_sign("+") {
            return self.within(Self::signed);
        }
        let base = self.postfix()?;
        if !self.take_sign("**") {
            return Ok(base);
        }
        let exponent = self.within(Self::signed)?;
        self.push(Node::Reckon(Operator::Power, base, exponent))
    }
}
