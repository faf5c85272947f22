//! What Claude Code reports about a call that has ended.

use serde_json::Value;

use crate::{
    input::{ToolUse, is_set},
    protocol::shown_bytes,
};

/// Programs whose exit code 1 Claude Code does not treat as a failure.
const FORGIVEN: [&str; 11] = [
    "grep", "rg", "egrep", "fgrep", "find", "diff", "cmp", "test", "[", "findstr", "robocopy",
];

/// Where a tool's result contains the text that the model sees.
const SEEN: &[(&str, &[&str])] = &[
    ("Bash", &["/stdout", "/stderr"]),
    ("Read", &["/file/content", "/file/base64", "/file/cells"]),
    ("Grep", &["/content", "/filenames"]),
    ("Glob", &["/filenames"]),
    ("Edit", &["/structuredPatch"]),
    ("MultiEdit", &["/structuredPatch"]),
    ("Write", &["/structuredPatch"]),
    ("NotebookEdit", &["/new_source"]),
    ("WebFetch", &["/result"]),
    ("Task", &["/content"]),
    ("Agent", &["/content"]),
];

/// Returns the exit code of a shell line if the client's own fields state it reliably.
pub(super) fn exit_code(used: &ToolUse, ok: bool, response: &Value) -> Option<i64> {
    if ok {
        exit_of_success(used, response)
    } else {
        exit_of_failure(response)
    }
}

/// Returns 0 if the client reports success and no other exit code is possible.
fn exit_of_success(used: &ToolUse, response: &Value) -> Option<i64> {
    let background = is_set(used.input.get("run_in_background"))
        || ["backgroundTaskId", "backgroundedByUser", "timedOutAfterMs"]
            .iter()
            .any(|key| is_set(response.get(key)));
    // Without the fields of a shell's result, the kind of result is unknown.
    let interrupted = response.get("interrupted") != Some(&Value::Bool(false));
    let explained = is_set(response.get("returnCodeInterpretation"));
    let line = used.input.get("command").and_then(Value::as_str)?;
    let certain = !background && !interrupted && !explained && used.name == "Bash";
    (certain && !forgives(line)).then_some(0)
}

/// Reads the exit code from the first line of the error, which the client itself writes.
fn exit_of_failure(error: &Value) -> Option<i64> {
    let first = error.as_str()?.lines().next()?;
    let code: i64 = first.strip_prefix("Exit code ")?.parse().ok()?;
    (code != 0).then_some(code)
}

/// Returns whether the client may treat exit code 1 of `line` as success.
///
/// The client examines what it takes for the last command; this examines every position where a command could begin, in quotes
/// too.
fn forgives(line: &str) -> bool {
    line.split(|c: char| ";|&(){}`\"'$<>!\n\r".contains(c))
        .any(|part| {
            let mut words = part.split_whitespace().skip_while(|word| {
                matches!(
                    *word,
                    "then" | "do" | "else" | "elif" | "if" | "while" | "until" | "time"
                )
            });
            match words.next() {
                Some("git") => git_may_end_with_one(words),
                Some(word) => FORGIVEN.contains(&word.rsplit('/').next().unwrap_or(word)),
                None => false,
            }
        })
}

/// Returns whether git, called with `words`, may exit with 1 although it succeeded.
///
/// `diff` does so only if asked to report differences by its exit code; git accepts any unambiguous prefix of a long option.
fn git_may_end_with_one<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    const COMPARES: [&str; 4] = ["--e", "--q", "-q", "--no-i"];
    let words: Vec<&str> = words.collect();
    let compares = || {
        words
            .iter()
            .any(|word| COMPARES.iter().any(|option| word.starts_with(option)))
    };
    words.contains(&"grep") || words.contains(&"diff") && compares()
}

/// Counts the bytes of a result that the model sees.
pub(super) fn result_bytes(tool: &str, response: &Value) -> u64 {
    let seen = SEEN.iter().find(|(known, _)| *known == tool);
    let parts: Vec<&Value> = seen
        .map(|(_, pointers)| {
            pointers
                .iter()
                .filter_map(|at| response.pointer(at))
                .collect()
        })
        .unwrap_or_default();
    if parts.is_empty() {
        return shown_bytes(response);
    }
    parts.into_iter().map(text_bytes).sum()
}

/// Counts the bytes of every text in a value.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(object) => object.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
#[path = "results/tests.rs"]
mod tests;
