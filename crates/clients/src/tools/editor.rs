//! The text editor tool, whose argument selects one of several tools.

use interlock_facts::{EditFields, Shape};
use serde_json::Value;

/// Names of the tool.
pub(super) const NAMES: [&str; 2] = ["str_replace_editor", "str_replace_based_edit_tool"];

/// Returns the tool that a call corresponds to, and how its arguments are parsed.
///
/// # Errors
/// The argument selects no known tool.
pub(super) fn work(input: &Value) -> Result<(&'static str, Shape), String> {
    let edit = |new| Shape::Edit {
        path: "path",
        fields: EditFields {
            old: "old_str",
            new,
            all: "replace_all",
        },
    };
    match input.get("command").and_then(Value::as_str) {
        Some("view") => Ok(("Read", Shape::Read { paths: &["path"] })),
        Some("create") => Ok((
            "Write",
            Shape::Write {
                path: "path",
                content: "file_text",
            },
        )),
        Some("str_replace") => Ok(("Edit", edit("new_str"))),
        Some("insert") if input.get("insert_text").is_some() => Ok(("Edit", edit("insert_text"))),
        Some("insert") => Ok(("Edit", edit("new_str"))),
        Some(_) => {
            Err("its `command` is not one of view, create, str_replace and insert".to_owned())
        }
        None => Err("its `command` is missing".to_owned()),
    }
}
