//! Transparent wrappers.

use super::quotes::is_quotable;
use super::{Edit, Edits, Line};

/// Commands that only the shell itself can run.
const BUILTINS: &[&str] = &[
    "cd",
    "pushd",
    "popd",
    "dirs",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "set",
    "shopt",
    "source",
    ".",
    "eval",
    "exec",
    "trap",
    "read",
    "mapfile",
    "readarray",
    ":",
    "wait",
    "jobs",
    "fg",
    "bg",
    "ulimit",
    "umask",
    "alias",
    "unalias",
    "type",
    "hash",
    "help",
    "let",
    "getopts",
    "history",
    "fc",
    "bind",
    "complete",
    "compgen",
    "enable",
    "builtin",
    "command",
    "caller",
    "return",
    "exit",
    "break",
    "continue",
    "shift",
    "times",
    "logout",
    "suspend",
    "disown",
    "noglob",
    "-",
    "nocorrect",
    "compopt",
    "time",
    "test",
    "[",
    "printf",
];

pub(super) fn wrapped(line: &Line<'_>, edits: &mut Edits, wrapper: &str) {
    let defined = line.text.contains("()") || line.text.contains("function ");
    // The output of a substitution or `xargs` is known only for plainly written programs.
    let is_plain = ["expand_aliases", "$(", "`", "xargs"];
    if defined || is_plain.iter().any(|text| line.text.contains(text)) {
        return;
    }
    line.each_simple(&mut |tokens, simple| {
        let Some(first) = simple.words.first().and_then(|at| tokens.get(*at)) else {
            return;
        };
        let is_plain = simple.assignments.is_empty() && is_quotable(line.of(first));
        if BUILTINS.contains(&line.of(first)) || !is_plain {
            return;
        }
        edits.push(Edit {
            start: first.start,
            end: first.start,
            text: format!("{wrapper} "),
        });
    });
}
