//! Finds test files and their workflows.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The workflow of a test file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowText {
    /// In a file, relative to the test file.
    File(String),
    /// In the test file, as YAML. Lines and columns are those of the test file if the workflow has lines of its own.
    Inline(String),
}

/// Extracts an inline workflow from the text of its test file.
///
/// Everything else is blanked, so that messages contain the right lines.
pub(super) fn inline(text: &str, value: &Value) -> WorkflowText {
    let mut lines = Vec::new();
    let mut inside = false;
    let mut found = false;
    for line in text.lines() {
        let top = line.starts_with(|c: char| !c.is_whitespace() && c != '#');
        if top {
            inside = line.trim_end() == "workflow:";
            found |= inside;
            lines.push("");
        } else {
            lines.push(if inside { line } else { "" });
        }
    }
    if !found || text.contains("\n---") || shares_anchors(text) {
        // JSON is also YAML, and preserves at least the values.
        return WorkflowText::Inline(value.to_string());
    }
    lines.push("");
    WorkflowText::Inline(lines.join("\n"))
}

/// Returns whether an alias may refer from the workflow to outside of it.
fn shares_anchors(text: &str) -> bool {
    text.contains(": *") || text.contains("- *")
}

/// Lists the test files at or below `path`, sorted.
///
/// # Errors
/// The error of the first directory that cannot be read.
pub fn find_case_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !fs::metadata(path)?.is_dir() {
        found.push(path.to_owned());
        return Ok(found);
    }
    let mut pending = vec![path.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                pending.push(path);
            } else if is_case_file(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_case_file(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.ends_with(".test.yaml") || name.ends_with(".test.yml"))
}
