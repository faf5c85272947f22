//! Outputs of some commands of which no word can be an option.

use crate::words::words;

/// What is known of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Words, none of which begins with `-`.
    Names,
    /// One line that does not begin with `-`, possibly with blanks.
    Path,
}

/// A form of a command, word by word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The first words, literally.
    pub(crate) words: &'static [&'static str],
    /// Options that may follow them.
    pub(crate) options: &'static [&'static str],
    /// Maximum number of operands that may follow.
    pub(crate) operands: usize,
    pub(crate) output: Output,
}

const fn form(
    words: &'static [&'static str],
    options: &'static [&'static str],
    operands: usize,
    output: Output,
) -> Form {
    Form {
        words,
        options,
        operands,
        output,
    }
}

/// Forms whose output is known; operands must be literal and not options.
pub(crate) const FORMS: &[Form] = &[
    // object names
    form(
        &["git", "rev-parse"],
        &["--verify", "--short", "-q", "--quiet"],
        9,
        Output::Names,
    ),
    form(
        &["git", "merge-base"],
        &["-a", "--all", "--fork-point", "--octopus"],
        9,
        Output::Names,
    ),
    form(
        &["git", "rev-list"],
        words!(
            "-1 --all --first-parent --reverse --max-count=1 --max-parents=0 --no-merges --merges"
        ),
        9,
        Output::Names,
    ),
    form(&["git", "log", "-1", "--format=%H"], &[], 1, Output::Names),
    form(&["git", "log", "-1", "--format=%h"], &[], 1, Output::Names),
    form(&["git", "log", "-1", "--pretty=%H"], &[], 1, Output::Names),
    form(&["git", "log", "-1", "--pretty=%h"], &[], 1, Output::Names),
    form(&["git", "log", "--format=%H", "-1"], &[], 1, Output::Names),
    form(&["git", "log", "--format=%h", "-1"], &[], 1, Output::Names),
    form(&["git", "hash-object"], &[], 9, Output::Names),
    form(&["git", "write-tree"], &[], 0, Output::Names),
    // names of this machine and its users
    form(&["uname"], &["-s", "-m", "-r", "-n"], 0, Output::Names),
    form(&["whoami"], &[], 0, Output::Names),
    form(&["id", "-un"], &[], 0, Output::Names),
    form(&["id", "-gn"], &[], 0, Output::Names),
    form(&["arch"], &[], 0, Output::Names),
    // absolute paths
    form(&["pwd"], &["-P", "-L"], 0, Output::Path),
    form(
        &["git", "rev-parse", "--show-toplevel"],
        &[],
        0,
        Output::Path,
    ),
    form(&["git", "rev-parse", "--git-dir"], &[], 0, Output::Path),
    form(&["realpath"], &["-e", "-m", "-s"], 1, Output::Path),
    form(&["readlink", "-f"], &[], 1, Output::Path),
];

/// Conversions of `date` whose output does not begin with `-`.
pub(crate) const DATE_STARTS: &[&str] = &[
    "%Y", "%y", "%F", "%m", "%d", "%H", "%M", "%S", "%s", "%j", "%B", "%b", "%A", "%a", "%T", "%D",
    "%V", "%u",
];
