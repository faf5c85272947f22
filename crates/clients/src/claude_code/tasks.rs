//! The agent's own task list, as the client stores it.
//!
//! Tested with 2.1.332: one file per task, `tasks/SESSION/ID.json` in the client's own folder. Unreadable files are ignored.

use std::fs;

use interlock_project::Environment;
use serde_json::Value;

use super::own_folder;

use crate::input::Input;

/// Maximum number of bytes of a task that are read.
const TASK_MAX: u64 = 1 << 20;

/// Returns whether every task of the session's list except `task` is done.
pub(super) fn is_last(environment: &Environment, input: &Input, task: &str) -> bool {
    let plain = |letter: char| match letter {
        '-' | '_' => letter,
        _ if letter.is_ascii_alphanumeric() => letter,
        _ => '-',
    };
    let list: String = input.session.chars().map(plain).collect();
    let Some(Ok(files)) =
        own_folder(environment).map(|own| fs::read_dir(own.join("tasks").join(list)))
    else {
        return true;
    };
    !files.flatten().any(|file| {
        let is_small = file
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() <= TASK_MAX);
        is_small
            && fs::read(file.path())
                .ok()
                .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
                .is_some_and(|other| is_open(&other) && other.get("id") != Some(&task.into()))
    })
}

/// Returns whether a task of the list is still open.
fn is_open(task: &Value) -> bool {
    matches!(
        task.get("status").and_then(Value::as_str),
        Some("pending" | "in_progress")
    )
}
