//! Commands that contain other commands.

use super::{Parsed, Parser, is_meta, is_name};
use crate::syntax::{Arith, Command, Compound, List, Piece, Redirect, Simple, TestToken, Word};

impl Parser<'_> {
    /// Parses a compound command if one begins here.
    pub(super) fn compound(&mut self) -> Parsed<Option<Command>> {
        let compound = match self.bare_word() {
            "{" => self.group()?,
            "if" => self.conditional()?,
            "while" | "until" => self.repeated()?,
            "for" => self.for_each()?,
            "select" => self.select()?,
            "case" => self.case()?,
            "[[" => self.test()?,
            "coproc" => self.coproc()?,
            "function" => return self.function_word().map(Some),
            "then" | "do" | "done" | "fi" | "elif" | "else" | "esac" | "}" | "in" | "]]" | "!" => {
                return Err(self.unexpected());
            }
            "repeat" | "always" | "foreach" | "end" | "nocorrect"
                if self.is_zsh() && self.bare_word() != "nocorrect" =>
            {
                return Err(format!(
                    "`{}` means something else in zsh",
                    self.bare_word()
                ));
            }
            "" if self.starts_with("((") => self.arithmetic_command()?,
            "" if self.peek() == Some(b'(') => self.subshell()?,
            _ => return Ok(None),
        };
        let redirects = self.redirects()?;
        Ok(Some(Command::Compound(Box::new(compound), redirects)))
    }

    fn redirects(&mut self) -> Parsed<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.blanks()?;
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn group(&mut self) -> Parsed<Compound> {
        self.pos += 1;
        let list = self.body(&["}"])?;
        self.expect_word("}")?;
        Ok(Compound::Group(list))
    }

    fn subshell(&mut self) -> Parsed<Compound> {
        self.pos += 1;
        let list = self.body(&[")"])?;
        self.close(")")?;
        Ok(Compound::Subshell(list))
    }

    pub(super) fn close(&mut self, bracket: &str) -> Parsed<()> {
        if self.eat(bracket) {
            Ok(())
        } else {
            Err(format!("`{bracket}` is missing"))
        }
    }

    fn conditional(&mut self) -> Parsed<Compound> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        self.expect_word("if")?;
        loop {
            let condition = self.body(&["then"])?;
            self.expect_word("then")?;
            let then = self.body(&["elif", "else", "fi"])?;
            branches.push((condition, then));
            if self.eat_word("elif") {
                continue;
            }
            if self.eat_word("else") {
                otherwise = Some(self.body(&["fi"])?);
            }
            self.expect_word("fi")?;
            return Ok(Compound::If {
                branches,
                otherwise,
            });
        }
    }

    fn repeated(&mut self) -> Parsed<Compound> {
        self.pos += "while".len();
        let condition = self.body(&["do"])?;
        let body = self.do_group()?;
        Ok(Compound::While { condition, body })
    }

    fn do_group(&mut self) -> Parsed<List> {
        self.expect_word("do")?;
        let body = self.body(&["done"])?;
        self.expect_word("done")?;
        Ok(body)
    }

    fn for_each(&mut self) -> Parsed<Compound> {
        self.pos += "for".len();
        self.blanks()?;
        if self.starts_with("((") {
            return self.for_numbers();
        }
        let (name, words) = self.each_header()?;
        let body = self.do_group()?;
        Ok(Compound::For { name, words, body })
    }

    fn select(&mut self) -> Parsed<Compound> {
        self.posix_lacks("`select`")?;
        self.selects.push(self.pos);
        self.pos += "select".len();
        let (name, words) = self.each_header()?;
        let body = self.do_group()?;
        Ok(Compound::Select { name, words, body })
    }

    fn each_header(&mut self) -> Parsed<(String, Option<Vec<Word>>)> {
        self.blanks()?;
        let name = self.bare_word().to_owned();
        if !is_name(&name) {
            return Err("a loop needs a plain name".to_owned());
        }
        self.pos += name.len();
        self.blanks()?;
        if self.eat(";") {
            return Ok((name, None));
        }
        self.blank_lines()?;
        if !self.eat_word("in") {
            return Ok((name, None));
        }
        let mut words = Vec::new();
        loop {
            self.blanks()?;
            match self.peek() {
                Some(b';' | b'\n') => {
                    if self.peek() == Some(b';') {
                        self.pos += 1;
                    }
                    return Ok((name, Some(words)));
                }
                None | Some(b'&' | b'|' | b')' | b'(') => return Err(self.unexpected()),
                _ => {
                    self.count_word()?;
                    words.push(self.word()?);
                }
            }
        }
    }

    fn for_numbers(&mut self) -> Parsed<Compound> {
        self.posix_lacks("`for ((`")?;
        self.pos += 2;
        let mut parts = Vec::new();
        for end in [";", ";", "))"] {
            parts.push(self.nested(|parser| parser.arith_until(&[end]))?.0);
        }
        self.blanks()?;
        let _ = self.eat(";");
        let body = self.do_group()?;
        Ok(Compound::CFor { parts, body })
    }

    fn case(&mut self) -> Parsed<Compound> {
        self.pos += "case".len();
        self.blanks()?;
        self.count_word()?;
        let word = self.word()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.blank_lines()?;
            if self.eat_word("esac") {
                return Ok(Compound::Case { word, arms });
            }
            let patterns = self.case_patterns()?;
            let list = self.nested(|parser| parser.list(&[";;", "esac"]))?;
            arms.push((patterns, list));
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.expect_word("esac")?;
                return Ok(Compound::Case { word, arms });
            }
        }
    }

    fn case_patterns(&mut self) -> Parsed<Vec<Word>> {
        let _ = self.eat("(");
        let mut patterns = Vec::new();
        loop {
            self.blanks()?;
            self.count_word()?;
            patterns.push(self.word()?);
            self.blanks()?;
            match self.peek() {
                Some(b'|') => self.pos += 1,
                Some(b')') => {
                    self.pos += 1;
                    return Ok(patterns);
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn arithmetic_command(&mut self) -> Parsed<Compound> {
        self.posix_lacks("`((`")?;
        self.count_command()?;
        self.pos += 2;
        let (expression, _) = self.nested(|parser| parser.arith_until(&["))"]))?;
        Ok(Compound::Arithmetic(expression))
    }

    fn test(&mut self) -> Parsed<Compound> {
        self.posix_lacks("`[[`")?;
        self.count_command()?;
        self.pos += 2;
        let mut tokens: Vec<TestToken> = Vec::new();
        let mut open = 0_usize;
        loop {
            self.blank_lines()?;
            if open == 0 && self.eat_word("]]") {
                return if tokens.is_empty() {
                    Err(self.unexpected())
                } else {
                    Ok(Compound::Test(tokens))
                };
            }
            let token = self.test_token(tokens.last())?;
            match &token {
                TestToken::Operator("(") => open += 1,
                TestToken::Operator(")") => {
                    open = open.checked_sub(1).ok_or_else(|| self.unexpected())?
                }
                _ => {}
            }
            tokens.push(token);
        }
    }

    fn test_token(&mut self, last: Option<&TestToken>) -> Parsed<TestToken> {
        if let Some(TestToken::Word(word)) = last
            && word.is_bare("=~")
        {
            self.count_word()?;
            return self.regex().map(TestToken::Word);
        }
        if let Some(TestToken::Word(word)) = last
            && ["==", "=", "!="]
                .iter()
                .any(|operator| word.is_bare(operator))
        {
            self.count_word()?;
            return self.test_pattern().map(TestToken::Word);
        }
        for operator in ["&&", "||", "(", ")", "<", ">"] {
            let substitution = self.starts_with("<(") || self.starts_with(">(");
            if !substitution && self.eat(operator) {
                return Ok(TestToken::Operator(operator));
            }
        }
        if self
            .peek()
            .is_none_or(|byte| matches!(byte, b';' | b'&' | b'|'))
        {
            return Err(self.unexpected());
        }
        self.count_word()?;
        self.word().map(TestToken::Word)
    }

    /// Parses a pattern in which `@(a|b)` and the like are part of the word.
    fn test_pattern(&mut self) -> Parsed<Word> {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            let before = self
                .pos
                .checked_sub(1)
                .and_then(|at| self.src.as_bytes().get(at));
            let begins = self.pos > start && before.is_some_and(|byte| b"@!+*?".contains(byte));
            match byte {
                b'(' if begins || open > 0 => open += 1,
                b')' if open > 0 => open -= 1,
                b'|' if open > 0 => {}
                _ if open == 0 && is_meta(byte) => break,
                _ if is_meta(byte) => return Err(self.unexpected()),
                _ => {
                    self.unquoted(&mut pieces)?;
                    continue;
                }
            }
            if open > crate::text::NESTING_MAX {
                return Err("nested more than 100 deep".to_owned());
            }
            let text = self.bump().map(String::from).unwrap_or_default();
            pieces.push(Piece::Text {
                text,
                quoted: false,
            });
        }
        if open > 0 || self.pos == start {
            return Err(self.unexpected());
        }
        Ok(Word {
            pieces,
            source: self.slice(start).to_owned(),
        })
    }

    /// Parses the pattern after `=~`, where brackets belong to the word.
    fn regex(&mut self) -> Parsed<Word> {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') if open == 0 => return Err(self.unexpected()),
                Some(b')') => open -= 1,
                Some(b'|') => {}
                Some(byte) if !is_meta(byte) => {
                    let before = self.pos;
                    self.word_pieces(&mut pieces)?;
                    if self.pos == before {
                        return Err("a line is continued inside a word".to_owned());
                    }
                    continue;
                }
                Some(b' ' | b'\t' | b'\n') if open == 0 && self.pos > start => break,
                _ => return Err(self.unexpected()),
            }
            let text = self.bump().map(String::from).unwrap_or_default();
            pieces.push(Piece::Text { text, quoted: true });
        }
        Ok(Word {
            pieces,
            source: self.slice(start).to_owned(),
        })
    }

    fn coproc(&mut self) -> Parsed<Compound> {
        self.posix_lacks("`coproc`")?;
        self.pos += "coproc".len();
        self.blanks()?;
        let mut name = None;
        let first = self.bare_word();
        if is_name(first) && !is_reserved(first) {
            let mark = self.pos;
            self.pos += first.len();
            self.blanks()?;
            if is_reserved(self.bare_word()) || self.peek() == Some(b'(') {
                name = Some(first.to_owned());
            } else {
                self.pos = mark;
            }
        }
        let body = self.nested(Self::command)?;
        Ok(Compound::Coproc { name, body })
    }

    /// Parses `() body` after the name of a function.
    pub(super) fn function_after(&mut self, simple: &Simple) -> Parsed<Command> {
        let [name] = simple.words.as_slice() else {
            return Err(self.unexpected());
        };
        if !simple.assignments.is_empty() || !simple.redirects.is_empty() {
            return Err(self.unexpected());
        }
        let name = name.source.clone();
        self.pos += 1;
        self.blanks()?;
        self.close(")")?;
        self.function_body(name)
    }

    fn function_word(&mut self) -> Parsed<Command> {
        self.posix_lacks("`function`")?;
        self.pos += "function".len();
        self.blanks()?;
        let name = self.bare_word().to_owned();
        self.pos += name.len();
        self.blanks()?;
        if self.eat("(") {
            self.blanks()?;
            self.close(")")?;
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Parsed<Command> {
        if name.is_empty()
            || !name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
        {
            return Err("a function needs a plain name".to_owned());
        }
        self.blank_lines()?;
        match self.nested(Self::compound)? {
            Some(body @ Command::Compound(..)) => Ok(Command::Function {
                name,
                body: Box::new(body),
            }),
            _ => Err("a function needs a body in brackets".to_owned()),
        }
    }

    /// Parses an arithmetic expression up to one of `ends`, which is consumed and returned.
    pub(super) fn arith_until<'e>(&mut self, ends: &[&'e str]) -> Parsed<(Arith, &'e str)> {
        let mut pieces = Vec::new();
        let mut open = Vec::new();
        loop {
            if open.is_empty()
                && let Some(end) = ends.iter().find(|end| self.starts_with(end))
            {
                self.pos += end.len();
                return Ok((Arith { pieces }, end));
            }
            let Some(byte) = self.peek() else {
                return Err(format!("`{}` is missing", ends.join("` or `")));
            };
            match byte {
                b'$' | b'`' => {
                    self.dollar(&mut pieces, true)?;
                    continue;
                }
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b')' | b']' if open.pop() != Some(byte) => {
                    return Err("brackets that do not match".to_owned());
                }
                b'\'' | b'"' | b'\\' => {
                    return Err("quotes in an arithmetic expression".to_owned());
                }
                b'{' | b'}' | b';' | b'@' => return Err(self.unexpected()),
                _ => {}
            }
            if open.len() > crate::text::NESTING_MAX {
                return Err("nested more than 100 deep".to_owned());
            }
            let text = self.bump().map(String::from).unwrap_or_default();
            match pieces.last_mut() {
                Some(Piece::Text { text: before, .. }) => before.push_str(&text),
                _ => pieces.push(Piece::Text { text, quoted: true }),
            }
        }
    }
}

fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[["
    )
}
