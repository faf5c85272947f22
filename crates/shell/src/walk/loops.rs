//! Loops and branches: what holds before the body runs again.

use super::{Proof, Step, Walker};
use crate::state::Touched;
use crate::syntax::{Arith, List, Word};
use crate::value::{Arg, Dynamic};

/// Maximum number of loop values that are handled one by one.
const VALUES_MAX: usize = 100;

impl Walker<'_> {
    /// Walks lists that run any number of times.
    pub(super) fn repeat(&mut self, lists: &[&List]) -> Step {
        let touched = self.settle(|walker| {
            lists
                .iter()
                .try_for_each(|list| walker.list(list, Proof::NONE))
        })?;
        let head = self.state.clone();
        self.repeated(|walker| {
            lists
                .iter()
                .try_for_each(|list| walker.list(list, Proof::NONE))
        })?;
        self.state.forget_loop(&head, &touched);
        Ok(())
    }

    /// Walks what may run any number of times.
    pub(crate) fn repeated(&mut self, body: impl FnOnce(&mut Self) -> Step) -> Step {
        self.facts.repeats += 1;
        let result = body(self);
        self.facts.repeats -= 1;
        result
    }

    /// Determines what a body changes, and forgets it.
    fn settle(&mut self, body: impl FnOnce(&mut Self) -> Step) -> Result<Touched, String> {
        let mark = self.facts.mark();
        let saved = self.state.clone();
        self.state.touched = Touched::default();
        body(self)?;
        let touched = std::mem::take(&mut self.state.touched);
        self.facts.rewind(mark);
        self.state = saved;
        self.state.forget_touched(&touched);
        Ok(touched)
    }

    pub(super) fn for_each(&mut self, name: &str, words: Option<&[Word]>, body: &List) -> Step {
        if self.integers.contains(name) {
            return Err(format!("`{name}` evaluates what it is given"));
        }
        let values = self.loop_values(words)?;
        let literals =
            values.len() <= VALUES_MAX && values.iter().all(|value| value.literal().is_some());
        let literals = literals && !values.is_empty();
        let values = if literals {
            values
        } else {
            vec![common(name, &values)]
        };
        let touched = self.settle(|walker| walker.each(name, &values, body))?;
        let head = self.state.clone();
        if literals {
            self.each(name, &values, body)?;
        } else {
            self.repeated(|walker| walker.each(name, &values, body))?;
        }
        self.state.forget_loop(&head, &touched);
        Ok(())
    }

    /// Walks the body once for each value.
    fn each(&mut self, name: &str, values: &[Arg], body: &List) -> Step {
        let settled = self.state.clone();
        let mut touched = settled.touched.clone();
        for value in values {
            // Each value sees only what holds whatever the others did.
            self.state = settled.clone();
            self.give(name, value.clone());
            self.list(body, Proof::NONE)?;
            touched.add(&self.state.touched);
        }
        self.state.touched = touched;
        Ok(())
    }

    pub(super) fn select(&mut self, name: &str, words: Option<&[Word]>, body: &List) -> Step {
        self.loop_values(words)?;
        self.state.forget("REPLY");
        self.give(name, Arg::unknown(&format!("${name}")));
        self.repeat(&[body])
    }

    fn give(&mut self, name: &str, value: Arg) {
        self.facts.set(name, value.literal());
        self.state.set(name, value);
    }

    fn loop_values(&mut self, words: Option<&[Word]>) -> Result<Vec<Arg>, String> {
        let Some(words) = words else {
            return Ok(self
                .state
                .positional
                .as_ref()
                .map_or_else(|| vec![Arg::unknown("$@")], |words| words.to_vec()));
        };
        let values = words
            .iter()
            .flat_map(|word| self.expander().word(word).args)
            .collect();
        for word in words {
            self.pieces(&word.pieces)?;
        }
        Ok(values)
    }

    pub(super) fn for_numbers(&mut self, parts: &[Arith], body: &List) -> Step {
        let touched = self.settle(|walker| {
            parts.iter().try_for_each(|part| walker.arith(part))?;
            walker.list(body, Proof::NONE)
        })?;
        let head = self.state.clone();
        for part in parts {
            self.arith(part)?;
        }
        self.repeated(|walker| walker.list(body, Proof::NONE))?;
        self.state.forget_loop(&head, &touched);
        Ok(())
    }

    pub(super) fn case(&mut self, word: &Word, arms: &[(Vec<Word>, List)]) -> Step {
        self.pieces(&word.pieces)?;
        let mut after = self.state.clone();
        for (patterns, list) in arms {
            for pattern in patterns {
                self.pieces(&pattern.pieces)?;
            }
            // `;&` falls through, so an arm may begin with the state in which the previous one ended.
            self.state = after.clone();
            self.list(list, Proof::NONE)?;
            after.join(&self.state);
        }
        self.state = after;
        Ok(())
    }
}

/// Returns what the values of a loop have in common.
fn common(name: &str, values: &[Arg]) -> Arg {
    let mut start = values.first().map_or("", Arg::start).to_owned();
    for value in values {
        let same = start
            .char_indices()
            .zip(value.start().chars())
            .take_while(|((_, a), b)| a == b)
            .last();
        let width = same.map_or(0, |((at, c), _)| at + c.len_utf8());
        start.truncate(width);
    }
    let is_whole = |value: &Arg| match value {
        Arg::Literal(_) => true,
        Arg::Dynamic(dynamic) => {
            dynamic.is_single || dynamic.pattern.is_some() || dynamic.is_number
        }
    };
    let all_whole = values.iter().all(is_whole);
    let pattern = match values {
        [Arg::Dynamic(dynamic)] => dynamic.pattern.clone(),
        _ => None,
    };
    Arg::Dynamic(Dynamic {
        start: if all_whole { start } else { String::new() },
        source: format!("${name}"),
        is_number: !values.is_empty() && values.iter().all(Arg::is_number),
        is_single: false,
        is_operand: all_whole
            && values.iter().all(|value| match value {
                Arg::Dynamic(dynamic) if dynamic.is_number => dynamic.is_operand,
                _ => !value.may_be_option() && !value.start().is_empty(),
            }),
        is_never_option: !values.is_empty() && values.iter().all(is_never_option),
        pattern,
        shape: None,
    })
}

fn is_never_option(value: &Arg) -> bool {
    matches!(value, Arg::Dynamic(dynamic) if dynamic.is_never_option)
}
