//! What one command may do: the plan that a ticket carries.
//!
//! A plan is data alone. [`crate::run()`] carries it out; nothing here asks the disk.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::level::Level;

pub mod derive;
mod environment;
mod places;

/// What one command may do, and what is checked after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Which column of the table of kernel rules it comes from.
    pub column: Column,
    /// What is started.
    pub start: Start,
    /// Commands of the line that are started through a probe, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbedSpan>,
    /// Where it starts, absolute.
    pub directory: PathBuf,
    /// The project root of the run, absolute.
    pub project: PathBuf,
    /// What is taken from and put into its environment.
    pub environment: EnvironmentChanges,
    /// What the kernel holds it to; `None`: nothing, the environment alone is set.
    pub confinement: Option<Confinement>,
    /// What is compared and put back after it.
    pub afterwards: PostCheck,
    /// The least level at which it may start.
    pub require: Level,
}

/// A column of the table of kernel rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// A free state: the environment alone.
    Free,
    /// A line of a no-write state.
    NoWrite,
    /// A line of a no-write state whose command an entry of `allowed_commands` covers.
    Matched,
    /// A line of a writing state.
    Writing,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A shell line, run by bash without start-up files.
    Line(String),
    /// A program and its arguments, without a shell.
    Program(Vec<String>),
}

/// The bytes of a line from the first word of a simple command to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbedSpan {
    /// The byte at which its first word begins.
    pub start: usize,
    /// The byte behind its last word or redirection.
    pub end: usize,
}

/// What a plan changes in the environment, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentChanges {
    /// Names that the call itself sets, before anything is taken away.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub given: IndexMap<String, String>,
    /// Names taken away; a trailing `*` stands for any ending.
    pub removed: Vec<String>,
    /// Names set to the run's own temporary directory, or to a place below it.
    pub in_own_directory: IndexMap<String, String>,
    /// Names set to a value.
    pub set: IndexMap<String, String>,
}

/// What the kernel holds a command to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Places it may write, with everything below them.
    pub writable: Vec<WritablePlace>,
    /// Whether it has a temporary directory of its own, removed afterwards.
    pub own_directory: bool,
    /// Directories it may not read, such as the state directory.
    pub hidden: Vec<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// Ports of TCP that it may not connect to, of whichever host, where it reaches networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_ports: Vec<u16>,
    /// Unix sockets, or directories of them, that it may connect to; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<PathBuf>,
    /// Which system calls are refused.
    pub calls: Calls,
    /// What becomes of processes that outlive it.
    pub left_over: LeftOver,
}

/// A place that may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritablePlace {
    /// The place, absolute.
    pub path: PathBuf,
    /// The file beside which it is made first, where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_beside: Option<String>,
    /// A place above it that commands write: from there on no link is followed.
    ///
    /// Else a line of a writing state could lay a link for one of a no-write state to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<PathBuf>,
}

impl WritablePlace {
    /// A place that is written only where it is there.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self {
            path,
            made_beside: None,
            within: None,
        }
    }
}

/// What a command may reach over networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    Off,
    /// Any host, as the one who connects.
    Fetch,
    /// Anything.
    On,
}

/// Which system calls are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// Those that change files without writing them, sockets, tracing and new namespaces.
    Reading,
    /// Only those that reach out of the command through the terminal or other processes' limits.
    Working,
}

/// What becomes of processes that outlive their command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOver {
    /// They end with it.
    End,
    /// They live on, confined as it was: the state names them as background work.
    Stay,
}

/// What is looked at after a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostCheck {
    /// Protected things: mounted read-only where that can be, else compared and put back.
    pub protected: Vec<Protected>,
    /// Patterns, relative to the project, of files whose writes are reported.
    pub reported: Vec<String>,
    /// Where things go that appeared in a protected place; a directory outside the project.
    pub aside: Option<PathBuf>,
}

/// A protected file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protected {
    /// The thing, absolute.
    pub path: PathBuf,
    /// What may change there all the same.
    #[serde(default)]
    pub free: Free,
}

/// What may change in a protected thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Free {
    /// Nothing.
    #[default]
    Nothing,
    /// These names directly below it.
    Below(Vec<String>),
    /// Keys of a git configuration; a trailing or inner `*` stands for any text.
    GitKeys(Vec<String>),
    /// Everything but these keys of a JSON file, wherever they stand.
    AllBut(Vec<String>),
}
