//! Values: names, literals, brackets, and what may stand behind them.

use indexmap::IndexMap;
use serde_json::Value;

use super::{
    super::{
        ParseError,
        lexer::{Kind, Token},
    },
    Parser, named,
};
use crate::{
    expression::{At, Function, Method, Node, Type},
    nearest::nearest,
};

/// Words that are operators, and name nothing.
const OPERATORS: [&str; 8] = ["and", "or", "not", "in", "is", "if", "else", "elif"];

impl Parser {
    pub(super) fn postfix(&mut self) -> Result<At, ParseError> {
        let mut value = self.atom()?;
        loop {
            if self.take_sign(".") {
                value = self.member(value)?;
            } else if self.take_sign("[") {
                value = self.within(|parser| parser.subscript(value))?;
            } else if self.is_sign("(") {
                return Err(ParseError::new(
                    self.peek().at.clone(),
                    "a value that is not a function is called",
                    "only the functions of the documentation can be called",
                ));
            } else {
                return Ok(value);
            }
        }
    }

    fn member(&mut self, of: At) -> Result<At, ParseError> {
        let token = self.take();
        let Kind::Name(name) = &token.kind else {
            return Err(ParseError::new(
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
            return Err(ParseError::new(
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

    fn subscript(&mut self, of: At) -> Result<At, ParseError> {
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
            return Err(ParseError::new(
                at.map_or(0..0, |token| token.at.clone()),
                "empty brackets after a value",
                "write which item: `[0]`, `['name']`",
            ));
        };
        self.push(Node::Item(of, index))
    }

    fn atom(&mut self) -> Result<At, ParseError> {
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
            Kind::Sign("*" | "**") => Err(ParseError::new(
                token.at.clone(),
                format!("{} before a value", named(&token)),
                "values are not spread; write each one",
            )),
            Kind::End => Err(ParseError::new(
                token.at.clone(),
                "the expression ends where a value is missing",
                "write the value",
            )),
            Kind::Sign(_) => Err(ParseError::new(
                token.at.clone(),
                format!("{} where a value is missing", named(&token)),
                match token.kind {
                    Kind::Sign("=") => "to compare write `==`",
                    _ => "write the value",
                },
            )),
        }
    }

    fn name(&mut self, name: &str, token: &Token) -> Result<At, ParseError> {
        match name {
            "True" | "true" => return self.push(Node::Literal(Value::Bool(true))),
            "False" | "false" => return self.push(Node::Literal(Value::Bool(false))),
            "None" | "none" | "null" => return self.push(Node::Literal(Value::Null)),
            _ => {}
        }
        no_underscore(name, token)?;
        if OPERATORS.contains(&name) {
            return Err(ParseError::new(
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
                return Err(ParseError::new(
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

    fn is_instance(&mut self) -> Result<At, ParseError> {
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

    fn type_name(&mut self) -> Result<Type, ParseError> {
        let token = self.take();
        let word = match &token.kind {
            Kind::Name(word) => word.as_str(),
            _ => "",
        };
        Type::of(word).ok_or_else(|| {
            let known: Vec<String> = Type::WORDS.iter().map(|word| format!("`{word}`")).collect();
            ParseError::new(
                token.at.clone(),
                format!("{} is not a type", named(&token)),
                format!("known are {}", known.join(", ")),
            )
        })
    }

    fn parenthesis(&mut self) -> Result<At, ParseError> {
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
    fn items(&mut self, close: &str, open: &str) -> Result<Vec<At>, ParseError> {
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

    fn braces(&mut self) -> Result<At, ParseError> {
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

    fn arguments(&mut self) -> Result<(Vec<At>, Vec<Named>), ParseError> {
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
                    return Err(ParseError::new(
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

fn no_underscore(name: &str, token: &Token) -> Result<(), ParseError> {
    if !name.starts_with('_') {
        return Ok(());
    }
    Err(ParseError::new(
        token.at.clone(),
        format!("`{name}` begins with `_`"),
        "such names are refused; choose another",
    ))
}

fn unknown(
    kind: &str,
    name: &str,
    near: Option<&str>,
    known: &[&str],
    token: &Token,
) -> ParseError {
    let guess = near
        .map(|near| format!(": did you mean `{near}`?"))
        .unwrap_or_default();
    let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    ParseError::new(
        token.at.clone(),
        format!("there is no {kind} `{name}`{guess}"),
        format!("known are {}", known.join(", ")),
    )
}
