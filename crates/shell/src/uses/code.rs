//! Code that a line passes to an interpreter.

use crate::words::words;

use interlock_core::facts::{CommandClass, InlineCode, SimpleCommand, Word};

use super::base;

/// How an interpreter receives code in its words: letters, long names and verbs.
struct Inline {
    programs: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    /// First words after which code follows.
    verbs: &'static [&'static str],
    /// Options, by letter and long name, whose value is the next word.
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

/// Interpreters that also run files; every other one is assumed to receive code.
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
        valued_long: words!("--require --import --loader --experimental-loader --conditions"),
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

/// Returns whether the words of an interpreter contain code.
pub(super) fn read(command: &SimpleCommand) -> InlineCode {
    let name = command.words.first().and_then(Word::literal);
    let name = name.map(base);
    let row = INLINE
        .iter()
        .find(|row| name.is_some_and(|name| row.programs.contains(&name)));
    match row {
        _ if command.class != CommandClass::Interpreter => InlineCode::No,
        None => InlineCode::Unknown,
        Some(row) if gives_code(row, command) => InlineCode::Yes,
        Some(_) => InlineCode::No,
    }
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
