//! Changes of one cell of a notebook.

use serde_json::Value;

use crate::lines::{count, touched, wide};

/// Returns the number of lines that a change of a cell touches.
///
/// `text` is the present notebook; `mode` defaults to `replace`.
pub(crate) fn touched_lines(text: Option<&str>, cell: Option<&str>, mode: &str, new: &str) -> u64 {
    match mode {
        "insert" => count(new),
        mode => {
            let new = if mode == "delete" { "" } else { new };
            match text.and_then(|text| old_source(text, cell)) {
                Some(old) => touched(&old, new),
                // The cell is unknown: it has at most as many lines as the whole notebook.
                None => count(new).max(text.map_or(0, lines_max)),
            }
        }
    }
}

/// Returns an upper bound of the lines of any cell: in JSON, a line break is written `\\n`.
fn lines_max(notebook: &str) -> u64 {
    count(notebook).saturating_add(wide(notebook.matches("\\n").count()))
}

fn old_source(text: &str, cell: Option<&str>) -> Option<String> {
    let notebook: Value = serde_json::from_str(text).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let found = match cell {
        None => cells.first(),
        Some(id) => {
            let named = cells
                .iter()
                .find(|cell| cell.get("id").and_then(Value::as_str) == Some(id));
            // Cells without ids are numbered.
            let number = id.strip_prefix("cell-").unwrap_or(id).parse::<usize>();
            named.or_else(|| number.ok().and_then(|number| cells.get(number)))
        }
    };
    match found?.get("source")? {
        Value::String(source) => Some(source.clone()),
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r#"{"cells": [
        {"id": "x", "source": ["a\n", "b\n", "c"]},
        {"source": "one\ntwo"}
    ]}"#;

    #[test]
    fn a_cell_is_measured_against_its_own_source() {
        let rows = [
            (Some("x"), "replace", "a\nB\nc", 1),
            (Some("cell-1"), "replace", "one\n2\n3", 2),
            (Some("1"), "delete", "ignored", 2),
            (Some("1"), "delete", "1\n2\n3\n4", 2),
            (Some("nosuch"), "delete", "1\n2\n3\n4\n5\n6\n7\n8\n9", 7),
            (Some("x"), "insert", "1\n2\n3\n4", 4),
            (None, "replace", "a\nb", 1),
            (Some("nosuch"), "replace", "1\n", 7),
        ];
        for (cell, mode, new, lines) in rows {
            assert_eq!(
                touched_lines(Some(NOTEBOOK), cell, mode, new),
                lines,
                "{cell:?} {mode}"
            );
        }
        assert_eq!(touched_lines(None, Some("x"), "replace", "1\n2\n"), 2);
        assert_eq!(touched_lines(Some("not JSON\n"), None, "delete", ""), 1);
    }
}
