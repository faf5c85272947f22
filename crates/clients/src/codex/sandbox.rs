//! Whether Codex runs a line in a sandbox of its own, or by rules about lines.
//!
//! Its hooks are not told; its transcript and its rules files say it.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::hook::HookSetting;

/// How far back the transcript is looked through for the turn's own words, in bytes.
const BACK_MAX: u64 = 16 * 1_048_576;
/// Read at once.
const STEP: u64 = 64 * 1_024;
/// The mark of the line that says how a turn is run.
const MARK: &[u8] = b"\"type\":\"turn_context\"";
/// The largest rules file that is looked at, in bytes.
const RULES_MAX: u64 = 1_048_576;

/// Tells whether the transcript says that lines run without a sandbox; what is not known is no.
pub(super) fn is_off(transcript: &Path) -> bool {
    last_turn(transcript).is_some_and(|turn| {
        let policy = turn.pointer("/payload/sandbox_policy");
        let word = policy.and_then(|policy| policy.get("type").or_else(|| policy.get("mode")));
        word.and_then(Value::as_str) == Some("danger-full-access")
    })
}

/// Returns the newest line that says how a turn is run, looking from the end.
fn last_turn(transcript: &Path) -> Option<Value> {
    let mut file = File::open(transcript).ok()?;
    let length = file.metadata().ok()?.len();
    let lowest = length.saturating_sub(BACK_MAX);
    let mut start = length;
    let mut tail: Vec<u8> = Vec::new();
    while start > lowest {
        let from = start.saturating_sub(STEP).max(lowest);
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(from)).ok()?;
        (&mut file).take(start - from).read_to_end(&mut part).ok()?;
        part.append(&mut tail);
        tail = part;
        start = from;
        let whole_from = if start == 0 {
            0
        } else {
            tail.iter().position(|byte| *byte == b'\n')? + 1
        };
        if let Some(turn) = newest(tail.get(whole_from..)?) {
            return Some(turn);
        }
    }
    None
}

fn newest(lines: &[u8]) -> Option<Value> {
    lines
        .rsplit(|byte| *byte == b'\n')
        .filter(|line| line.windows(MARK.len()).any(|part| part == MARK))
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find(|line| line.get("type").and_then(Value::as_str) == Some("turn_context"))
}

/// Tells whether there are rules that refuse lines or ask about them, beside those Interlock wrote.
pub(super) fn has_rules(setting: &HookSetting, project: &Path) -> bool {
    let home = setting
        .variable("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            setting
                .variable("HOME")
                .map(|home| PathBuf::from(home).join(".codex"))
        });
    let places = [
        home,
        Some(project.join(".codex")),
        Some("/etc/codex".into()),
    ];
    places
        .into_iter()
        .flatten()
        .filter_map(|place| fs::read_dir(place.join("rules")).ok())
        .flatten()
        .any(|entry| entry.is_ok_and(|entry| restricts(&entry.path())))
}

fn restricts(path: &Path) -> bool {
    if path.extension().is_none_or(|ending| ending != "rules")
        || path.file_stem().is_some_and(|name| name == "interlock")
    {
        return false;
    }
    let fits = fs::metadata(path).is_ok_and(|found| found.len() <= RULES_MAX);
    let text = fits.then(|| fs::read_to_string(path).ok()).flatten();
    text.is_none_or(|text| text.contains("forbidden") || text.contains("prompt"))
}

#[cfg(test)]
#[path = "sandbox/tests.rs"]
mod tests;
