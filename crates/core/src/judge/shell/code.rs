//! Code that a line gives to an interpreter.

use super::entries::name_of;
use crate::facts::{CommandClass, SimpleCommand};

/// How an interpreter is given code by its words: letters, long names and verbs.
struct Inline {
    programs: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    /// First words behind which code stands.
    verbs: &'static [&'static str],
    /// Options, by letter and long name, whose value stands in the next word.
    valued: &'static str,
    valued_long: &'static [&'static str],
}

const INLINE_NONE: Inline = Inline {
    programs: &[],
    letters: "",
    long: &[],
    verbs: &[],
    valued: "",
    valued_long: &[],
};

/// Interpreters that run files too; every other one is taken to be given code.
const INLINE: [Inline; 7] = [
    Inline {
        programs: &["python", "python2", "python3", "pypy", "pypy3"],
        letters: "c",
        valued: "WX",
        ..INLINE_NONE
    },
    Inline {
        programs: &["node", "nodejs", "bun"],
        letters: "ep",
        long: &["--eval", "--print"],
        valued: "rC",
        valued_long: &[
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--conditions",
        ],
        ..INLINE_NONE
    },
    Inline {
        programs: &["deno"],
        verbs: &["eval", "repl"],
        ..INLINE_NONE
    },
    Inline {
        programs: &["perl"],
        letters: "eEpni",
        ..INLINE_NONE
    },
    Inline {
        programs: &["ruby"],
        letters: "epni",
        valued: "IrC",
        ..INLINE_NONE
    },
    Inline {
        programs: &["php"],
        letters: "rBRE",
        long: &["--run"],
        valued: "cdz",
        ..INLINE_NONE
    },
    Inline {
        programs: &["lua", "luajit"],
        letters: "e",
        valued: "l",
        ..INLINE_NONE
    },
];

/// Returns what is known of an interpreter's words, by the last part of its path.
fn row(command: &SimpleCommand) -> Option<&'static Inline> {
    let name = name_of(command)?;
    let name = name.rsplit('/').next().unwrap_or(name);
    INLINE.iter().find(|row| row.programs.contains(&name))
}

/// Tells whether an interpreter may be given code by its words, its input or at a prompt.
pub(super) fn may_be_given(command: &SimpleCommand) -> bool {
    command.class == CommandClass::Interpreter
        && row(command).is_none_or(|row| gives_code(row, command))
}

/// Tells whether a known interpreter is given code, and no file or module to run.
pub(in crate::judge) fn is_given(command: &SimpleCommand) -> bool {
    command.class == CommandClass::Interpreter
        && row(command).is_some_and(|row| gives_code(row, command))
}

fn gives_code(row: &Inline, command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            return true;
        };
        let Some(letters) = text.strip_prefix('-') else {
            return row.verbs.contains(&text);
        };
        let python_module = row.letters == "c" && letters.starts_with('m');
        if python_module {
            return false;
        }
        let is_long = letters.starts_with('-');
        if letters.is_empty()
            || is_long && row.long.iter().any(|long| text.starts_with(long))
            || !is_long && letters.contains(|letter| row.letters.contains(letter))
        {
            return true;
        }
        let takes_next = match letters.strip_prefix('-') {
            Some(_) => row.valued_long.contains(&text),
            None => letters
                .find(|letter| row.valued.contains(letter))
                .is_some_and(|at| at + 1 == letters.len()),
        };
        if takes_next {
            words.next();
        }
    }
    true
}

/// Tells whether the kernel, where it refuses every write, keeps all that `command` may do.
///
/// Its effect is not known; it is code that the line holds, or version control elsewhere.
#[must_use]
pub fn is_contained(command: &SimpleCommand) -> bool {
    command.opaque.is_some() && (command.contained || is_given(command))
}
