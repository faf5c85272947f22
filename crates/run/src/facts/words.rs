//! What the words of a command are for, as the tables of programs know it.
//!
//! The shell reader fills these; entries of workflows are matched against them. What a reader
//! does not say counts as the worst that it could be.

use serde::{Deserialize, Serialize};

/// What one word of a command is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WordUse {
    /// What it means for an entry of `allowed_commands` that does not have it.
    pub steers: Steering,
    /// Whether an entry that has it names a thing to do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_goal: bool,
    /// Whether it is a program that the line names, to which all further words belong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub opens: bool,
    /// What it means for an entry of evidence that does not have it.
    pub selects: Selection,
}

/// Whether a word may make a program run or touch something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// It steers nothing.
    Plain,
    /// It may steer.
    Steers,
    /// It may turn out to be an option.
    MaySteer,
    /// It is one more thing to do, where the entry names one.
    Goal,
    /// It is one more thing to do where the entry names one, and may steer where it names none.
    UnknownGoal,
    /// The program is known, and it is such words that make its effect unknown.
    Odd,
    /// The program has no table of options.
    #[default]
    Unlisted,
}

/// Whether a word may make a check test less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The check stays what it is.
    Keeps,
    /// The check stays what it is, with the next word as the value of this one.
    KeepsWithNext,
    /// The value of the word before it.
    Value,
    /// It passes behind an entry, and not among its words.
    Passes,
    /// Alone behind an entry it only asks the program about itself.
    Asks,
    /// With it the command only says what it would do.
    OnlySays,
    /// It may choose what is tested.
    #[default]
    Selects,
}

/// A command as it stands without the options that choose its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relocated {
    /// Indices of the words that stay.
    pub words: Vec<usize>,
    /// What these words are for.
    pub uses: Vec<WordUse>,
    /// The directories in their order, each seen from the one before; `None`: not known.
    pub directories: Vec<Option<String>>,
}

/// Whether a command passes beside a listed one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// It does nothing of its own.
    Harmless,
    /// It goes to the directory that its second word names.
    Directory,
    /// It goes to a directory that is not plain.
    OddDirectory,
    /// It prints what a pipe gives it.
    Filter,
    /// A filter that reads no pipe, or a file beside it.
    ReadsFiles,
    /// A filter with an option that does more than choose what is printed.
    Does(String),
    /// It is none of those that may.
    #[default]
    Stranger,
}

/// Whether the words of an interpreter give it code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InlineCode {
    /// They name a file or a module to run.
    No,
    /// They give it code.
    Yes,
    /// It is not known how it is given any.
    #[default]
    Unknown,
}

/// How a command may hand out what a file holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandsOut {
    /// Only by what it reads.
    #[default]
    Nothing,
    /// It prints a secret that it keeps itself.
    Secret,
    /// A file may stand in the middle of a word, from the one with this index on.
    InWords(usize),
    /// It copies, packs or sends the files that its words name.
    Files,
}

/// The programs whose work a variable steers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteersPrograms {
    /// No program.
    None,
    /// Every program but these.
    AllBut(Vec<String>),
}

impl Default for SteersPrograms {
    fn default() -> Self {
        Self::AllBut(Vec::new())
    }
}
