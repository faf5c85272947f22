//! A session, independent of its recorder.

use std::collections::BTreeMap;

use interlock_core::event::CallRecord;
use serde_json::Value;

use crate::Format;

/// One conversation of an agent with its tools, sub-agents included.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Id given by the client.
    pub id: String,
    /// Source of the recording.
    pub source: String,
    /// Format of the recording.
    pub format: Format,
    /// Identifier of the client whose tools are called; `None` if unknown.
    pub client: Option<String>,
    /// Version of the program that wrote it.
    pub version: Option<String>,
    /// Directory in which it began.
    pub directory: Option<String>,
    /// Calls in the order of their beginnings.
    pub calls: Vec<Call>,
    /// What was not read.
    pub losses: Losses,
}

impl Session {
    /// Returns the start of its last call, in milliseconds since 1970; `None` if no call has a time.
    #[must_use]
    pub fn last_ms(&self) -> Option<u64> {
        self.calls.iter().filter_map(|call| call.at_ms).max()
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The client's id of the call.
    pub id: String,
    /// Name of the tool in the client's hooks.
    pub tool: String,
    /// Arguments; null if the recording does not contain all of them.
    pub input: Value,
    /// Sub-agent that made it; `None` for the main agent.
    pub agent: Option<String>,
    /// Start time, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// Working directory.
    pub directory: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// Exit code of a shell line; `None` if unknown, which never counts as 0.
    pub exit: Option<i64>,
    /// Bytes of the result.
    pub bytes: u64,
    /// Texts of files before the call, by path, if recorded.
    pub files: Vec<(String, String)>,
    /// Record of it in a log of Interlock.
    pub record: Option<Box<CallRecord>>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It succeeded.
    Well,
    /// It failed.
    Failed,
    /// It was refused or its arguments were not accepted, so it did nothing.
    NotRun,
    /// The outcome is not recorded.
    Unknown,
}

/// What could not be read of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lines that are not JSON, such as the last one of a session that was interrupted.
    pub broken: u64,
    /// Records of unknown kinds, by kind.
    pub unknown: BTreeMap<String, u64>,
    /// Calls that are also in another recording, and are counted there.
    pub repeated: u64,
}

impl Losses {
    /// Returns whether nothing was lost.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.broken == 0 && self.unknown.is_empty()
    }

    /// Adds those of another recording.
    pub fn add(&mut self, other: &Self) {
        self.broken += other.broken;
        self.repeated += other.repeated;
        for (kind, count) in &other.unknown {
            *self.unknown.entry(kind.clone()).or_default() += count;
        }
    }
}
