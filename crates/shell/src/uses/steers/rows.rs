//! The options that are harmless behind an entry, program by program.
//!
//! Harmless is what chooses no other program, module, configuration or place: it may
//! choose what is tested, how much is said, and how fast. What a row does not name is refused.

mod javascript;
mod native;
mod python;
mod services;

/// What is harmless behind the name of one kind of program.
#[derive(Debug)]
pub(super) struct Row {
    /// Names of the programs.
    pub(super) programs: &'static [&'static str],
    /// Only behind one of these first operands; empty: behind any.
    pub(super) subs: &'static [&'static str],
    /// Options without a value, or with `=` and a number, `true` or `false`.
    pub(super) flags: &'static str,
    /// Options with a value, joined by `=` or apart.
    pub(super) values: &'static str,
    /// Options whose value is the name of something built in; a path is refused.
    pub(super) names: &'static str,
    /// Letters that may be joined (`-qv`).
    pub(super) letters: &'static str,
    /// Letters with a value, joined or apart.
    pub(super) letter_values: &'static str,
    /// Letters whose value is the name of something built in.
    pub(super) letter_names: &'static str,
    /// Whether whole names stand behind one dash, so that letters are never joined.
    pub(super) one_dash: bool,
    /// Names behind `-D`.
    pub(super) properties: &'static str,
    /// What its operands are.
    pub(super) operands: Operands,
    /// Beginnings of operands that are refused.
    pub(super) starts: &'static [&'static str],
    /// Whether `@` may begin an operand: no file of words is read.
    pub(super) at: bool,
    /// Names that an operand may set to a number, where `NAME=value` sets one.
    pub(super) variables: Option<&'static str>,
    /// Whether an operand may be the program that it starts, with that program's words behind it.
    pub(super) launches: bool,
    /// What words behind `--` are.
    pub(super) behind: Behind,
}

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Files, names, patterns.
    Any,
    /// Things to do: beside the one of an entry only these pass.
    Goals(&'static str),
    /// Things to do, of which only these are known to be harmless.
    Known(&'static str),
    /// The first one is a program, and what follows is its own.
    Script,
}

/// What words behind `--` are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Behind {
    /// Operands, whatever they begin with.
    Operands,
    /// Words for another program, held to its own row.
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

/// Words that are handed to a program of which nothing is known.
pub(super) static NOTHING: Row = Row {
    behind: Behind::By(&NOTHING),
    ..ROW
};

/// Options by which any program only tells about itself.
pub(super) const ABOUT_ITSELF: &str = "--help --version";

/// Returns the row of a program behind its first operand `sub`.
pub(super) fn find(program: &str, sub: Option<&str>) -> Option<&'static Row> {
    let tables = [javascript::ROWS, python::ROWS, native::ROWS, services::ROWS];
    tables.into_iter().flatten().find(|row| match sub {
        Some(sub) => row.subs.contains(&sub) && row.programs.contains(&program),
        None => row.subs.is_empty() && row.programs.contains(&program),
    })
}
