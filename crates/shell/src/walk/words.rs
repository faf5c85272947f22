//! The contents of words: names used, substitutions, assignments.

use super::{Proof, Step, Walker};
use crate::parse::is_name;
use crate::state::Value;
use crate::syntax::{
    Arith, AssignedValue, Assignment, Param, ParamOp, Piece, Redirect, RedirectKind, Simple,
    Subscript,
};
use crate::value::Arg;

impl Walker<'_> {
    /// Walks the contents of all words of a simple command.
    pub(super) fn look_into(&mut self, simple: &Simple) -> Step {
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            if let Some(index) = &assignment.subscript {
                self.subscript(&assignment.name, index)?;
            }
            match &assignment.value {
                AssignedValue::Scalar(word) => self.pieces(&word.pieces)?,
                AssignedValue::Array(elements) => {
                    for element in elements {
                        if let Some(text) = &element.subscript
                            && !self.state.is_associative(&assignment.name)
                        {
                            self.arith_text(text)?;
                        }
                        self.pieces(&element.word.pieces)?;
                    }
                }
            }
        }
        for word in &simple.words {
            self.pieces(&word.pieces)?;
        }
        Ok(())
    }

    /// Walks the pieces of one word.
    pub(super) fn pieces(&mut self, pieces: &[Piece]) -> Step {
        for piece in pieces {
            match piece {
                Piece::Text { .. } => {}
                Piece::Param { param, .. } => self.param(param)?,
                Piece::Command { body, .. } => {
                    self.subshell(|walker| walker.list(&body.list, Proof::NONE))?;
                }
                // The shell does not wait for it.
                Piece::Process(body) => {
                    self.detached(|walker| walker.list(&body.list, Proof::NONE))?;
                }
                Piece::Arith { text } => self.arith(text)?,
                Piece::Locale(inner) => self.pieces(inner)?,
            }
        }
        Ok(())
    }

    /// Walks a subscript: arithmetic, except for an associative array.
    fn subscript(&mut self, name: &str, index: &Arith) -> Step {
        if self.state.is_associative(name) {
            return self.pieces(&index.pieces);
        }
        self.arith(index)
    }

    fn param(&mut self, param: &Param) -> Step {
        if is_name(&param.name) {
            self.facts.used(&param.name);
        }
        match &param.subscript {
            Some(Subscript::Index(index)) => self.subscript(&param.name, index)?,
            Some(Subscript::All) if param.indirect => return Ok(()),
            _ => {}
        }
        if param.indirect && !matches!(param.op, ParamOp::Names) {
            return Err(format!(
                "`${{!{}}}` takes its name from a value",
                param.name
            ));
        }
        match &param.op {
            ParamOp::None => {}
            ParamOp::Names => self.facts.facts.env.dump = true,
            ParamOp::Test { op, word } => {
                if *op == b'=' && param.subscript.is_some() && self.is_zsh() {
                    return Err(format!("`{}[…]` may change what a name means", param.name));
                }
                if *op == b'=' {
                    self.facts.set(&param.name, None);
                    self.state.forget(&param.name);
                }
                self.pieces(word)?;
            }
            ParamOp::Pattern(word) => self.pieces(word)?,
            ParamOp::Substring(parts) => {
                for part in parts {
                    self.arith(part)?;
                }
            }
            ParamOp::Transform(op) if b"QULuAKak".contains(op) => {}
            ParamOp::Transform(op) => {
                return Err(format!("`@{}` runs a value as text", char::from(*op)));
            }
        }
        Ok(())
    }

    /// Forgets names that expansions of this command assign.
    pub(super) fn forget_assigned_defaults(&mut self, simple: &Simple) {
        let assigned = simple
            .assignments
            .iter()
            .chain(&simple.declared)
            .flat_map(|assignment| match &assignment.value {
                AssignedValue::Scalar(word) => vec![word],
                AssignedValue::Array(elements) => {
                    elements.iter().map(|element| &element.word).collect()
                }
            });
        for word in assigned.chain(&simple.words) {
            if word.source.contains('=') || word.source.contains("++") || word.source.contains("--")
            {
                self.forget_in_pieces(&word.pieces);
            }
        }
    }

    /// Forgets the same for the words of redirections.
    pub(super) fn forget_in_redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::Read(word)
                | RedirectKind::Write { target: word, .. }
                | RedirectKind::ReadWrite(word)
                | RedirectKind::Duplicate { target: word, .. }
                | RedirectKind::HereString(word) => self.forget_in_pieces(&word.pieces),
                RedirectKind::HereDocument(document) => {
                    self.forget_in_pieces(document.get().map(Vec::as_slice).unwrap_or_default());
                }
            }
        }
    }

    fn forget_in_pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Param { param, .. } => match &param.op {
                    ParamOp::Test { op, word } => {
                        if *op == b'=' {
                            self.state.forget(&param.name);
                        }
                        self.forget_in_pieces(word);
                    }
                    ParamOp::Pattern(word) => self.forget_in_pieces(word),
                    ParamOp::Substring(parts) => {
                        parts.iter().for_each(|part| self.arith_assigns(part))
                    }
                    ParamOp::None | ParamOp::Transform(_) | ParamOp::Names => {}
                },
                Piece::Arith { text } => self.arith_assigns(text),
                Piece::Locale(inner) => self.forget_in_pieces(inner),
                Piece::Text { .. } | Piece::Command { .. } | Piece::Process(_) => {}
            }
        }
    }

    /// Returns the value of an assignment; `None` for an array.
    pub(crate) fn assigned_value(&self, assignment: &Assignment) -> Option<Arg> {
        let AssignedValue::Scalar(word) = &assignment.value else {
            return None;
        };
        if assignment.subscript.is_some() {
            return None;
        }
        let value = self.expander().scalar(&word.pieces, &word.source);
        if !assignment.append {
            return Some(value);
        }
        match (self.state.get(&assignment.name), value) {
            (Some(Value::Scalar(Arg::Literal(before))), Arg::Literal(text)) => {
                Some(Arg::Literal(format!("{before}{text}")))
            }
            _ => Some(Arg::unknown(&assignment.source)),
        }
    }

    /// Applies assignments without a command.
    pub(super) fn bare_assignments(&mut self, simple: &Simple) -> Step {
        for assignment in &simple.assignments {
            self.assign(assignment)?;
        }
        Ok(())
    }

    /// Applies one assignment in this shell.
    pub(crate) fn assign(&mut self, assignment: &Assignment) -> Step {
        let value = self.assigned_value(assignment);
        self.assign_value(assignment, value)
    }

    /// Refuses an assignment to one key, which zsh may store in a special table (`commands[ls]=…`).
    pub(super) fn check_subscripted(&self, assignment: &Assignment) -> Step {
        if self.is_zsh() && assignment.subscript.is_some() {
            return Err(format!(
                "`{}[…]` may change what a name means",
                assignment.name
            ));
        }
        Ok(())
    }

    /// Applies one assignment whose value is known; `None` for an array.
    pub(crate) fn assign_value(&mut self, assignment: &Assignment, value: Option<Arg>) -> Step {
        self.check_subscripted(assignment)?;
        self.facts.used(&assignment.name);
        self.facts
            .set(&assignment.name, value.as_ref().and_then(Arg::literal));
        match value {
            Some(value) => {
                if self.integers.contains(&assignment.name) && !value.is_number() {
                    return Err(format!("`{}` evaluates what it is given", assignment.name));
                }
                self.state.set(&assignment.name, value);
            }
            None => self.state.set_array(&assignment.name),
        }
        Ok(())
    }
}
