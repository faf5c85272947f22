//! The purpose of each word of a command, as the tables of programs define it.
//!
//! The shell reader fills these types, and entries of workflows are matched against them. Anything that the reader
//! cannot determine counts as the worst case.

use serde::{Deserialize, Serialize};

/// The purpose of one word of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WordUse {
    /// Its effect on an entry of `allowed_commands` that does not contain it.
    pub steers: Steering,
    /// Whether an entry that contains it names a goal, such as a build target.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_goal: bool,
    /// Whether it names a program that receives all further words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub opens: bool,
    /// Its effect on an entry of evidence that does not contain it.
    pub selects: Selection,
}

/// Whether a word may make a program run or touch something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// The word has no such effect.
    Plain,
    /// The word may have such an effect.
    Steers,
    /// The word may expand to an option.
    MaySteer,
    /// The word is a further goal, if the entry names one.
    Goal,
    /// The word is a further goal if the entry names one; otherwise it may have such an effect.
    UnknownGoal,
    /// The program is known, but words like this one make its effect unknown.
    Odd,
    /// The program has no table of options.
    #[default]
    Unlisted,
}

/// Whether a word may reduce what a check tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The check is unchanged.
    Keeps,
    /// The check is unchanged, and the next word is the value of this one.
    KeepsWithNext,
    /// It is the value of the word before it.
    Value,
    /// The check is unchanged if the word follows the entry, but not if it stands among the entry's words.
    Passes,
    /// If it alone follows the entry, the program only prints information about itself.
    Asks,
    /// The command only prints what it would do.
    OnlySays,
    /// It may choose which tests run.
    #[default]
    Selects,
}

/// A command without the options that choose its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relocated {
    /// Indices of the remaining words.
    pub words: Vec<usize>,
    /// Purpose of each of these words.
    pub uses: Vec<WordUse>,
    /// The directories in order, each relative to the one before; `None`: unknown.
    pub directories: Vec<Option<String>>,
}

/// Whether a command may run beside a listed command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// It has no effect of its own.
    Harmless,
    /// It changes to the directory that its second word names.
    Directory,
    /// It changes to a directory that is not a plain path.
    OddDirectory,
    /// It prints its piped input.
    Filter,
    /// It is a filter that reads no pipe, or reads a file as well.
    ReadsFiles,
    /// It is a filter with an option that does more than choose what is printed.
    Does(String),
    /// It is none of these commands.
    #[default]
    Stranger,
}

/// Whether the words of an interpreter contain code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InlineCode {
    /// They name a file or a module to run.
    No,
    /// They contain code.
    Yes,
    /// It is unknown how the interpreter receives code.
    #[default]
    Unknown,
}

/// How a command may reveal the contents of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandsOut {
    /// Only by the files that it reads.
    #[default]
    Nothing,
    /// It prints a secret that it stores itself.
    Secret,
    /// A word may contain the name of a file, from the word with this index on.
    InWords(usize),
    /// It copies, archives or sends the files that its words name.
    Files,
}

/// The programs that a variable affects.
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
