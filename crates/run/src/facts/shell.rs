//! What a shell line would do, as data.
//!
//! These types are filled by the shell reader and judged by the policy. They
//! know no grammar and no file system.

use serde::{Deserialize, Serialize};

use crate::defaults::{is_default, is_zero};

use super::words::{Beside, HandsOut, InlineCode, Relocated, SteersPrograms, WordUse};

/// Everything a shell line would run, read, write and reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellFacts {
    /// Why the list of commands is not known; `None` when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Every simple command at any depth, in the order of the text.
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
    /// What the line takes from and puts into the environment.
    #[serde(default)]
    pub env: EnvUse,
    /// Every way the line reaches the network.
    #[serde(default)]
    pub network: Vec<NetworkUse>,
    /// What only someone who sees the files can answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<ShellAsk>,
    /// Whether the line is nothing but a few builtins with literal words, and opens no file.
    ///
    /// Not kept: it says how the line of a call that is being judged is to run.
    #[serde(skip)]
    pub builtins_alone: bool,
}

/// A question that a shell line leaves to someone who sees the files.
///
/// Every path written or removed asks the same silently: where do its links lead?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum ShellAsk {
    /// Is `directory` a repository other than the project's? Then the command is opaque.
    Repository {
        /// The directory version control would run in.
        directory: String,
        /// Index into [`ShellFacts::commands`] of the command.
        command: usize,
    },
    /// Does a file that `pattern` matches begin with `-`?
    ///
    /// The command is opaque until someone answers no.
    Options {
        /// The pattern as the line has it.
        pattern: String,
        /// The directory it is seen from.
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
    /// Names of the wrappers it stands in, outermost first (`timeout`, `env`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// Words of the command, with those of its wrappers before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrapped: Vec<Word>,
    /// The name of its program, where that is a path into a directory of system programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_program: Option<String>,
    /// Name of the outermost wrapper, where that is a path into a directory of system programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_wrapper: Option<String>,
    /// The directory it runs in, absolute; `None` when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What kind of program it is.
    pub class: CommandClass,
    /// Why its effect is not known; `None` when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// Whether its effect is not known, and it has none where the kernel refuses every write.
    ///
    /// So is version control in another repository, whose configuration names programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
    /// How many words behind its name choose a place in the project and nothing else.
    ///
    /// An entry of `allowed_commands` sees through them: `git -C DIR status` is `git status`.
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
    /// Where it could be started through a probe, and what that would see of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Which step of the line it belongs to, counted from 1; `None`: not known when it runs.
    ///
    /// Each step is over before the next one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Whether its input is a pipe from another command of the line.
    #[serde(default)]
    pub from_pipe: bool,
    /// Whether its input is text that the line itself holds: a here-document or here-string.
    #[serde(default)]
    pub from_text: bool,
    /// Indices of dynamic words that may turn out to be options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose: Vec<usize>,
    /// What each of its words is for, the name first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<WordUse>,
    /// The command without the options that choose its directory, where it has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relocated: Option<Relocated>,
    /// The name of its program, where that lies in an environment of the project (`venv/bin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_environment: Option<String>,
    /// Whether it passes beside a listed command.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beside: Beside,
    /// Whether its words give an interpreter code.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inline_code: InlineCode,
    /// How it may hand out what a file holds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hands_out: HandsOut,
    /// Whether it is version control that changes files of the project and does not name them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_unnamed: bool,
}

impl SimpleCommand {
    /// Tells whether the command changes the machine or its privileges.
    #[must_use]
    pub const fn changes_machine(&self) -> bool {
        matches!(self.class, CommandClass::System | CommandClass::Privilege)
    }
}

/// A place of a line where the command that stands there can be started through another program.
///
/// For a command in a wrapper it is the place of the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Where the command stands.
    pub span: CommandSpan,
    /// Whether exit code 0 of what stands there is exit code 0 of the command.
    pub success: bool,
    /// Whether any exit code of what stands there is that of the command.
    pub exit: bool,
}

/// The bytes of a line from the first word of a simple command to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommandSpan {
    /// The byte at which its first word begins; assignments stand before it.
    pub start: usize,
    /// The byte behind its last word or redirection.
    pub end: usize,
}

/// One word of a command, after the shell would have expanded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The text is known.
    Literal(String),
    /// The text is only known when the line runs; holds the source text.
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
    /// The command or redirection it belongs to, as the refusal shows it.
    pub by: String,
    /// Whether everything below the path is meant (`rm -r`).
    #[serde(default)]
    pub recursive: bool,
    /// Text that will be written there, where the line itself holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is added at the end of the file (`>>`).
    #[serde(default)]
    pub append: bool,
    /// The pattern that file names must match, where the path is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// How much of a path is known before the line runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathText {
    /// The whole path, absolute and normalised.
    Whole(String),
    /// Only its literal beginning, absolute and normalised.
    Below(String),
    /// Nothing is known.
    Unknown,
}

/// What a line takes from and puts into the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvUse {
    /// Names whose value the line uses.
    #[serde(default)]
    pub used: Vec<String>,
    /// Names the line sets, for itself or for a command.
    #[serde(default)]
    pub set: Vec<EnvSet>,
    /// Whether the line shows the whole environment.
    #[serde(default)]
    pub dump: bool,
    /// Whether it reads the environment of another process.
    #[serde(default)]
    pub other_process: bool,
}

/// One name set in the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvSet {
    /// The variable.
    pub name: String,
    /// Whether it changes what later programs do (`PATH`, `GIT_*`, `LD_*`).
    pub changes_programs: bool,
    /// Whether a value may make a check test something else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub voids_checks: bool,
    /// Whether its name says that it chooses what is tested, or how.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chooses_tests: bool,
    /// The programs whose work it steers.
    #[serde(default)]
    pub steers: SteersPrograms,
    /// Whether programs of the line are given it, beyond those that name it in `assignments`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exported: bool,
    /// The values it is given, where it changes what programs do and the line says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// One way a line reaches the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// What is done there.
    pub direction: NetworkDirection,
    /// The host, when the line names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The command it belongs to.
    pub by: String,
    /// Index into [`ShellFacts::commands`] of that command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

/// What a line does on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkDirection {
    /// Asks a daemon of this machine what it knows.
    Local,
    /// Fetches with GET or HEAD.
    Get,
    /// Sends data or opens a free channel.
    Send,
    /// Waits for others to connect.
    Listen,
}
