//! Changes of files as an equivalent patch.

use std::fmt::Write as _;

use serde_json::Value;

use crate::json::word;

/// Writes changes, by path, as one patch in the format of Codex.
pub(crate) fn of_changes(changes: &Value) -> String {
    let mut patch = String::from("*** Begin Patch\n");
    for (path, change) in changes.as_object().into_iter().flatten() {
        // Writing to a string cannot fail.
        let _ = match word(change, "type") {
            "add" => writeln!(patch, "*** Add File: {path}"),
            "delete" => writeln!(patch, "*** Delete File: {path}"),
            _ => writeln!(patch, "*** Update File: {path}"),
        };
        if word(change, "type") == "add" {
            for line in word(change, "content").lines() {
                let _ = writeln!(patch, "+{line}");
            }
        }
        let to = word(change, "move_path");
        if !to.is_empty() {
            let _ = writeln!(patch, "*** Move to: {to}");
        }
        for line in word(change, "unified_diff").lines() {
            if line.starts_with("@@") {
                patch.push_str("@@\n");
            } else if line.starts_with([' ', '+', '-']) {
                let _ = writeln!(patch, "{line}");
            }
        }
    }
    patch + "*** End Patch\n"
}
