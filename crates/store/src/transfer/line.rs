//! The lines of an exported run.

use interlock_core::names::{Digest, RunId};
use serde::{Deserialize, Serialize};

use crate::pin::SourceFile;

/// Version of the format that this code writes and reads.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Run(PinLine),
    Event(EventLine),
    Machine(MachineLine),
    Message(MessageLine),
    Output(OutputLine),
    End(EndLine),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PinLine {
    pub(super) format: u32,
    pub(super) run: RunId,
    pub(super) created_ms: u64,
    pub(super) name: Option<String>,
    pub(super) workflow: String,
    pub(super) durability: String,
    pub(super) hash: String,
    pub(super) source: SourceFile,
    pub(super) machine: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventLine {
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    pub(super) hash: String,
    pub(super) body: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineLine {
    pub(super) hash: String,
    pub(super) body: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageLine {
    pub(super) digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The bytes in hex, if they are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputLine {
    pub(super) call: String,
    pub(super) text: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) events: u64,
    pub(super) hash: String,
    pub(super) lines_sha256: String,
}
