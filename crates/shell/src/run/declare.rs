//! `export`, `declare`, `set` and the other builtins that change what is known.

use std::collections::BTreeSet;

use interlock_core::facts::CommandClass;

use crate::parse::is_name;
use crate::syntax::{AssignedValue, Assignment};
use crate::value::Arg;
use crate::walk::{CommandPosition, Step, Walker};
use crate::words::words;

/// Options of `set -o` that do not affect the analysis.
const SET_OPTIONS: &[&str] = words!(
    "allexport errexit errtrace functrace hashall monitor noclobber noglob notify nounset physical
     pipefail verbose xtrace emacs vi"
);

/// Options of `shopt` that do not affect the analysis.
const SHOPT_OPTIONS: &[&str] = words!(
    "nullglob dotglob globstar failglob nocaseglob nocasematch inherit_errexit checkwinsize
     histappend huponexit lithist globskipdots globasciiranges"
);

impl Walker<'_> {
    /// Handles `export`, `declare`, `typeset`, `local`, `readonly`.
    pub(super) fn declare(
        &mut self,
        name: &str,
        args: &[Arg],
        declared: &[Assignment],
        place: &CommandPosition,
    ) -> Step {
        let mut shown = args.to_vec();
        shown.extend(self.declared_words(declared));
        self.list_command(&shown, CommandClass::Nothing, place);
        let words = args.get(1..).unwrap_or_default();
        let flags = self.declare_flags(name, words)?;
        let operands: Vec<&Arg> = words.iter().filter(|word| !is_flag(word)).collect();
        let doubtful = if name == "local" && !self.in_function {
            // Outside a function, it fails in one shell and assigns in another.
            given(declared, &operands)
        } else {
            given_twice(declared, &operands)
        };
        let valued = |word: &&Arg| word.literal().is_some_and(|text| text.contains('='));
        if flags.contains('i') && (flags.contains(['a', 'A']) || !operands.iter().all(valued)) {
            return Err("an integer variable runs text that is assigned to it later".to_owned());
        }
        if operands.is_empty() && declared.is_empty() && !flags.contains(['f', 'F']) {
            self.facts.facts.env.dump |= name != "local";
        }
        // A name that is an indexed array stays one; then the builtin fails.
        let takes_texts = matches!(name, "declare" | "typeset") && flags == "-A";
        // The shell expands every word before the builtin assigns the first.
        let values: Vec<Option<Arg>> = declared
            .iter()
            .map(|assignment| self.declared_value(assignment))
            .collect();
        for (assignment, value) in declared.iter().zip(values) {
            if !takes_texts {
                self.state.drop_associative(&assignment.name);
            } else if self.state.get(&assignment.name).is_none() {
                self.state.set_associative(&assignment.name);
            }
            if flags.contains('i') {
                self.integers.insert(assignment.name.clone());
            }
            if name == "export" || flags.contains('x') {
                self.facts.export(&assignment.name);
            }
            self.give_declared(&assignment.name, value.as_ref(), &flags)?;
            self.assign_value(assignment, value)?;
        }
        if name == "readonly" || flags.contains('r') {
            for assignment in declared {
                self.state.make_volatile(&assignment.name);
            }
        }
        if flags.contains('f') || flags.contains('F') {
            doubtful.iter().for_each(|name| self.state.forget(name));
            return Ok(());
        }
        for operand in operands {
            let variable = operand.literal().filter(|text| is_name(text));
            let is_new = variable.filter(|variable| self.state.get(variable).is_none());
            self.declare_operand(name, operand, &flags)?;
            match (takes_texts, is_new, variable) {
                (true, Some(variable), _) => self.state.set_associative(variable),
                (false, _, Some(variable)) if !flags.contains('p') => {
                    self.state.drop_associative(variable);
                }
                _ => {}
            }
        }
        doubtful.iter().for_each(|name| self.state.forget(name));
        Ok(())
    }

    /// Returns the value of an assignment that is a word of a builtin, where braces create several words.
    fn declared_value(&self, assignment: &Assignment) -> Option<Arg> {
        match &assignment.value {
            AssignedValue::Scalar(word) if self.expander().word(word).from_braces => {
                Some(Arg::unknown(&assignment.source))
            }
            _ => self.assigned_value(assignment),
        }
    }

    fn declared_words(&self, declared: &[Assignment]) -> Vec<Arg> {
        declared
            .iter()
            .map(|assignment| match self.declared_value(assignment) {
                Some(Arg::Literal(value)) if !assignment.append => {
                    Arg::Literal(format!("{}={value}", assignment.name))
                }
                _ => Arg::unknown(&assignment.source),
            })
            .collect()
    }

    fn declare_flags(&self, name: &str, words: &[Arg]) -> Result<String, String> {
        let mut flags = String::new();
        for word in words.iter().filter(|word| is_flag(word)) {
            let text = word.literal().unwrap_or_default();
            if text.contains(|c: char| !"-+xrgaApfFti".contains(c)) {
                return Err(format!("`{name} {text}` changes what names mean"));
            }
            flags.push_str(text);
        }
        if name == "export" && flags.contains('f') {
            return Err("`export -f` gives functions to other shells".to_owned());
        }
        Ok(flags)
    }

    /// Refuses text that bash would parse again as the elements of an array: `declare -a x='($(cmd))'`.
    fn give_declared(&mut self, name: &str, value: Option<&Arg>, flags: &str) -> Step {
        let is_array = flags.contains(['a', 'A']);
        if is_array {
            self.state.arrays.borrow_mut().insert(name.to_owned());
        }
        let Some(value) = value else { return Ok(()) };
        let is_code = match value {
            Arg::Literal(text) => text.starts_with('('),
            Arg::Dynamic(dynamic) => {
                let may = dynamic.start.is_empty() && !dynamic.is_number;
                if may {
                    self.declared_text.insert(name.to_owned());
                }
                may && is_array || dynamic.start.starts_with('(')
            }
        };
        if is_code {
            return Err(format!(
                "the array `{name}` reads the text it is given as code"
            ));
        }
        Ok(())
    }

    fn declare_operand(&mut self, name: &str, operand: &Arg, flags: &str) -> Step {
        let refusal = || format!("`{name} {}`: the name is not plain", operand.shown());
        if operand.literal().is_none() && operand.start().starts_with(['-', '+']) {
            return Err(refusal());
        }
        let (variable, value) = match operand.start().split_once('=') {
            Some((variable, value)) if operand.literal().is_some() => {
                (variable, Some(Arg::text(value)))
            }
            Some((variable, _)) => (variable, Some(Arg::unknown(operand.shown()))),
            None => (operand.literal().ok_or_else(refusal)?, None),
        };
        let (variable, value) = match variable.strip_suffix('+') {
            // Its present value comes before it.
            Some(variable) => (variable, value.map(|_| Arg::unknown(operand.shown()))),
            None => (variable, value),
        };
        let divides =
            matches!(operand, Arg::Dynamic(dynamic) if !dynamic.is_single && !dynamic.is_number);
        if !is_name(variable) || divides {
            return Err(refusal());
        }
        self.facts.used(variable);
        if name == "export" || flags.contains('x') {
            self.facts.export(variable);
        }
        if flags.contains('i') {
            self.integers.insert(variable.to_owned());
        }
        self.give_declared(variable, value.as_ref(), flags)?;
        if let Some(value) = value {
            if self.integers.contains(variable) && !value.is_number() {
                return Err(format!("`{variable}` evaluates what it is given"));
            }
            self.facts.set(variable, value.literal());
            self.state.set(variable, value);
        } else if matches!(name, "local" | "declare" | "typeset") && !flags.contains('p') {
            self.state.forget(variable);
        }
        if name == "readonly" || flags.contains('r') {
            self.state.make_volatile(variable);
        }
        Ok(())
    }

    /// Handles `set`: options, positional words, or a dump.
    pub(super) fn set_builtin(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        let index = self.list_command(args, CommandClass::Nothing, place);
        let mut rest = args.iter().skip(1).peekable();
        if rest.peek().is_none() {
            self.facts.facts.env.dump = true;
        }
        while let Some(word) = rest.next() {
            match word.literal() {
                Some("--" | "-") => {
                    self.give_words(rest.cloned().collect());
                    return Ok(());
                }
                Some(text) if text.starts_with(['-', '+']) => {
                    let is_on = text.starts_with('-');
                    for letter in text.chars().skip(1) {
                        match letter {
                            'o' => match rest.next().map(Arg::literal) {
                                None => {}
                                Some(Some(option)) => self.set_option(index, option, is_on)?,
                                Some(None) => {
                                    return Err(
                                        "`set -o` with an option that is not known".to_owned()
                                    );
                                }
                            },
                            'a' => self.facts.exports_all |= is_on,
                            'b' | 'e' | 'f' | 'h' | 'u' | 'C' | 'E' | 'P' => {}
                            // The text of each command is shown, or run separately.
                            'm' | 'v' | 'x' | 'T' => self.facts.unprobed = true,
                            _ => return Err(format!("`set {text}` changes how lines are read")),
                        }
                    }
                }
                Some(_) => {
                    let mut words = vec![word.clone()];
                    words.extend(rest.cloned());
                    self.give_words(words);
                    return Ok(());
                }
                None => return Err(format!("`set {}` may be an option", word.shown())),
            }
        }
        Ok(())
    }

    fn give_words(&mut self, words: Vec<Arg>) {
        let known = words.iter().all(|word| match word {
            Arg::Literal(_) => true,
            Arg::Dynamic(dynamic) => dynamic.is_single || dynamic.is_number,
        });
        self.state.give_positional(known.then_some(words));
    }

    fn set_option(&mut self, index: usize, option: &str, is_on: bool) -> Step {
        if option == "allexport" {
            self.facts.exports_all |= is_on;
        } else if option == "pipefail" {
            self.state.set_pipefail(is_on);
        } else if option == "history" {
            self.facts
                .opaque(index, "it writes the history of the shell");
        } else if !SET_OPTIONS.contains(&option) {
            return Err(format!("`set -o {option}` changes how lines are read"));
        } else {
            self.facts.unprobed |= ["xtrace", "verbose", "monitor", "functrace"].contains(&option);
        }
        Ok(())
    }

    pub(super) fn shopt(&mut self, args: &[Arg], place: &CommandPosition) -> Step {
        self.list_command(args, CommandClass::Nothing, place);
        for word in args.iter().skip(1) {
            match word.literal() {
                Some("-s" | "-u" | "-p" | "-q") => {}
                Some(option) if SHOPT_OPTIONS.contains(&option) => {}
                _ => {
                    return Err(format!(
                        "`shopt {}` changes how lines are read",
                        word.shown()
                    ));
                }
            }
        }
        Ok(())
    }
}

fn is_flag(word: &Arg) -> bool {
    word.literal()
        .is_some_and(|text| text.len() > 1 && text.starts_with(['-', '+']))
}

/// Lists the names that one declaration assigns, once for each assignment.
fn given(declared: &[Assignment], operands: &[&Arg]) -> Vec<String> {
    let given = operands.iter().filter_map(|operand| {
        let (name, _) = operand.start().split_once('=')?;
        Some(name.strip_suffix('+').unwrap_or(name))
    });
    let names = declared.iter().map(|it| it.name.as_str()).chain(given);
    names.map(str::to_owned).collect()
}

/// Lists the names that one declaration assigns more than once.
///
/// Which value remains depends on the order, on `+=` and on `readonly`.
fn given_twice(declared: &[Assignment], operands: &[&Arg]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut names = given(declared, operands);
    names.retain(|name| !seen.insert(name.clone()));
    names
}
