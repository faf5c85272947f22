//! What a shell line would do, as data.
//!
//! The shell reader fills these types, and the policy judges them. They know nothing of the grammar or of
//! a file system.

use serde::{Deserialize, Serialize};

use crate::defaults::{is_default, is_zero};

use super::words::{Beside, HandsOut, InlineCode, Relocated, SteersPrograms, WordUse};

/// Everything a shell line would run, read, write and reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellFacts {
    /// Why the list of commands is unknown; `None` if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Every simple command at any depth, in source order.
    #[serde(default)]
    pub commands: Vec<SimpleCommand>,
    /// Paths read, absolute and normalised.
    #[serde(default)]
    pub reads: Vec<PathUse>,
    /// Paths written or created, absolute and normalised.
    #[serde(default)]
    pub writes: Vec<PathUse>,
    /// Paths removed or moved away, absolute and normalised.
    #[serde(default)]
    pub removes: Vec<PathUse>,
    /// Environment variables that the line uses and sets.
    #[serde(default)]
    pub env: EnvUse,
    /// Every way the line reaches the network.
    #[serde(default)]
    pub network: Vec<NetworkUse>,
    /// Questions that need access to the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<ShellAsk>,
    /// Whether the line consists of a few builtins with literal words only, and opens no file.
    ///
    /// Not serialized: it decides how the line runs while its call is being judged.
    #[serde(skip)]
    pub builtins_alone: bool,
}

/// A question that only someone with access to the files can answer.
///
/// Every path written or removed implies another question: where do its links lead?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum ShellAsk {
    /// Is `directory` a repository other than the project's? If so, the command is opaque.
    Repository {
        /// Directory in which version control would run.
        directory: String,
        /// Index into [`ShellFacts::commands`] of the command.
        command: usize,
    },
    /// Does the name of a file that `pattern` matches begin with `-`?
    ///
    /// Until the answer is no, the command is opaque.
    Options {
        /// The pattern, as in the line.
        pattern: String,
        /// Directory that the pattern is resolved in.
        directory: String,
        /// Index into [`ShellFacts::commands`] of the command.
        command: usize,
    },
}

/// One simple command of a line: a program with its words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimpleCommand {
    /// The program and its operands.
    pub words: Vec<Word>,
    /// Names of the wrappers around the command, outermost first (`timeout`, `env`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// Words of the command, preceded by those of its wrappers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrapped: Vec<Word>,
    /// Name of the program, if it is given as a path into a directory of system programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_program: Option<String>,
    /// Name of the outermost wrapper, if it is given as a path into a directory of system programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_wrapper: Option<String>,
    /// Absolute path of the directory that the command runs in; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Kind of program.
    pub class: CommandClass,
    /// Why the effect of the command is unknown; `None` if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// Whether the effect is unknown, but harmless if the kernel refuses every write.
    ///
    /// This includes version control in another repository, whose configuration can name programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
    /// Number of words after the name that only choose a directory in the project.
    ///
    /// Entries of `allowed_commands` ignore them: `git -C DIR status` matches `git status`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub project_words: usize,
    /// Names assigned for this command alone (`A=1 cmd`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<String>,
    /// Whether exit code 0 of the line means that this command ended with 0.
    #[serde(default)]
    pub proves_success: bool,
    /// Whether any exit code of the line is the exit code of this command.
    #[serde(default)]
    pub proves_exit: bool,
    /// Where the command can be started through a probe, and what the probe would see; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Number of the step of the line that the command belongs to, from 1; `None`: unknown.
    ///
    /// Each step ends before the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Whether the input is a pipe from another command of the line.
    #[serde(default)]
    pub from_pipe: bool,
    /// Whether the input is text within the line itself: a here-document or here-string.
    #[serde(default)]
    pub from_text: bool,
    /// Indices of dynamic words that may expand to options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose: Vec<usize>,
    /// Purpose of each word, the name first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<WordUse>,
    /// The command without the options that choose its directory; `None`: it has no such options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated: Option<Relocated>,
    /// Name of the program, if it lies in an environment of the project (`venv/bin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_environment: Option<String>,
    /// Whether the command may run beside a listed command.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beside: Beside,
    /// Whether the words give code to an interpreter.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inline_code: InlineCode,
    /// How the command may reveal the contents of a file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hands_out: HandsOut,
    /// Whether the command is version control that changes files of the project without naming them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_unnamed: bool,
}

impl SimpleCommand {
    /// Returns whether the command changes the machine or its privileges.
    #[must_use]
    pub const fn changes_machine(&self) -> bool {
        matches!(self.class, CommandClass::System | CommandClass::Privilege)
    }
}

/// A position in a line at which the command can be started through another program.
///
/// For a command in a wrapper, it is the position of the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The bytes of the command.
    pub span: CommandSpan,
    /// Whether exit code 0 seen there is exit code 0 of the command.
    pub success: bool,
    /// Whether any exit code seen there is that of the command.
    pub exit: bool,
}

/// The bytes of a line from the first word of a simple command to the end of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommandSpan {
    /// Offset of the first word, after any assignments.
    pub start: usize,
    /// Offset after the last word or redirection.
    pub end: usize,
}

/// One word of a command, after shell expansion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The text is known.
    Literal(String),
    /// The text is unknown until the line runs; holds the source text.
    Dynamic(String),
}

impl Word {
    /// Returns the text of a literal word.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }
}

/// The kind of program a simple command runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandClass {
    /// Touches nothing outside the shell (`cd`, `echo`).
    Nothing,
    /// Only reads.
    Reader,
    /// Writes files.
    Writer,
    /// Removes files.
    Remover,
    /// Runs code that is given to it.
    Interpreter,
    /// Runs code of the project (build tools, test runners).
    ProjectCode,
    /// Version control.
    VersionControl,
    /// Reaches the network.
    Network,
    /// Changes the machine outside the project.
    System,
    /// Gains or changes privilege.
    Privilege,
    /// Not in any table.
    #[default]
    Unknown,
}

/// A path that a line reads, writes or removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathUse {
    /// How much of the path is known.
    pub path: PathText,
    /// Command or redirection that the path belongs to, as refusals show it.
    pub by: String,
    /// Whether everything below the path is included (`rm -r`).
    #[serde(default)]
    pub recursive: bool,
    /// Text that will be written to the file, if the line itself contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is appended to the file (`>>`).
    #[serde(default)]
    pub append: bool,
    /// Pattern of file names, if the path is a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// How much of a path is known before the line runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathText {
    /// The whole path is known, absolute and normalised.
    Whole(String),
    /// Only the literal beginning is known, absolute and normalised.
    Below(String),
    /// Nothing is known.
    Unknown,
}

/// The environment variables that a line uses and sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvUse {
    /// Variables whose value the line uses.
    #[serde(default)]
    pub used: Vec<String>,
    /// Variables that the line sets, for itself or for a command.
    #[serde(default)]
    pub set: Vec<EnvSet>,
    /// Whether the line prints the whole environment.
    #[serde(default)]
    pub dump: bool,
    /// Whether the line reads the environment of another process.
    #[serde(default)]
    pub other_process: bool,
}

/// A variable that a line sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvSet {
    /// Name of the variable.
    pub name: String,
    /// Whether it changes what later programs do (`PATH`, `GIT_*`, `LD_*`).
    pub changes_programs: bool,
    /// Whether a value may make a check test something different.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub voids_checks: bool,
    /// Whether its name indicates that it chooses which tests run, or how.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chooses_tests: bool,
    /// The programs that the variable affects.
    #[serde(default)]
    pub steers: SteersPrograms,
    /// Whether it is exported to programs of the line, beyond those that name it in `assignments`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exported: bool,
    /// The literal values that it is set to, if it changes what later programs do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// One way a line reaches the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// What the line does on the network.
    pub direction: NetworkDirection,
    /// The host, if the line names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Command that it belongs to.
    pub by: String,
    /// Index into [`ShellFacts::commands`] of that command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

/// What a line does on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkDirection {
    /// Queries a daemon on this machine.
    Local,
    /// Fetches with GET or HEAD.
    Get,
    /// Sends data or opens an arbitrary connection.
    Send,
    /// Listens for connections.
    Listen,
}
