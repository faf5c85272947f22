//! A session, whoever has recorded it.

use std::collections::BTreeMap;

use interlock_core::event::CallRecord;
use serde_json::Value;

use crate::Format;

/// One conversation of an agent with its tools, sub-agents included.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The id that the client has given it.
    pub id: String,
    /// Where it was read from.
    pub source: String,
    /// How it is written.
    pub format: Format,
    /// The client whose tools are called, by the word for it; `None`: not known.
    pub client: Option<String>,
    /// The version of the program that has written it.
    pub version: Option<String>,
    /// The directory it began in.
    pub directory: Option<String>,
    /// Every call, in the order in which they began.
    pub calls: Vec<Call>,
    /// What was not read.
    pub losses: Losses,
}

impl Session {
    /// Returns when its last call began, in milliseconds since 1970; `None`: no call has a time.
    #[must_use]
    pub fn last_ms(&self) -> Option<u64> {
        self.calls.iter().filter_map(|call| call.at_ms).max()
    }
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The client's id of it.
    pub id: String,
    /// The tool, as the client's hooks would name it.
    pub tool: String,
    /// Its arguments; null where the recording keeps less than all of them.
    pub input: Value,
    /// The sub-agent that made it; `None`: the main agent.
    pub agent: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// The working directory it was made in.
    pub directory: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// The exit code of a shell line; `None`: not known, which is never taken for 0.
    pub exit: Option<i64>,
    /// Bytes of the result.
    pub bytes: u64,
    /// The text of files before the call, by path, where the recording has it.
    pub files: Vec<(String, String)>,
    /// What a log of Interlock keeps of it.
    pub record: Option<Box<CallRecord>>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It succeeded.
    Well,
    /// It failed.
    Failed,
    /// It was refused or its arguments were not accepted, so that it did nothing.
    NotRun,
    /// The recording does not say.
    Unknown,
}

/// What was not read of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lines that are not JSON, such as the last one of a session that was cut off.
    pub broken: u64,
    /// Records of kinds that are not known, by kind.
    pub unknown: BTreeMap<String, u64>,
    /// Calls that stand in another recording too, and are counted there.
    pub repeated: u64,
}

impl Losses {
    /// Tells whether nothing was lost.
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
