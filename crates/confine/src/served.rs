//! What a server's tool does with files, according to the configuration.

use interlock_facts::{FileUse, TextUse};
use interlock_project::ToolConfig;
use serde_json::Value;

/// Returns what a server's tool does with files: as configured, or else as known or guessed.
#[must_use]
pub fn file_use(tool: &str, set: Option<&ToolConfig>, input: &Value, read_only: bool) -> FileUse {
    let Some(set) = set else {
        return FileUse::of(tool, input, read_only);
    };
    FileUse {
        reads: set.reads.clone(),
        writes: set.writes.clone(),
        removes: set.removes.clone(),
        text: set.content.clone().map_or(TextUse::Unknown, TextUse::Whole),
        line: set.command.clone(),
        sure: true,
    }
}
