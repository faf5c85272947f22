//! Simple commands: expansion of their words, their assignments, and what they run.

use interlock_core::facts::CommandClass;

use super::{CommandPosition, Input, Proof, Step, TOO_LARGE, Walker};
use crate::Dialect;
use crate::syntax::{AssignedValue, Assignment, ParamOp, Piece, Simple, Word};
use crate::tables::programs::BUILTINS;
use crate::text::COMMANDS_MAX;
use crate::value::Arg;

/// Maximum number of names that a line may set.
const NAMES_MAX: usize = 64;

/// Maximum number of simple commands that are walked, counting repetitions in loops.
const STEPS_MAX: usize = 2_000;

/// Builtins for which some shells keep the assignments before them.
const SPECIAL_BUILTINS: [&str; 14] = [
    ":", ".", "source", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift",
    "times", "trap", "unset",
];

impl Walker<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, proof: Proof, from_pipe: bool) -> Step {
        self.forget_assigned_defaults(simple);
        self.forget_in_redirects(&simple.redirects);
        let mut args = Vec::new();
        let mut name_is_plain = true;
        for word in &simple.words {
            let expanded = self.expander().word(word);
            if args.is_empty() && expanded.from_braces {
                name_is_plain = false;
            }
            args.extend(expanded.args);
        }
        if self.state.is_spent() {
            return Err(TOO_LARGE.to_owned());
        }
        if self.facts.facts.env.set.len() > NAMES_MAX {
            return Err("more than 64 names are set".to_owned());
        }
        let before = holds_more(simple).then(|| self.state.clone());
        let index = self.facts.next_index();
        if args.is_empty() && simple.declared.is_empty() {
            self.bare_assignments(simple)?;
        } else {
            if !name_is_plain || !matches!(args.first(), Some(Arg::Literal(_))) {
                return Err(format!(
                    "the name of a command is not plain: `{}`; write it out",
                    simple.words.first().map_or("", |word| word.source.as_str())
                ));
            }
            self.run_simple(simple, args, proof, from_pipe)?;
        }
        // Commands in its words run before it, with what was known before.
        let after = before.map(|before| std::mem::replace(&mut self.state, before));
        if self.redirects(&simple.redirects, Some(simple))? {
            self.reclass(index, CommandClass::System);
        }
        self.look_into(simple)?;
        if let Some(after) = after {
            self.state = after;
        }
        Ok(())
    }

    fn run_simple(
        &mut self,
        simple: &Simple,
        args: Vec<Arg>,
        proof: Proof,
        from_pipe: bool,
    ) -> Step {
        self.steps += 1;
        if self.facts.next_index() >= COMMANDS_MAX || self.steps > STEPS_MAX {
            return Err("more than 1,000 commands".to_owned());
        }
        let mut assignments = Vec::new();
        let is_read = args.first().is_some_and(|name| name.is("read"));
        // Builtins and functions see the assignments before them; a program's are dropped again.
        let passes = self.dialect == Dialect::Bash && !self.runs_here(&args);
        let before = (passes && !simple.assignments.is_empty()).then(|| self.state.clone());
        for assignment in &simple.assignments {
            self.check_subscripted(assignment)?;
            let value = self.assigned_value(assignment);
            // It only determines how this `read` splits its line.
            let divides_only = is_read && assignment.name == "IFS";
            if !divides_only {
                self.facts
                    .set(&assignment.name, value.as_ref().and_then(Arg::literal));
            }
            self.facts.used(&assignment.name);
            assignments.push(assignment.name.clone());
            if !divides_only {
                self.state.forget(&assignment.name);
            }
        }
        if let Some(before) = before {
            self.state = before;
        }
        let input = self.input(&simple.redirects, from_pipe || self.piped);
        let from_pipe = input == Input::Pipe;
        let proof = Proof {
            // Text that is parsed again has no place of its own in the line.
            probe: self.probe(simple, &args).or(proof.probe),
            ..proof
        };
        let place = CommandPosition {
            proof,
            input,
            from_pipe,
            via: Vec::new(),
            wrapped: Vec::new(),
            assignments,
        };
        let index = self.facts.next_index();
        let is_special = args
            .first()
            .and_then(Arg::literal)
            .is_some_and(|name| SPECIAL_BUILTINS.contains(&name) || self.defined.contains(name));
        self.run(args, &simple.declared, &place)?;
        if is_special {
            place
                .assignments
                .iter()
                .for_each(|name| self.facts.export(name));
        }
        self.facts.hand_on(&place.assignments, index);
        Ok(())
    }

    /// Returns whether a command runs in this shell itself: a builtin, a function, or something that may lead to one.
    fn runs_here(&self, args: &[Arg]) -> bool {
        args.first().and_then(Arg::literal).is_none_or(|name| {
            BUILTINS.contains(&name)
                || matches!(name, "printf" | ":")
                || self.defined.contains(name)
                || self.state.functions.contains(name)
        })
    }
}

/// Returns whether the words or redirections of a command must be walked themselves.
fn holds_more(simple: &Simple) -> bool {
    let is_plain = |word: &Word| {
        word.pieces.iter().all(|piece| match piece {
            Piece::Text { .. } => true,
            Piece::Param { param, .. } => {
                param.subscript.is_none() && matches!(param.op, ParamOp::None)
            }
            _ => false,
        })
    };
    let is_plain_value = |assignment: &Assignment| match &assignment.value {
        AssignedValue::Scalar(word) => assignment.subscript.is_none() && is_plain(word),
        AssignedValue::Array(elements) => elements
            .iter()
            .all(|element| element.subscript.is_none() && is_plain(&element.word)),
    };
    !simple.redirects.is_empty()
        || !simple.words.iter().all(is_plain)
        || !simple
            .assignments
            .iter()
            .chain(&simple.declared)
            .all(is_plain_value)
}
