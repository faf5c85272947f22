//! Expansions that begin with `$` or a backtick.

use super::word::push_text;
use super::{Parsed, Parser, is_name, parse};
use crate::syntax::{Param, ParamOp, Piece, Subscript, Substitution};

impl Parser<'_> {
    /// Parses an expansion at `$` or a backtick.
    pub(super) fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Parsed<()> {
        if self.eat("`") {
            let body = self.backticks(quoted)?;
            pieces.push(Piece::Command {
                body: Box::new(body),
                quoted,
            });
            return Ok(());
        }
        self.count_expansion()?;
        self.pos += 1;
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => {
                self.pos += 2;
                let (text, _) = self.nested(|parser| parser.arith_until(&["))"]))?;
                pieces.push(Piece::Arith { text });
            }
            Some(b'(') => {
                self.pos += 1;
                let body = self.substitution()?;
                pieces.push(Piece::Command {
                    body: Box::new(body),
                    quoted,
                });
            }
            Some(b'[') => {
                self.posix_lacks("`$[`")?;
                self.pos += 1;
                let (text, _) = self.nested(|parser| parser.arith_until(&["]"]))?;
                pieces.push(Piece::Arith { text });
            }
            Some(b'{') => {
                self.pos += 1;
                let param = self.nested(|parser| parser.braced(quoted))?;
                if self.is_zsh() {
                    self.zsh_modifier()?;
                }
                pieces.push(Piece::Param {
                    param: Box::new(param),
                    quoted,
                });
            }
            Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                return Err("a line is continued after `$`".to_owned());
            }
            Some(b'=' | b'~' | b'^' | b'+') if self.is_zsh() => {
                return Err("an expansion of zsh".to_owned());
            }
            _ => match self.plain_parameter() {
                Some(name) => {
                    if self.is_zsh() {
                        self.zsh_modifier()?;
                    }
                    if self.is_zsh() && self.peek() == Some(b'[') {
                        return Err("a subscript without braces".to_owned());
                    }
                    let param = Param {
                        name,
                        indirect: false,
                        length: false,
                        subscript: None,
                        op: ParamOp::None,
                    };
                    pieces.push(Piece::Param {
                        param: Box::new(param),
                        quoted,
                    });
                }
                None => push_text(pieces, "$", quoted),
            },
        }
        Ok(())
    }

    /// Parses the name after a `$` without braces.
    fn plain_parameter(&mut self) -> Option<String> {
        let first = self.peek()?;
        let width = if first == b'_' || first.is_ascii_alphabetic() {
            self.rest()
                .bytes()
                .take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
                .count()
        } else if first.is_ascii_digit() || b"@*#?$!-".contains(&first) {
            1
        } else {
            return None;
        };
        let name = self.rest().get(..width)?.to_owned();
        self.pos += width;
        Some(name)
    }

    fn backticks(&mut self, quoted: bool) -> Parsed<Substitution> {
        self.count_substitution()?;
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return Err("a backtick is not closed".to_owned()),
                Some('`') => break,
                Some('\\') => match self.bump() {
                    Some(c @ ('$' | '`' | '\\')) => text.push(c),
                    None | Some('\n') => {
                        return Err("a line is continued between backticks".to_owned());
                    }
                    Some('"') if quoted => {
                        return Err("an escaped quote between backticks".to_owned());
                    }
                    Some(c) => text.extend(['\\', c]),
                },
                Some(c) => text.push(c),
            }
        }
        if !self.pending.is_empty() && text.contains('\n') {
            return Err("a line feed in a word before a here-document".to_owned());
        }
        let (dialect, depth) = (self.dialect, self.depth);
        let mut tally = self.tally;
        let list = self.nested(|_| parse(&text, dialect, depth + 1, &mut tally));
        self.tally = tally;
        Ok(Substitution {
            list: list?,
            source: text,
        })
    }

    /// Parses the text between `${` and `}`.
    fn braced(&mut self, quoted: bool) -> Parsed<Param> {
        let mut param = Param {
            name: String::new(),
            indirect: false,
            length: false,
            subscript: None,
            op: ParamOp::None,
        };
        let closes = |parser: &Self, at: usize| parser.peek_at(at) == Some(b'}');
        match self.peek() {
            Some(b'#') if !closes(self, 1) => {
                self.pos += 1;
                param.length = true;
            }
            Some(b'!') if !closes(self, 1) => {
                self.pos += 1;
                param.indirect = true;
            }
            _ => {}
        }
        param.name = self
            .braced_name()
            .ok_or_else(|| "an odd parameter in `${}`".to_owned())?;
        if self.peek() == Some(b'[') && is_name(&param.name) {
            param.subscript = Some(self.subscript()?);
        }
        if param.indirect && (self.eat("*}") || self.eat("@}")) {
            param.op = ParamOp::Names;
            return Ok(param);
        }
        if self.eat("}") {
            return Ok(param);
        }
        if param.length {
            return Err("an odd parameter in `${}`".to_owned());
        }
        param.op = self.parameter_op(quoted)?;
        Ok(param)
    }

    fn braced_name(&mut self) -> Option<String> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 1 {
            let name = self.rest().get(..digits)?.to_owned();
            self.pos += digits;
            return Some(name);
        }
        self.plain_parameter()
    }

    fn subscript(&mut self) -> Parsed<Subscript> {
        self.posix_lacks("an array")?;
        self.pos += 1;
        if self.eat("@]") || self.eat("*]") {
            return Ok(Subscript::All);
        }
        let (index, _) = self.nested(|parser| parser.arith_until(&["]"]))?;
        Ok(Subscript::Index(index))
    }

    fn parameter_op(&mut self, quoted: bool) -> Parsed<ParamOp> {
        let colon = self.eat(":");
        match self.peek() {
            Some(op @ (b'-' | b'=' | b'?' | b'+')) => {
                self.pos += 1;
                Ok(ParamOp::Test {
                    op,
                    word: self.operand(quoted)?,
                })
            }
            _ if colon => self.substring(),
            Some(b'#' | b'%' | b'/' | b'^' | b',') => {
                self.pos += 1;
                Ok(ParamOp::Pattern(self.operand(quoted)?))
            }
            Some(b'@') => {
                self.pos += 1;
                let op = self.peek().unwrap_or_default();
                self.pos += 1;
                self.close("}")?;
                Ok(ParamOp::Transform(op))
            }
            _ => Err("an odd operator in `${}`".to_owned()),
        }
    }

    fn substring(&mut self) -> Parsed<ParamOp> {
        self.posix_lacks("a substring")?;
        let mut parts = Vec::new();
        loop {
            if self.is_zsh()
                && !matches!(
                    self.peek(),
                    Some(b'0'..=b'9' | b' ' | b'$' | b'-' | b':' | b'}')
                )
            {
                return Err("a value that zsh changes or sets".to_owned());
            }
            let (part, end) = self.arith_until(&[":", "}"])?;
            parts.push(part);
            if end == "}" {
                return Ok(ParamOp::Substring(parts));
            }
        }
    }

    /// Parses the word after an operator, up to the closing brace.
    fn operand(&mut self, quoted: bool) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        loop {
            match self.peek() {
                None => return Err("`}` is missing".to_owned()),
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(pieces);
                }
                Some(b'\'') if quoted => {
                    return Err("a single quote in `${}` inside double quotes".to_owned());
                }
                Some(b'$' | b'`') if quoted => self.dollar(&mut pieces, true)?,
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    return Err("a process substitution in `${}`".to_owned());
                }
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                    return Err("a line is continued inside a word".to_owned());
                }
                _ => self.unquoted(&mut pieces)?,
            }
        }
    }
}
