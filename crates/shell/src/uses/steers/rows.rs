//! Options that are harmless after an entry, by program.
//!
//! An option is harmless if it selects no other program, module, configuration or directory: it may select tests, verbosity or
//! speed. What a row does not name is refused.

mod javascript;
mod native;
mod python;
mod services;

/// What is harmless after the name of one kind of program.
#[derive(Debug)]
pub(super) struct Row {
    /// Names of the programs.
    pub(super) programs: &'static [&'static str],
    /// Subcommands to which the row is limited; empty for any.
    pub(super) subs: &'static [&'static str],
    /// Options without a value, or with `=` and a number, `true` or `false`.
    pub(super) flags: &'static str,
    /// Options with a value, joined by `=` or separate.
    pub(super) values: &'static str,
    /// Options whose value is the name of something built in; a path is refused.
    pub(super) names: &'static str,
    /// Letters that may be combined (`-qv`).
    pub(super) letters: &'static str,
    /// Letters with a value, joined or separate.
    pub(super) letter_values: &'static str,
    /// Letters whose value is the name of something built in.
    pub(super) letter_names: &'static str,
    /// Whether long names have one dash, so that letters are never combined.
    pub(super) one_dash: bool,
    /// Names after `-D`.
    pub(super) properties: &'static str,
    /// Kind of its operands.
    pub(super) operands: Operands,
    /// Prefixes of operands that are refused.
    pub(super) starts: &'static [&'static str],
    /// Whether an operand may begin with `@`, because no file of arguments is read.
    pub(super) at: bool,
    /// Names that an operand `NAME=value` may set to a number.
    pub(super) variables: Option<&'static str>,
    /// Whether an operand may be a program to start, followed by that program's words.
    pub(super) launches: bool,
    /// Kind of the words after `--`.
    pub(super) behind: Behind,
}

/// The kind of a program's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files, names, patterns.
    Any,
    /// Goals: besides that of an entry, only these are allowed.
    Goals(&'static str),
    /// Goals, of which only these are known to be harmless.
    Known(&'static str),
    /// The first one is a program, followed by that program's words.
    Script,
}

/// The kind of the words after `--`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Behind {
    /// Operands, even if they begin with a dash.
    Operands,
    /// Words for another program, checked by its own row.
    By(&'static Row),
}

pub(super) const ROW: Row = Row {
    programs: &[],
    subs: &[],
    flags: "",
    values: "",
    names: "",
    letters: "",
    letter_values: "",
    letter_names: "",
    one_dash: false,
    properties: "",
    operands: Operands::Any,
    starts: &[],
    at: false,
    variables: None,
    launches: false,
    behind: Behind::Operands,
};

/// A program without a table.
pub(super) static UNKNOWN: Row = Row {
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Words for an unknown program.
pub(super) static NOTHING: Row = Row {
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Options that make any program only report about itself.
pub(super) const ABOUT_ITSELF: &str = "--help --version";

/// Returns the row of a program with the first operand `sub`.
pub(super) fn find(program: &str, sub: Option<&str>) -> Option<&'static Row> {
    let tables = [javascript::ROWS, python::ROWS, native::ROWS, services::ROWS];
    tables.into_iter().flatten().find(|row| match sub {
        Some(sub) => row.subs.contains(&sub) && row.programs.contains(&program),
        None => row.subs.is_empty() && row.programs.contains(&program),
    })
}
