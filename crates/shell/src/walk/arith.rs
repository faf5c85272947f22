//! Arithmetic: bash evaluates names repeatedly, and runs what it finds in subscripts.

use super::{Step, Walker};
use crate::state::{Value, number};
use crate::syntax::{Arith, Param, ParamOp, Piece, Subscript, TestToken};
use crate::tables::zsh;
use crate::value::{Arg, is_number};

/// Names that the shell itself sets to text.
const SHELL_NAMES: &[&str] = &[
    "_",
    "PWD",
    "OLDPWD",
    "DIRSTACK",
    "FUNCNAME",
    "MAPFILE",
    "OPTARG",
    "REPLY",
    "READLINE_LINE",
    "PIPESTATUS",
    "COPROC",
];

impl Walker<'_> {
    /// Walks an arithmetic expression; anything except certain numbers is refused.
    pub(crate) fn arith(&mut self, arith: &Arith) -> Step {
        for piece in &arith.pieces {
            match piece {
                Piece::Text { text, .. } => self.arith_text(text)?,
                Piece::Arith { text } => self.arith(text)?,
                Piece::Param { param, .. } => {
                    self.arith_param(param)?;
                    self.pieces(std::slice::from_ref(piece))?;
                }
                Piece::Command { .. } => {
                    if !self
                        .expander()
                        .scalar(std::slice::from_ref(piece), "")
                        .is_number()
                    {
                        return Err(
                            "the output of a command in an arithmetic expression".to_owned()
                        );
                    }
                    self.pieces(std::slice::from_ref(piece))?;
                }
                Piece::Process(_) | Piece::Locale(_) => {
                    return Err("an odd arithmetic expression".to_owned());
                }
            }
        }
        self.arith_assigns(arith);
        Ok(())
    }

    /// Walks the text of an arithmetic expression.
    pub(crate) fn arith_text(&mut self, text: &str) -> Step {
        if text.contains(['$', '`', '"', '\'', '\\']) {
            return Err("quoted text in an arithmetic expression".to_owned());
        }
        for name in names(text) {
            self.arith_name(name)?;
        }
        Ok(())
    }

    fn arith_name(&mut self, name: &str) -> Step {
        self.facts.used(name);
        match self.state.get(name) {
            Some(Value::Scalar(value)) if value.is_number() => return Ok(()),
            // Set only to numbers, or not at all: as if never set.
            Some(Value::Scalar(_)) if !self.state.not_numbers.borrow().contains(name) => {}
            Some(_) => {
                return Err(format!(
                    "`{name}` is evaluated and may hold more than a number"
                ));
            }
            None => {}
        }
        if SHELL_NAMES.contains(&name) || name.starts_with("BASH") || name.starts_with("COMP_") {
            return Err(format!(
                "`{name}` is evaluated and may hold more than a number"
            ));
        }
        self.evaluated.insert(name.to_owned());
        Ok(())
    }

    fn arith_param(&mut self, param: &Param) -> Step {
        let refusal = || {
            Err(format!(
                "`${}` is evaluated and may hold more than a number",
                param.name
            ))
        };
        if self
            .expander()
            .known(param)
            .is_some_and(|value| value.is_number())
        {
            return Ok(());
        }
        if param.indirect || matches!(param.subscript, Some(Subscript::All)) {
            return refusal();
        }
        if let ParamOp::Test { word, .. } = &param.op {
            let plain = word
                .iter()
                .all(|piece| matches!(piece, Piece::Text { text, .. } if is_number(text)));
            if !plain {
                return refusal();
            }
        }
        if param.name.bytes().all(|byte| byte.is_ascii_digit()) {
            return if self.state.positional_given {
                refusal()
            } else {
                Ok(())
            };
        }
        if crate::parse::is_name(&param.name) {
            self.arith_name(&param.name)
        } else {
            refusal()
        }
    }

    /// Records the names that an expression sets, which are numbers from here on.
    pub(crate) fn arith_assigns(&mut self, arith: &Arith) {
        for piece in &arith.pieces {
            if let Piece::Text { text, .. } = piece {
                self.arith_text_assigns(text);
            }
        }
    }

    pub(crate) fn arith_text_assigns(&mut self, text: &str) {
        if !(text.contains('=') || text.contains("++") || text.contains("--")) {
            return;
        }
        let assigned: Vec<&str> = names(text).collect();
        for name in assigned {
            match self.state.get(name) {
                Some(Value::Array) => {}
                // The result is unknown, but a number for every assigned name.
                Some(_) => self.state.set(name, number(name)),
                None if !text.contains('[') => self.state.set(name, number(name)),
                None => self.state.set_array(name),
            }
            self.facts.set(name, None);
        }
    }

    /// Walks the tokens between `[[` and `]]`.
    pub(super) fn test_tokens(&mut self, tokens: &[TestToken]) -> Step {
        for (at, token) in tokens.iter().enumerate() {
            let TestToken::Word(word) = token else {
                continue;
            };
            self.pieces(&word.pieces)?;
            let Some(operator) = word.plain() else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let after = tokens.get(at + 1);
            match operator.as_str() {
                "=~" if self.is_zsh() => {
                    zsh::MATCHED.iter().for_each(|name| self.state.forget(name));
                }
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    for operand in [before, after].into_iter().flatten() {
                        if let TestToken::Word(word) = operand {
                            self.arith(&Arith {
                                pieces: word.pieces.clone(),
                            })?;
                        }
                    }
                }
                "-v" | "-R" => {
                    if let Some(TestToken::Word(word)) = after {
                        let name = self.expander().scalar(&word.pieces, &word.source);
                        self.plain_name(&name)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles a word that the shell treats as the name of a variable.
    pub(crate) fn plain_name(&mut self, name: &Arg) -> Result<String, String> {
        if name
            .literal()
            .is_some_and(|name| self.integers.contains(name))
        {
            return Err(format!("`{}` evaluates what it is given", name.shown()));
        }
        match name.literal() {
            Some(text) if crate::parse::is_name(text) => {
                self.facts.used(text);
                Ok(text.to_owned())
            }
            _ => Err(format!(
                "`{}` is used as the name of a variable",
                name.shown()
            )),
        }
    }

    /// Refuses a line that sets a name to text after evaluating it.
    pub(crate) fn check_evaluated(&self) -> Step {
        let texts = self.state.not_numbers.borrow();
        match self.evaluated.iter().find(|name| texts.contains(*name)) {
            Some(name) => Err(format!(
                "`{name}` is evaluated and may hold more than a number"
            )),
            None => Ok(()),
        }
    }

    /// Refuses a line in which `declare` assigns text to an array: bash parses `(…)` in it again.
    pub(crate) fn check_declared(&self) -> Step {
        let arrays = self.state.arrays.borrow();
        match self
            .declared_text
            .iter()
            .find(|name| arrays.contains(*name) || ARRAYS_OF_BASH.contains(&name.as_str()))
        {
            Some(name) => Err(format!(
                "the array `{name}` reads the text it is given as code"
            )),
            None => Ok(()),
        }
    }
}

/// Names that are arrays before any line.
const ARRAYS_OF_BASH: [&str; 12] = [
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_CMDS",
    "BASH_LINENO",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "BASH_VERSINFO",
    "DIRSTACK",
    "FUNCNAME",
    "GROUPS",
    "PIPESTATUS",
];

/// Returns the names in an expression; `0x1f` and `16#ff` are numbers.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c == '_' || c == '#' || c.is_ascii_alphanumeric()))
        .filter(|part| {
            part.bytes()
                .next()
                .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
        })
}
