//! Where a command can be started through a program that reports its exit code.
//!
//! This needs a word in the line itself that the shell would look up as a program and whose command runs before the shell
//! continues. If the line changes the shell that runs it, none of its commands has such a place.

use interlock_core::facts::{CommandSpan, Probe};

use super::Walker;
use crate::syntax::{Redirect, RedirectKind, Simple};
use crate::tables::programs::BUILTINS;
use crate::value::Arg;

/// Descriptors below this one belong to the line.
const OWN_DESCRIPTORS: u32 = 9;

/// Builtins that are listed as programs.
const LIKE_PROGRAMS: &[&str] = &[
    "echo", "printf", "true", "false", ":", "pwd", "test", "[", "kill", "time",
];

impl Walker<'_> {
    /// Returns the place of a command that is looked up as a program, if it has one.
    pub(super) fn probe(&self, simple: &Simple, args: &[Arg]) -> Option<Probe> {
        let first = simple.words.first()?;
        let name = first.plain()?;
        let span = simple
            .span
            .filter(|_| self.again == 0 && self.beside == 0)?;
        let is_same = args.first().is_some_and(|arg| arg.is(&name));
        let is_builtin =
            BUILTINS.contains(&name.as_str()) || LIKE_PROGRAMS.contains(&name.as_str());
        let is_plain = is_same && !is_builtin && !self.defined.contains(&name);
        let keeps_input = !simple.redirects.iter().any(closes_input);
        (is_plain && keeps_input).then_some(Probe {
            span: CommandSpan {
                start: span.0,
                end: span.1,
            },
            success: true,
            exit: true,
        })
    }

    /// Records redirections that use descriptors which a line has no reason to know.
    pub(super) fn check_descriptors(&mut self, redirects: &[Redirect]) {
        self.facts.unprobed |= redirects.iter().any(|redirect| {
            redirect.variable.is_some()
                || redirect.descriptor.unwrap_or(0) >= OWN_DESCRIPTORS
                || is_odd_copy(redirect)
        });
    }
}

/// Returns whether a redirection copies a descriptor that does not belong to the line.
fn is_odd_copy(redirect: &Redirect) -> bool {
    let RedirectKind::Duplicate { target, output } = &redirect.kind else {
        return false;
    };
    let Some(text) = target.plain() else {
        return true;
    };
    let number = text.strip_suffix('-').unwrap_or(&text);
    match number.parse::<u32>() {
        Ok(number) => number >= OWN_DESCRIPTORS,
        // `>& file` writes a file; `<& word` is always a descriptor.
        Err(_) => !number.is_empty() && !*output,
    }
}

/// Returns whether a redirection closes a command's input.
fn closes_input(redirect: &Redirect) -> bool {
    let RedirectKind::Duplicate { target, output } = &redirect.kind else {
        return false;
    };
    let of_input = redirect.descriptor.map_or(!output, |number| number == 0);
    of_input && target.plain().is_none_or(|text| text.ends_with('-'))
}
