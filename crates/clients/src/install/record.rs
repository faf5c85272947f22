//! Record of what `init` changed in each file, so that removal restores every byte.
//!
//! It contains only the lines that changed, and what was added to lists that others write to as well. If somebody has changed the
//! file since, the changes are removed by its structure instead.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use similar::{Algorithm, capture_diff_slices};

/// Record of the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Files by their paths.
    #[serde(default)]
    files: BTreeMap<String, FileRecord>,
}

/// Record of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileRecord {
    /// SHA-256 of the file as it was written.
    after: String,
    /// Previous contents; `None` if the file did not exist.
    before: Option<Vec<Lines>>,
    /// Additions to lists and tables that others use as well.
    #[serde(default)]
    added: Vec<Added>,
}

/// Lines that replaced others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Lines {
    /// Index of the first line in the written file, from 0.
    from: usize,
    /// Number of lines.
    count: usize,
    /// The text that they replaced.
    text: String,
}

/// An addition to a list, an object or a table that others use as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Added {
    /// The keys that lead there.
    pub(super) at: Vec<String>,
    /// The item of a list, or the value of the last key.
    pub(super) value: Value,
    /// Whether it is an item of a list.
    pub(super) item: bool,
}

impl Record {
    /// Reads the record; an unreadable record counts as empty.
    pub(super) fn read(path: Option<&Path>) -> Self {
        let text = path.and_then(|path| std::fs::read_to_string(path).ok());
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Returns the previous contents of a file if nobody has changed it since.
    pub(super) fn before(&self, path: &Path, now: &str) -> Option<Option<String>> {
        let known = self.files.get(&key(path))?;
        if known.after != digest(now) {
            return None;
        }
        let Some(changed) = &known.before else {
            return Some(None);
        };
        let mut lines: Vec<&str> = now.split_inclusive('\n').collect();
        for change in changed.iter().rev() {
            let end = change.from.checked_add(change.count)?;
            if end > lines.len() {
                return None;
            }
            lines.splice(change.from..end, change.text.split_inclusive('\n'));
        }
        Some(Some(lines.concat()))
    }

    /// Returns the additions to what others use as well.
    pub(super) fn added(&self, path: &Path) -> &[Added] {
        let known = self.files.get(&key(path));
        known.map_or(&[], |known| known.added.as_slice())
    }

    /// Stores the contents of a file before it is written.
    pub(super) fn keep(
        &mut self,
        path: &Path,
        before: Option<&str>,
        after: Option<&str>,
        added: Vec<Added>,
    ) {
        let Some(after) = after else {
            self.forget(path);
            return;
        };
        let known = FileRecord {
            after: digest(after),
            before: before.map(|before| changed(after, before)),
            added,
        };
        self.files.insert(key(path), known);
    }

    /// Removes a file from the record.
    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(&key(path));
    }

    /// Returns the text to be stored; `None` if the record is empty.
    pub(super) fn text(&self) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }
}

/// Returns the lines that turn `after` back into `before`.
fn changed(after: &str, before: &str) -> Vec<Lines> {
    let after: Vec<&str> = after.split_inclusive('\n').collect();
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    capture_diff_slices(Algorithm::Myers, &after, &before)
        .into_iter()
        .filter(|op| op.tag() != similar::DiffTag::Equal)
        .map(|op| Lines {
            from: op.old_range().start,
            count: op.old_range().len(),
            text: before.get(op.new_range()).unwrap_or_default().concat(),
        })
        .collect()
}

fn key(path: &Path) -> String {
    path.display().to_string()
}

fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
