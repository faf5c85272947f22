//! The plan of one command, which a ticket contains.
//!
//! A plan is only data. [`crate::run()`] carries it out; nothing here accesses the disk.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::level::Level;

pub mod derive;
mod environment;
mod places;

/// What one command may do, and what is checked afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Column of the table of kernel rules.
    pub column: Column,
    /// What is started.
    pub start: Start,
    /// Commands of the line that are started through a probe, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbedSpan>,
    /// Directory in which it starts, absolute.
    pub directory: PathBuf,
    /// The project root of the run, absolute.
    pub project: PathBuf,
    /// Changes of its environment.
    pub environment: EnvironmentChanges,
    /// Confinement by the kernel; `None` if only the environment is set.
    pub confinement: Option<Confinement>,
    /// What is compared and restored afterwards.
    pub post_check: PostCheck,
    /// Lowest level at which it may start.
    pub require: Level,
}

/// A column of the table of kernel rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// A free state: only the environment is set.
    Free,
    /// A line of a no-write state.
    NoWrite,
    /// A line of a no-write state whose command matches an entry of `allowed_commands`.
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

/// Byte range of a simple command in a line, from its first word to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbedSpan {
    /// Offset of the first word.
    pub start: usize,
    /// Offset after the last word or redirection.
    pub end: usize,
}

/// Changes of the environment, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentChanges {
    /// Variables that the call itself sets, before anything is removed.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub given: IndexMap<String, String>,
    /// Names that are removed; a trailing `*` matches any ending.
    pub removed: Vec<String>,
    /// Names set to the run's own temporary directory, or to a path below it.
    pub in_own_directory: IndexMap<String, String>,
    /// Names set to a value.
    pub set: IndexMap<String, String>,
}

/// Confinement of a command by the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Places that it may write recursively.
    pub writable: Vec<WritablePlace>,
    /// Whether it has a temporary directory of its own, removed afterwards.
    pub own_directory: bool,
    /// Directories that it may not read, such as the state directory.
    pub hidden: Vec<PathBuf>,
    /// What it may access over networks.
    pub network: Network,
    /// TCP ports of any host that it may not connect to, if it has network access.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_ports: Vec<u16>,
    /// Unix sockets, or directories of sockets, that it may connect to; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<PathBuf>,
    /// Refused system calls.
    pub calls: Calls,
    /// What happens to processes that outlive it.
    pub left_over: LeftOver,
}

/// A writable place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritablePlace {
    /// Absolute path.
    pub path: PathBuf,
    /// File next to which the place is created first if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_beside: Option<String>,
    /// A writable ancestor, below which no link is followed.
    ///
    /// Otherwise a line of a writing state could create a link for one of a no-write state to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<PathBuf>,
}

impl WritablePlace {
    /// Creates a place that is writable only if it exists.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self {
            path,
            made_beside: None,
            within: None,
        }
    }
}

/// What a command may access over networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    Off,
    /// Any host, by outgoing connections.
    Fetch,
    /// Anything.
    On,
}

/// The set of refused system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// Calls that change files without writing them, sockets, tracing and new namespaces.
    Reading,
    /// Only calls that affect the terminal or other processes' limits.
    Working,
}

/// What happens to processes that outlive their command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOver {
    /// They are ended with it.
    End,
    /// They continue, with the same confinement: the state allows background work.
    Stay,
}

/// What is checked after a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostCheck {
    /// Protected files: mounted read-only if possible, otherwise compared and restored.
    pub protected: Vec<Protected>,
    /// Patterns of files whose writes are reported, relative to the project.
    pub reported: Vec<String>,
    /// Directory outside the project to which new files in protected places are moved.
    pub aside: Option<PathBuf>,
}

/// A protected file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protected {
    /// Absolute path.
    pub path: PathBuf,
    /// What may still change in it.
    #[serde(default)]
    pub free: Free,
}

/// What may change in a protected file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Free {
    /// Nothing.
    #[default]
    Nothing,
    /// These names directly below it.
    Below(Vec<String>),
    /// Keys of a git configuration; `*` at the end or inside matches any text.
    GitKeys(Vec<String>),
    /// Everything except these keys of a JSON file, wherever they are.
    AllBut(Vec<String>),
}
