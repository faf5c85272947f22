//! Whether Codex runs a line in its own sandbox, or has rules for lines.
//!
//! Its hooks are not told this; its transcript and its rules files contain it.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use interlock_project::Environment;
use serde_json::Value;

/// How far back the transcript is searched for the turn's own record, in bytes.
const BACK_MAX: u64 = 16 * 1_048_576;
/// Maximum length of a transcript's first line, in bytes.
const FIRST_MAX: u64 = 1_048_576;
/// Number of bytes read at once.
const STEP: u64 = 64 * 1_024;
/// Marker of the transcript line that describes how a turn runs.
const MARK: &[u8] = b"\"type\":\"turn_context\"";
/// Marker of a transcript line that reports the end of a command.
const ENDED: &[u8] = b"\"type\":\"CommandExecution\"";
/// Maximum size of a rules file that is read, in bytes.
const RULES_MAX: u64 = 1_048_576;

/// Returns whether the transcript says that lines run without a sandbox; false if unknown.
pub(super) fn is_off(transcript: &Path) -> bool {
    last_turn(transcript).is_some_and(|turn| {
        let policy = turn.pointer("/payload/sandbox_policy");
        let word = policy.and_then(|policy| policy.get("type").or_else(|| policy.get("mode")));
        word.and_then(Value::as_str) == Some("danger-full-access")
    })
}

/// Returns the exit code of the call `id` of `line`, if the turn's lines cannot write the transcript that reports it.
///
/// Inside Codex's sandbox, Interlock cannot record what it observes. The client itself writes the exit code of each command into
/// the transcript, which the sandbox protects from every confined command.
pub(super) fn exit_code(transcript: &Path, id: &str, line: &str) -> Option<i64> {
    let transcript = transcript.canonicalize().ok()?;
    let turn = last_turn(&transcript)?;
    if !keeps(&turn, &transcript) {
        return None;
    }
    let mark = format!("\"id\":{}", Value::from(id));
    let of_call = |line: &[u8]| contains(line, ENDED) && contains(line, mark.as_bytes());
    let ended = newest_line(&transcript, of_call, |entry| {
        let item = entry.pointer("/payload/item")?;
        let is = |key: &str, wanted: &str| item.get(key).and_then(Value::as_str) == Some(wanted);
        (entry.get("type").and_then(Value::as_str) == Some("event_msg")
            && is("type", "CommandExecution")
            && is("id", id))
        .then(|| item.clone())
    })?;
    let words = ended.get("command")?.as_array()?;
    let ran = words.last()?.as_str()? == line;
    let code = ended.get("exit_code")?.as_i64()?;
    ran.then_some(code)
}

/// Returns whether the sandbox of a turn prevents every line from writing `path`.
fn keeps(turn: &Value, path: &Path) -> bool {
    let Some(policy) = turn.pointer("/payload/file_system_sandbox_policy") else {
        return false;
    };
    let restricted = policy.get("kind").and_then(Value::as_str) == Some("restricted");
    let Some(entries) = policy.get("entries").and_then(Value::as_array) else {
        return false;
    };
    restricted
        && entries
            .iter()
            .filter(|entry| entry.get("access").and_then(Value::as_str) != Some("read"))
            .all(|entry| is_elsewhere(entry, path))
}

/// Returns whether a writable location is known and does not contain `path`.
fn is_elsewhere(entry: &Value, path: &Path) -> bool {
    let holds = |place: &Path| {
        let real = place.canonicalize();
        path.starts_with(real.as_deref().unwrap_or(place)) || path.starts_with(place)
    };
    if let Some(place) = entry.pointer("/path/path").and_then(Value::as_str) {
        return Path::new(place).is_absolute() && !holds(Path::new(place));
    }
    match entry.pointer("/path/value/kind").and_then(Value::as_str) {
        Some("slash_tmp") => !holds(Path::new("/tmp")),
        Some("tmpdir") => std::env::var_os("TMPDIR").is_none_or(|place| !holds(Path::new(&place))),
        _ => false,
    }
}

/// Returns the first line of a transcript, which describes the conversation.
pub(super) fn first_line(transcript: &Path) -> Option<Value> {
    let file = File::open(transcript).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut line = Vec::new();
    BufReader::new(file.take(FIRST_MAX))
        .read_until(b'\n', &mut line)
        .ok()?;
    serde_json::from_slice(&line).ok()
}

/// Returns the newest line that describes how a turn runs, searching from the end.
fn last_turn(transcript: &Path) -> Option<Value> {
    newest_line(
        transcript,
        |line| contains(line, MARK),
        |entry| {
            (entry.get("type").and_then(Value::as_str) == Some("turn_context"))
                .then(|| entry.clone())
        },
    )
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|found| found == part)
}

/// Returns the first result that `take` gives for a line that looks right, reading from the end.
fn newest_line(
    transcript: &Path,
    looks: impl Fn(&[u8]) -> bool,
    take: impl Fn(&Value) -> Option<Value>,
) -> Option<Value> {
    let mut file = File::open(transcript).ok()?;
    let length = file.metadata().ok()?.len();
    let lowest = length.saturating_sub(BACK_MAX);
    let newest = |lines: &[u8]| {
        lines
            .rsplit(|byte| *byte == b'\n')
            .filter(|line| looks(line))
            .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
            .find_map(|entry| take(&entry))
    };
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
            // A line longer than what was read so far continues before it.
            match tail.iter().position(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None => continue,
            }
        };
        if let Some(found) = newest(tail.get(whole_from..)?) {
            return Some(found);
        }
        tail.truncate(whole_from);
    }
    None
}

/// Returns whether there are rules that deny lines or ask about them, other than those that Interlock wrote.
pub(super) fn has_rules(environment: &Environment, project: &Path) -> bool {
    let home = environment
        .variable("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            environment
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
