//! Pieces to a tree, by the precedence of Python's operators.

use indexmap::IndexMap;
use interlock_core::{
    expression::{At, Comparison, Expression, Function, Method, Node, Operator, Type},
    nearest::nearest,
};
use serde_json::Value;

use super::{
    Mistake,
    lexer::{Kind, Token, tokens},
};

/// Expressions within expressions.
const DEPTH_MAX: usize = 64;
/// Parts of an expression that are made of each other.
const TREE_DEPTH_MAX: usize = 300;
/// Pieces of one expression.
const TOKENS_MAX: usize = 4_000;

/// Words that mean something in Python and nothing here.
const REFUSED: [(&str, &str); 12] = [
    ("lambda", "there are no functions of one's own"),
    (
        "for",
        "there are no comprehensions; `any`, `all`, `sum` and `len` take a list",
    ),
    ("import", "nothing can be imported"),
    ("await", "nothing is awaited"),
    ("yield", "nothing is yielded"),
    ("def", "there are no functions of one's own"),
    ("class", "there are no types of one's own"),
    ("return", "write the value itself"),
    ("del", "nothing is deleted"),
    ("assert", "write the condition itself"),
    ("raise", "nothing is raised"),
    ("with", "write the value itself"),
];

/// Words that are operators, and name nothing.
const OPERATORS: [&str; 8] = ["and", "or", "not", "in", "is", "if", "else", "elif"];

/// Reads an expression.
pub(in crate::codemie) fn parse(text: &str) -> Result<Expression, Mistake> {
    let tokens = tokens(text)?;
    if tokens.len() > TOKENS_MAX {
        return Err(Mistake::new(
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
        return Err(Mistake::new(
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
    fn push(&mut self, node: Node) -> Result<At, Mistake> {
        let parts = node.parts();
        let depths = parts
            .iter()
            .filter_map(|part| self.depths.get(part.index()));
        let depth = 1 + depths.max().copied().unwrap_or_default();
        if depth > TREE_DEPTH_MAX {
            return Err(Mistake::new(
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

    fn expect_sign(&mut self, sign: &str, opened: &str) -> Result<(), Mistake> {
        if self.take_sign(sign) {
            return Ok(());
        }
        self.refuse_word()?;
        let token = self.peek();
        let message = match token.kind {
            Kind::End => format!("`{opened}` is not closed"),
            _ => format!("`{sign}` is missing before {}", named(token)),
        };
        Err(Mistake::new(
            token.at.clone(),
            message,
            format!("write `{sign}`"),
        ))
    }

    fn expect_end(&self) -> Result<(), Mistake> {
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
                "`,` stands outside of brackets".to_owned(),
                "put a list in brackets",
            ),
            _ => (
                format!("{} stands beside another value", named(token)),
                "put an operator between the two",
            ),
        };
        Err(Mistake::new(token.at.clone(), message, help))
    }

    /// Refuses a word of Python's that means nothing here.
    fn refuse_word(&self) -> Result<(), Mistake> {
        let token = self.peek();
        let Kind::Name(word) = &token.kind else {
            return Ok(());
        };
        match REFUSED.iter().find(|(known, _)| known == word) {
            Some((word, help)) => Err(Mistake::new(
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
        read: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Mistake::new(
                self.peek().at.clone(),
                format!("more than {DEPTH_MAX} expressions within each other"),
                "compute a part of it in a state of its own",
            ));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn choice(&mut self) -> Result<At, Mistake> {
        self.within(|parser| {
            let then = parser.or()?;
            if !parser.take_word("if") {
                return Ok(then);
            }
            let condition = parser.or()?;
            if !parser.take_word("else") {
                let token = parser.peek();
                return Err(Mistake::new(
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

    fn or(&mut self) -> Result<At, Mistake> {
        let mut left = self.and()?;
        while self.take_word("or") {
            let right = self.and()?;
            left = self.push(Node::Or(left, right))?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<At, Mistake> {
        let mut left = self.not()?;
        while self.take_word("and") {
            let right = self.not()?;
            left = self.push(Node::And(left, right))?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<At, Mistake> {
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
                return Err(Mistake::new(
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

    fn sum(&mut self) -> Result<At, Mistake> {
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Result<At, Mistake> {
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
        operand: impl Fn(&mut Self) -> Result<At, Mistake>,
    ) -> Result<At, Mistake> {
        let mut left = operand(self)?;
        while let Some((_, with)) = signs.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.next += 1;
            let right = operand(self)?;
            left = self.push(Node::Reckon(*with, left, right))?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<At, Mistake> {
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

    fn postfix(&mut self) -> Result<At, Mistake> {
        let mut value = self.atom()?;
        loop {
            if self.take_sign(".") {
                value = self.member(value)?;
            } else if self.take_sign("[") {
                value = self.within(|parser| parser.subscript(value))?;
            } else if self.is_sign("(") {
                return Err(Mistake::new(
                    self.peek().at.clone(),
                    "a value that is no function is called",
                    "only the functions of the documentation can be called",
                ));
            } else {
                return Ok(value);
            }
        }
    }

    fn member(&mut self, of: At) -> Result<At, Mistake> {
        let token = self.take();
        let Kind::Name(name) = &token.kind else {
            return Err(Mistake::new(
                token.at.clone(),
                format!("{} after a point", named(&token)),
                "name a field or a method",
            ));
        };
        no_underscore(name, &token)?;
        if !self.is_sign("(") {
            return self.push(Node::Field(of, name.clone()));
        }
        let Some(method) = Method::of(name) else {
            let near = nearest(name, Method::WORDS.iter().copied());
            return Err(unknown("method", name, near, Method::WORDS, &token));
        };
        self.next += 1;
        let (arguments, by_name) = self.within(Self::arguments)?;
        if let Some((name, at)) = by_name.first().map(|(name, at, _)| (name, at)) {
            return Err(Mistake::new(
                at.clone(),
                format!("`{name}=` in a method"),
                "give the values in order",
            ));
        }
        self.push(Node::Method {
            of,
            method,
            arguments,
        })
    }

    fn subscript(&mut self, of: At) -> Result<At, Mistake> {
        let mut bounds: [Option<At>; 3] = [None, None, None];
        let mut colons = 0;
        for bound in &mut bounds {
            if !self.is_sign(":") && !self.is_sign("]") {
                *bound = Some(self.choice()?);
            }
            if !self.take_sign(":") {
                break;
            }
            colons += 1;
        }
        self.expect_sign("]", "[")?;
        if colons > 0 {
            return self.push(Node::Part(of, bounds));
        }
        let [Some(index), ..] = bounds else {
            let at = self.tokens.get(self.next.saturating_sub(1));
            return Err(Mistake::new(
                at.map_or(0..0, |token| token.at.clone()),
                "empty brackets after a value",
                "write which item: `[0]`, `['name']`",
            ));
        };
        self.push(Node::Item(of, index))
    }

    fn atom(&mut self) -> Result<At, Mistake> {
        self.refuse_word()?;
        let token = self.take();
        match &token.kind {
            Kind::Number(written) => {
                let number = serde_json::from_str(written).unwrap_or(Value::Null);
                self.push(Node::Literal(number))
            }
            Kind::Text(text) => {
                let mut text = text.clone();
                // As in Python, texts beside each other are one.
                while let Kind::Text(more) = &self.peek().kind {
                    text.push_str(more);
                    self.next += 1;
                }
                self.push(Node::Literal(Value::String(text)))
            }
            Kind::Name(name) => self.name(name, &token),
            Kind::Sign("(") => self.within(Self::parenthesis),
            Kind::Sign("[") => self.within(|parser| {
                let items = parser.items("]", "[")?;
                parser.push(Node::List(items))
            }),
            Kind::Sign("{") => self.within(Self::braces),
            Kind::Sign("*" | "**") => Err(Mistake::new(
                token.at.clone(),
                format!("{} before a value", named(&token)),
                "values are not spread; write each one",
            )),
            Kind::End => Err(Mistake::new(
                token.at.clone(),
                "the expression ends where a value is missing",
                "write the value",
            )),
            Kind::Sign(_) => Err(Mistake::new(
                token.at.clone(),
                format!("{} where a value is missing", named(&token)),
                match token.kind {
                    Kind::Sign("=") => "to compare write `==`",
                    _ => "write the value",
                },
            )),
        }
    }

    fn name(&mut self, name: &str, token: &Token) -> Result<At, Mistake> {
        match name {
            "True" | "true" => return self.push(Node::Literal(Value::Bool(true))),
            "False" | "false" => return self.push(Node::Literal(Value::Bool(false))),
            "None" | "none" | "null" => return self.push(Node::Literal(Value::Null)),
            _ => {}
        }
        no_underscore(name, token)?;
        if OPERATORS.contains(&name) {
            return Err(Mistake::new(
                token.at.clone(),
                format!("`{name}` where a value is missing"),
                "write the value",
            ));
        }
        if !self.take_sign("(") {
            return self.push(Node::Name(name.to_owned()));
        }
        if name == "isinstance" {
            return self.within(Self::is_instance);
        }
        let Some(function) = Function::of(name) else {
            let words: Vec<&str> = Function::WORDS
                .iter()
                .copied()
                .chain(["isinstance"])
                .collect();
            let near = nearest(name, words.iter().copied());
            return Err(unknown("function", name, near, &words, token));
        };
        let (arguments, by_name) = self.within(Self::arguments)?;
        let known: &[&str] = match function {
            Function::Sorted => &["reverse"],
            Function::Min | Function::Max => &["default"],
            Function::Sum | Function::Enumerate => &["start"],
            _ => &[],
        };
        let mut named = IndexMap::new();
        for (name, at, value) in by_name {
            if !known.contains(&name.as_str()) {
                return Err(Mistake::new(
                    at,
                    format!("`{}` takes no `{name}=`", function.word()),
                    match known.first() {
                        Some(known) => format!("it takes `{known}=`"),
                        None => "give the values in order; to compare write `==`".to_owned(),
                    },
                ));
            }
            named.insert(name, value);
        }
        self.push(Node::Call {
            function,
            arguments,
            named,
        })
    }

    fn is_instance(&mut self) -> Result<At, Mistake> {
        let of = self.choice()?;
        self.expect_sign(",", "isinstance(")?;
        let mut types = Vec::new();
        if self.take_sign("(") {
            while !self.is_sign(")") {
                types.push(self.type_name()?);
                if !self.take_sign(",") {
                    break;
                }
            }
            self.expect_sign(")", "(")?;
        } else {
            types.push(self.type_name()?);
        }
        self.expect_sign(")", "isinstance(")?;
        self.push(Node::Is(of, types))
    }

    fn type_name(&mut self) -> Result<Type, Mistake> {
        let token = self.take();
        let word = match &token.kind {
            Kind::Name(word) => word.as_str(),
            _ => "",
        };
        Type::of(word).ok_or_else(|| {
            let known: Vec<String> = Type::WORDS.iter().map(|word| format!("`{word}`")).collect();
            Mistake::new(
                token.at.clone(),
                format!("{} is no type", named(&token)),
                format!("known are {}", known.join(", ")),
            )
        })
    }

    fn parenthesis(&mut self) -> Result<At, Mistake> {
        if self.take_sign(")") {
            return self.push(Node::List(Vec::new()));
        }
        let first = self.choice()?;
        if !self.is_sign(",") {
            self.expect_sign(")", "(")?;
            return Ok(first);
        }
        self.next += 1;
        let mut items = vec![first];
        items.extend(self.items(")", "(")?);
        self.push(Node::List(items))
    }

    /// Reads what stands up to the closing sign, with commas in between.
    fn items(&mut self, close: &str, open: &str) -> Result<Vec<At>, Mistake> {
        let mut items = Vec::new();
        while !self.is_sign(close) {
            items.push(self.choice()?);
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect_sign(close, open)?;
        Ok(items)
    }

    fn braces(&mut self) -> Result<At, Mistake> {
        if self.take_sign("}") {
            return self.push(Node::Map(Vec::new()));
        }
        let first = self.choice()?;
        if !self.take_sign(":") {
            let mut items = vec![first];
            if self.take_sign(",") {
                items.extend(self.items("}", "{")?);
            } else {
                self.expect_sign("}", "{")?;
            }
            return self.push(Node::List(items));
        }
        let mut fields = vec![(first, self.choice()?)];
        while self.take_sign(",") && !self.is_sign("}") {
            let key = self.choice()?;
            self.expect_sign(":", "{")?;
            fields.push((key, self.choice()?));
        }
        self.expect_sign("}", "{")?;
        self.push(Node::Map(fields))
    }

    fn arguments(&mut self) -> Result<(Vec<At>, Vec<Named>), Mistake> {
        let (mut arguments, mut by_name) = (Vec::new(), Vec::new());
        while !self.is_sign(")") {
            let second = self.tokens.get(self.next + 1).map(|token| &token.kind);
            let token = self.peek().clone();
            match (&token.kind, second) {
                (Kind::Name(name), Some(Kind::Sign("="))) => {
                    self.next += 2;
                    by_name.push((name.clone(), token.at.clone(), self.choice()?));
                }
                _ if !by_name.is_empty() => {
                    return Err(Mistake::new(
                        token.at,
                        "a value after one that has a name",
                        "write it before",
                    ));
                }
                _ => arguments.push(self.choice()?),
            }
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect_sign(")", "(")?;
        Ok((arguments, by_name))
    }
}

/// A value given by name, and where the name stands.
type Named = (String, std::ops::Range<usize>, At);

fn no_underscore(name: &str, token: &Token) -> Result<(), Mistake> {
    if !name.starts_with('_') {
        return Ok(());
    }
    Err(Mistake::new(
        token.at.clone(),
        format!("`{name}` begins with `_`"),
        "such names are refused; choose another",
    ))
}

fn unknown(kind: &str, name: &str, near: Option<&str>, known: &[&str], token: &Token) -> Mistake {
    let guess = near
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default();
    let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    Mistake::new(
        token.at.clone(),
        format!("there is no {kind} `{name}`{guess}"),
        format!("known are {}", known.join(", ")),
    )
}

fn named(token: &Token) -> String {
    match &token.kind {
        Kind::Name(text) | Kind::Number(text) => format!("`{text}`"),
        Kind::Text(_) => "a text".to_owned(),
        Kind::Sign(sign) => format!("`{sign}`"),
        Kind::End => "the end".to_owned(),
    }
}
